package deliver

import (
	"context"
	"maps"

	"github.com/hookspan/hookspan/spool"
)

// readAhead prepares the part of the log behind the one that is being sent, at
// the position that sending it without a fault leads to.
func (d *Deliverer) readAhead(ctx context.Context, dst *Destination, s *spool.Session, st *State, out *batch, c *cache, size int64) {
	next := *st
	next.Done = maps.Clone(st.Done)
	next.answered(out.runs)
	next.advance(out)
	c.ahead.Go(func() {
		// The session is closed when its destination is through with it.
		s, err := d.Spool.Session(s.Key())
		if err != nil {
			return
		}
		defer func() { _ = s.Close() }()
		// An error comes again when the part is asked for.
		_, _ = c.get(ctx, d, s, &next, size, dst.Join != nil)
	})
}

// countRest counts the runs that wait behind the part of the log that was read,
// as if all before had been answered for. Only who asked by hand reads the figure;
// for a hook's delivery a long log is not read to no purpose.
func (d *Deliverer) countRest(ctx context.Context, dst *Destination, s *spool.Session, p Pass, st *State, out *batch, res *Result) error {
	scratch := *st
	scratch.Done = maps.Clone(st.Done)
	for p.Force && out.more && ctx.Err() == nil {
		scratch.answered(out.runs)
		scratch.advance(out)
		var err error
		if out, err = d.prepare(ctx, s, &scratch, dst.Join != nil); err != nil {
			return err
		}
		res.Waiting += len(out.runs)
	}
	return nil
}
