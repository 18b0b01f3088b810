package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/spool"
)

// delivery is one destination's part of a pass.
type delivery struct {
	*Deliverer
	dst   *Destination
	pass  Pass
	cache *cache
	res   *Result
	// down reports that the destination did not answer in this pass.
	down bool
	// failures counts the failures in a row that may be of a run, denials the refusals of the
	// sender.
	failures, denials int
	// foreign reports that the session counts in Result.Elsewhere.
	foreign bool
}

// Both errors mean that runs must be sent later: errDown because the destination does
// not answer, errWaits because it is too early, or for another process to do.
var (
	errDown  = errors.New("destination is down")
	errWaits = errors.New("a run waits for its next try")
)

// sessions delivers the sessions. If the destination does not answer, the rest of
// the sessions waits for a later pass: each would only time out again. A run that
// it answers with a failure delays only itself.
func (d *delivery) sessions(ctx context.Context, keys []spool.Key) {
	for _, k := range keys {
		if ctx.Err() != nil {
			d.res.fail(ctx.Err())
			return
		}
		err := d.session(ctx, k)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errWaits):
		case errors.Is(err, errDown):
			d.down = true
		case err != nil:
			d.res.fail(err)
			d.logf("%s: %v", d.dst.Name, err)
		}
		if d.Progress != nil {
			d.Progress()
		}
	}
}

// session delivers one session until no run has ended meanwhile. Another
// process that finds the session locked leaves it to this one, which therefore
// looks again at what was stored while it held the lock, and waits for runs that
// are settling.
func (d *delivery) session(ctx context.Context, k spool.Key) error {
	s, err := d.Spool.Session(k)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	d.foreign = false
	// A run that is refused again is not sent once more in the same pass.
	resend := true
	for {
		unlock, ok, err := d.lock(ctx, s)
		if err != nil {
			return err
		}
		if !ok {
			d.res.Busy++
			return nil
		}
		if resend {
			if resend, err = false, d.resend(ctx, s); errors.Is(err, errDown) {
				d.down, err = true, nil // the rest is counted
			}
		}
		var v visit
		if err == nil {
			err = guarded(k, func() (err error) {
				v, err = d.once(ctx, s)
				return err
			})
		}
		if err := cmp.Or(err, unlock()); err != nil {
			return err
		}
		switch {
		case v.more:
		case v.settling > 0:
			if err := d.Sleep(ctx, v.settling); err != nil {
				return err
			}
		default:
			// Compared with the size before reading, not with the offset where
			// reading ended: a torn end stays behind that for ever.
			if size, err := s.Size(); err != nil || size <= v.size || !d.runEnded(s, v) {
				return err
			}
		}
	}
}

func (d *delivery) lock(ctx context.Context, s *spool.Session) (unlock func() error, ok bool, err error) {
	if !d.pass.Wait {
		return s.TryLock(d.dst.Name)
	}
	unlock, err = s.Lock(ctx, d.dst.Name)
	return unlock, err == nil, err
}

// guarded returns a panic of f as an error: what cannot be mapped in one session must
// not stop the others.
func guarded(k spool.Key, f func() error) (err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("session %s: panic: %v", k.Name, e)
		}
	}()
	return f()
}

// runEnded reports whether a run may have ended in what was added to the log. To read a
// long run again for each of its calls would take as long as the run.
func (d *delivery) runEnded(s *spool.Session, v visit) bool {
	src := d.Sources[s.Key().Host]
	for _, e := range src.events(s, v.size) {
		switch e.Kind {
		case hook.KindPrompt, hook.KindRunStart, hook.KindRunResume:
			if e.ParentAgent == "" {
				return true
			}
		default:
			if e.Kind.Terminal() && (e.ParentAgent == "" || v.agents) || e.Tool != nil && e.Tool.Status == hook.ToolCancelled {
				return true
			}
		}
	}
	return false
}

// visit is what one look at a session found.
type visit struct {
	// size is the log's size before it was read.
	size int64
	// agents reports that only subagents keep a run open.
	agents bool
	// settling is how long the last ended run must still settle.
	settling time.Duration
	// more reports that only a part of the log was read.
	more bool
}

// once delivers what is due now. The caller holds the session's lock.
func (d *delivery) once(ctx context.Context, s *spool.Session) (visit, error) {
	st, size, err := d.position(s)
	if err != nil || size == st.Offset || d.dst.Join != nil && d.surelyOpen(s, st.Offset, size) {
		return visit{size: size}, err
	}
	if d.paused(st) {
		// The log is not read: each turn would cost more than the one before for as
		// long as the destination is down.
		return visit{}, d.postponed(st, 1)
	}
	out, err := d.cache.get(ctx, d.Deliverer, s, st, size, d.dst.Join != nil)
	if err != nil {
		return visit{}, err
	}
	v := visit{size: size, agents: out.agents, settling: out.settling, more: out.more}
	// What changes in a run that was set aside goes with it.
	runs, aside := split(out.runs, func(r prepared) bool { return r.late == 0 || st.parked(r.Root) == nil })
	here, foreign := d.divide(runs)
	due := len(here)+len(aside) > 0
	switch {
	case out.settling > 0 && !due && len(foreign) == 0:
		return v, nil
	case len(foreign) > 0 && !due && !out.more && out.settling == 0:
		// They stay where they are: a process that may send them does so soon.
		d.elsewhere()
		return v, errWaits
	case d.down:
		return v, cmp.Or(d.countRest(ctx, s, st, out), d.postponed(st, len(here)))
	case d.dst.Join != nil && due && !out.finished:
		// The session is sent as one.
		return v, nil
	}
	before := st.Offset
	st.Host, st.Session = out.host, out.session
	for _, r := range foreign {
		d.elsewhere()
		st.Parked = append(st.Parked, Parked{
			Ref: r.Ref, At: d.Now(), Settings: r.settings, Elsewhere: true, Error: "recorded under other environment variables", Late: r.late,
		})
	}
	st.answered(foreign)
	st.answered(aside)
	sendErr := d.send(ctx, s, out, here, st)
	if sendErr != nil {
		sendErr = errors.Join(sendErr, d.countRest(ctx, s, st, out))
	}
	st.advance(out)
	if sendErr != nil && out.settling > 0 && d.pass.Force && ctx.Err() == nil {
		sendErr = errors.Join(sendErr, d.countSettling(ctx, s, st, here))
	}
	if due || len(foreign) > 0 || st.Offset != before {
		sendErr = errors.Join(sendErr, st.write(s, d.dst.Name))
	}
	return v, sendErr
}

// paused reports that the session waits for its next try, or that the destination has
// asked all senders to wait.
func (d *delivery) paused(st *State) bool {
	return !d.pass.Force && (d.early(st.NextTry) || d.dst.Paused != nil && d.early(d.dst.Paused()))
}

// early reports that it is before a stored time.
func (d *delivery) early(at time.Time) bool {
	now := d.Now()
	return now.Before(at) && !hook.Elapsed(now, at, 0)
}

// split returns the runs for which keep returns true, and the others.
func split(runs []prepared, keep func(prepared) bool) (kept, others []prepared) {
	for _, r := range runs {
		if keep(r) {
			kept = append(kept, r)
		} else {
			others = append(others, r)
		}
	}
	return kept, others
}

// divide returns the runs that may go where this process sends, with the texts that the
// destination gets, and the others.
func (d *delivery) divide(runs []prepared) (here, foreign []prepared) {
	here, foreign = split(runs, func(r prepared) bool { return !r.elsewhere || d.dst.Local || d.pass.OtherSettings })
	for i := range here {
		here[i] = d.narrow(here[i])
	}
	return here, foreign
}

// here reports that what was recorded under these settings may go where this process sends.
func (d *delivery) here(settings string) bool {
	if d.Judge == nil {
		return true
	}
	_, here := d.Judge(settings)
	return here
}

// elsewhere counts a session that waits for a process with its settings.
func (d *delivery) elsewhere() {
	if !d.foreign {
		d.foreign = true
		d.res.Elsewhere++
	}
}

// position returns the destination's position in a session and the size of the
// log.
func (d *delivery) position(s *spool.Session) (*State, int64, error) {
	st, size, follows, err := readPosition(s, d.dst.Name)
	if err == nil && !follows {
		d.logf("%s: session %s: the log has %d bytes, %d were delivered: it was cut or replaced and is read from its start",
			d.dst.Name, s.Key().Name, size, st.Offset)
		st.restart()
		err = st.write(s, d.dst.Name)
	}
	return st, size, err
}

// readPosition returns a destination's position in a session, the size of the log,
// and whether the position still applies to it.
func readPosition(s *spool.Session, destination string) (st *State, size int64, follows bool, err error) {
	if st, err = ReadState(s, destination); err != nil {
		return nil, 0, false, err
	}
	if size, err = s.Size(); err != nil {
		return nil, 0, false, err
	}
	follows, err = st.follows(s, size)
	return st, size, follows, err
}

// postponed counts runs that wait for their next try.
func (d *delivery) postponed(st *State, runs int) error {
	d.res.Waiting += runs
	if st.LastError != "" {
		d.res.fail(errors.New(st.LastError))
	}
	return errWaits
}

// countSettling counts the runs that have ended and are not among those that were to be sent,
// once they have settled.
func (d *delivery) countSettling(ctx context.Context, s *spool.Session, st *State, counted []prepared) error {
	out, err := d.prepareSettled(ctx, s, st, true)
	if err != nil {
		return err
	}
	here, _ := d.divide(out.runs)
	_, rest := split(here, func(r prepared) bool {
		return slices.ContainsFunc(counted, func(c prepared) bool { return c.Root == r.Root })
	})
	d.res.Waiting += len(rest)
	return nil
}

// countRest counts the runs behind the part of the log that was read as waiting.
// Only the report of a forced pass needs the exact number: for another pass a
// long log is not read in vain.
func (d *delivery) countRest(ctx context.Context, s *spool.Session, st *State, out *pending) error {
	scratch := *st
	scratch.Done, scratch.Late = maps.Clone(st.Done), maps.Clone(st.Late)
	for d.pass.Force && out.more && ctx.Err() == nil {
		scratch.answered(out.runs)
		scratch.advance(out)
		var err error
		if out, err = d.prepare(ctx, s, &scratch, d.dst.Join != nil); err != nil {
			return err
		}
		here, _ := d.divide(out.runs)
		d.res.Waiting += len(here)
	}
	return nil
}
