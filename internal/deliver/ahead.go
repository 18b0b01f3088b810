package deliver

import (
	"context"
	"maps"

	"github.com/hookspan/hookspan/spool"
)

// readAhead prepares the part of the log behind the one that is being sent, at
// the position that sending it without a fault leads to.
func (d *delivery) readAhead(ctx context.Context, s *spool.Session, st *State, out *pending, size int64) {
	next := *st
	next.Done = maps.Clone(st.Done)
	next.answered(out.runs)
	next.advance(out)
	d.cache.ahead.Go(func() {
		// The session is closed when its destination is through with it.
		s, err := d.Spool.Session(s.Key())
		if err != nil {
			return
		}
		defer func() { _ = s.Close() }()
		// An error comes again when the part is asked for.
		_, _ = d.cache.get(ctx, d.Deliverer, s, &next, size, d.dst.Join != nil)
	})
}

// countRest counts the runs that wait behind the part of the log that was read,
// as if all before had been answered for. Only who asked by hand reads the figure;
// for a hook's delivery a long log is not read to no purpose.
func (d *delivery) countRest(ctx context.Context, s *spool.Session, st *State, out *pending) error {
	scratch := *st
	scratch.Done = maps.Clone(st.Done)
	for d.pass.Force && out.more && ctx.Err() == nil {
		scratch.answered(out.runs)
		scratch.advance(out)
		var err error
		if out, err = d.prepare(ctx, s, &scratch, d.dst.Join != nil); err != nil {
			return err
		}
		d.res.Waiting += len(out.runs)
	}
	return nil
}
