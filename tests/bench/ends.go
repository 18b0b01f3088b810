package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/bench/backlog"
)

// mostEnds is the largest number of turns of each dialect whose delivery is timed.
const mostEnds = 40

// endTurns and endEvents are the size of the sessions of these turns.
const endTurns, endEvents = 1, 24

// ends times the delivery of a turn that has just ended: from the moment when its
// last event was stored until the process that the hook starts has written the trace
// into the local store and ended. The agent's files are complete.
func ends(ctx context.Context, f *field, o options) (report, error) {
	dialects := []backlog.Dialect{backlog.Classic, backlog.SDK, backlog.Claude}
	took := make([][]time.Duration, len(dialects))
	for round := range min(o.rounds, mostEnds) {
		for i, dialect := range dialects {
			one, err := f.end(ctx, dialect, filepath.Join(f.root, fmt.Sprintf("end%d-%d", i, round)))
			if err != nil {
				return report{}, err
			}
			took[i] = append(took[i], one)
		}
	}
	return endsReport(dialects, took), nil
}

func endsReport(dialects []backlog.Dialect, took [][]time.Duration) report {
	var b strings.Builder
	b.WriteString("| agent | p50 ms | p95 ms |\n|---|--:|--:|\n")
	var worst time.Duration
	busy := false
	for i, dialect := range dialects {
		p50, p95 := quantile(took[i], 0.5), quantile(took[i], 0.95)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", dialect, millis(p50), millis(p95))
		worst, busy = max(worst, p95), busy || p95 > 2*p50
	}
	return report{b.String(), []budget{{
		what:  "300 ms after the end of a task its trace is in the local store, at p95",
		found: worst.Round(time.Millisecond).String() + " at worst", kept: worst <= 300*time.Millisecond, busy: busy,
	}}, []line{{
		what: "from the end of a task to its trace in the local store, p95", unit: "ms", ours: worst.Seconds() * 1e3,
		least: "the wait for copies of the last event", limit: 200, aim: "300 ms",
	}}}
}

// end times the delivery of one turn. Its files are in the folder root.
func (f *field) end(ctx context.Context, dialect backlog.Dialect, root string) (took time.Duration, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	dir := filepath.Join(root, "state", "hookspan", "spool")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return 0, err
	}
	s := backlog.Session{Dialect: dialect, Turns: endTurns, Turn: endEvents, End: time.Now()}
	key, ended := s.Key(), s.End
	if dialect == backlog.Claude {
		key = spool.SessionKey(hook.HostClaude, turnSession)
		ended, err = claudeTurn(root, dir)
	} else {
		_, err = s.Write(dir)
	}
	if err != nil {
		return 0, err
	}
	_, err = f.measured(ctx, &contestant{
		name: "delivery of a turn of " + string(dialect), dir: root,
		argv: []string{f.program("hookspan"), "flush", "--detached", "--session", key.Host + "/" + key.Name},
		env:  append(f.environ(root), "XDG_STATE_HOME="+filepath.Join(root, "state"), "XDG_DATA_HOME="+filepath.Join(root, "data")),
	}, nil, longest)
	took = time.Since(ended)
	if err != nil {
		return 0, err
	}
	return took, stored(dir, key)
}

// claudeTurn writes a turn of Claude Code that ends now, with its transcript.
func claudeTurn(root, dir string) (ended time.Time, err error) {
	// A turn's length follows from one that is written without a log.
	t := &turnBench{transcript: filepath.Join(root, turnSession+".jsonl")}
	begin := t.now
	if err := t.turn(); err != nil {
		return ended, err
	}
	t.now = time.Now().Add(-t.now.Sub(begin))
	if err := os.Remove(t.transcript); err != nil {
		return ended, err
	}
	if t.spool, err = spool.Open(dir, spool.Options{}); err != nil {
		return ended, err
	}
	err = errors.Join(t.turn(), t.spool.Close())
	return t.now, err
}

// stored reports an error unless the local store has the session's run.
func stored(dir string, key spool.Key) (err error) {
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sp.Close()) }()
	s, err := sp.Session(key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	st, err := deliver.ReadState(s, "store")
	if err == nil && st.Runs != endTurns {
		err = fmt.Errorf("%s: %d runs are in the local store, want %d", key.Host, st.Runs, endTurns)
	}
	return err
}
