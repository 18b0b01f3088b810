package deliver

import (
	"context"
	"errors"

	"github.com/hookspan/hookspan/spool"
)

// resend sends what a destination refused for good once more, when a person
// asks for it: the cause, such as a wrong key, may have been mended. The spans
// come from the local store, since the session's log has moved on. What is
// refused again stays parked.
func (d *Deliverer) resend(ctx context.Context, dst *Destination, s *spool.Session, st *State, res *Result) error {
	if d.Stored == nil || len(st.Parked) == 0 {
		return nil
	}
	var left []Parked
	var down error
	sent := false
	for i, p := range st.Parked {
		spans, err := d.Stored(ctx, p.Trace)
		if err != nil {
			d.logf("%s: trace %s cannot be sent again: %v", dst.Name, p.Trace, err)
			left = append(left, p)
			continue
		}
		refused, err := d.export(ctx, dst, spans)
		if retry, _ := classify(err); err != nil && retry {
			res.fail(err)
			res.Waiting += len(st.Parked) - i
			left, down = append(left, st.Parked[i:]...), errDown
			break
		}
		if err == nil && refused.spans >= len(spans) {
			err = refused.why
		}
		if err != nil {
			p.At, p.Error = d.Now(), err.Error()
			left = append(left, p)
			res.Parked++
			res.fail(err)
			continue
		}
		sent = true
		st.delivered(len(spans), refused.spans)
		res.Runs++
		res.Spans += len(spans) - refused.spans
	}
	if sent || len(left) > 0 {
		st.Parked = left
		return errors.Join(down, st.write(s, dst.Name))
	}
	return down
}
