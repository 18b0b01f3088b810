package transcript

import (
	"context"
	"errors"

	"github.com/hookspan/hookspan/hook"
)

// SDKHistory reads what SDK reads and, in Ends, the session's own end as its
// manifest tells it (see SDKEnd), which stands in for hooks where there were
// none. Errors are as for SDK.
func (f *Finder) SDKHistory(ctx context.Context, sessionID string) (t *hook.Transcript, err error) {
	f, ctx, done := f.within(ctx)
	defer func() { err = done(err) }()
	t, err = f.SDK(ctx, sessionID)
	if t == nil {
		return nil, err
	}
	kind, at, endErr := f.SDKEnd(ctx, sessionID)
	switch {
	case errors.Is(endErr, ErrNotFound):
		// Messages without a manifest: nothing tells the end.
	case endErr != nil:
		err = errors.Join(err, endErr)
	case kind != hook.KindUnknown:
		t.Ends = append(t.Ends, hook.TurnEnd{At: at, Kind: kind})
	}
	return t, err
}
