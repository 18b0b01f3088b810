package hooksession

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func take(t *testing.T, s Session, event, payload string) (*Turn, string) {
	t.Helper()
	turn, reply, err := s.Turn(t.Context(), event, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return turn, reply
}

func TestOneProcessAtATimeRunsHooksForAnEvent(t *testing.T) {
	s := newSession(t)
	var wg sync.WaitGroup
	var ran, shared, at atomic.Int32
	for range 32 {
		wg.Go(func() {
			turn, reply, err := s.Turn(t.Context(), "PreToolUse", []byte("payload"))
			switch {
			case err != nil:
				t.Error(err)
			case turn == nil && reply == "no":
				shared.Add(1)
			default:
				if at.Add(1) != 1 {
					t.Error("two have the turn")
				}
				ran.Add(1)
				at.Add(-1)
				turn.End("no")
			}
		})
	}
	wg.Wait()
	if ran.Load() != 1 || shared.Load() != 31 {
		t.Errorf("%d ran and %d got the reply, want 1 and 31", ran.Load(), shared.Load())
	}
	for _, other := range [][2]string{{"PostToolUse", "payload"}, {"PreToolUse", "other"}} {
		if turn, _ := take(t, s, other[0], other[1]); turn == nil {
			t.Errorf("%v counts as the same event", other)
		}
	}
}

func TestTurnPassesOnWhereThereIsNoReply(t *testing.T) {
	s := newSession(t)
	for name, end := range map[string]func(*Turn){
		"the first process died": func(turn *Turn) { _ = turn.file.Close() }, "it had none": func(turn *Turn) { turn.End("") },
		"it is too long": func(turn *Turn) { turn.End(strings.Repeat("x", maxReply+1)) },
	} {
		t.Run(name, func(t *testing.T) {
			first, _ := take(t, s, "PreToolUse", name)
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer stop()
			if turn, _, err := s.Turn(ctx, "PreToolUse", []byte(name)); turn != nil || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, %v beside the first, want the context's error", turn, err)
			}
			end(first)
			second, _ := take(t, s, "PreToolUse", name)
			if second == nil {
				t.Fatal("no turn")
			}
			second.End("yes")
			if turn, reply := take(t, s, "PreToolUse", name); turn != nil || reply != "yes" {
				t.Errorf("%v, %q, want the second's reply", turn, reply)
			}
		})
	}
	if names, _ := filepath.Glob(filepath.Join(s.dir, "turn-*")); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

func TestReplyExpires(t *testing.T) {
	s := newSession(t)
	now := time.Now().Truncate(time.Millisecond)
	s.now = func() time.Time { return now }
	first, _ := take(t, s, "PreToolUse", "a")
	first.End("yes")
	began := now
	for _, tc := range []struct {
		at   time.Duration
		want bool
	}{{repliesFor, true}, {repliesFor + time.Second, false}, {-repliesFor - time.Second, false}} {
		now = began.Add(tc.at)
		if turn, _ := take(t, s, "PreToolUse", "a"); (turn == nil) != tc.want {
			t.Errorf("after %v: the reply counts %t", tc.at, turn == nil)
		} else if turn != nil {
			turn.End("")
		}
	}
}

func TestRepliesStaySmall(t *testing.T) {
	s := newSession(t)
	path := filepath.Join(s.dir, "replies")
	if err := os.WriteFile(path, bytes.Repeat([]byte("x\n"), maxReplies), 0o600); err != nil {
		t.Fatal(err)
	}
	first, _ := take(t, s, "PreToolUse", "a")
	first.End("yes")
	if turn, reply := take(t, s, "PreToolUse", "a"); turn != nil || reply != "yes" {
		t.Errorf("%v, %q: the reply beside many others is not found", turn, reply)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 1000 {
		t.Errorf("the replies of a long session are kept: %v %v", info, err)
	}
}

func TestOnceLastsFromTheStart(t *testing.T) {
	s := newSession(t)
	for _, started := range []bool{false, true} {
		begun, may := s.Once(t.Context(), "hook")
		if !may {
			t.Fatal("it may not run, and has not started yet")
		}
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, may := s.Once(ctx, "hook"); may {
			t.Error("two may start it")
		}
		stop()
		begun(started)
	}
	if _, may := s.Once(t.Context(), "hook"); may {
		t.Error("it may run again")
	}
}
