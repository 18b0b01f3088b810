package transcript

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// SDKEnd says whether the SDK's own record of a session holds its end: the kind
// of end, and when. A program that is interrupted writes it there although the
// hook it then starts gets an empty payload, or none is started at all. The
// error is ErrNotFound where there is no record; a session that is under way
// gives hook.KindUnknown and no error.
func (f *Finder) SDKEnd(ctx context.Context, sessionID string) (_ hook.Kind, _ time.Time, err error) {
	if err := checkID("session id", sessionID); err != nil {
		return hook.KindUnknown, time.Time{}, err
	}
	f, ctx, done := f.within(ctx)
	defer func() { err = done(err) }()
	roots := f.sessionRoots()
	for _, root := range roots {
		m, err := f.readManifest(ctx, filepath.Join(root, sessionID, sessionID+".json"), readTries)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return hook.KindUnknown, time.Time{}, err
		}
		at := m.EndedAt.time()
		if at.IsZero() || m.Status == "running" || m.Status == "" {
			return hook.KindUnknown, time.Time{}, nil
		}
		switch m.Status {
		case "completed":
			return hook.KindRunComplete, at, nil
		case "failed":
			return hook.KindRunError, at, nil
		}
		return hook.KindSessionEnd, at, nil
	}
	return hook.KindUnknown, time.Time{}, fmt.Errorf("session %q: %w: no manifest in %s", sessionID, ErrNotFound, places(roots))
}
