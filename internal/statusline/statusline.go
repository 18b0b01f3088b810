// Package statusline prints what tasks cost where Claude Code shows the line of a command.
// It waits for nothing longer than Limit: neither for the input, nor for another command,
// nor for the store.
package statusline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// Limit is how long the input, the store and another status line may take, each.
const Limit = 2 * time.Second

// maxInput and maxOther are how much is read of the input and of another command's output,
// in bytes.
const maxInput, maxOther = 1 << 20, 1 << 16

// Line returns the line for an input. after is a command whose first line goes in front of
// it, spent reads the store, keep gets what the input says of the user's plan. There is no place for
// failures in the line: note gets them.
func Line(ctx context.Context, stdin io.Reader, after string, spent func(session string) (view.Spent, error), keep func([]hook.Limit), now time.Time, note func(error)) string {
	raw, err := inTime(func() ([]byte, error) { return io.ReadAll(io.LimitReader(stdin, maxInput)) })
	note(err)
	other, err := otherLine(ctx, after, raw)
	note(err)
	var in view.StatusInput
	note(json.Unmarshal(raw, &in)) // what can be read is
	keep(in.Reported(now))
	s, err := inTime(func() (view.Spent, error) { return spent(in.Session) })
	note(err)
	parts := append([]string{other}, view.StatusLine(&in, &s, now)...)
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · ")
}

// inTime returns what f returns, or an error after the Limit. f then keeps running until
// the process ends: reading an endless input and waiting for a locked store cannot be
// stopped.
func inTime[T any](f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if e := recover(); e != nil {
				r.err = fmt.Errorf("internal error: %v", e)
			}
			done <- r
		}()
		r.value, r.err = f()
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(Limit):
		var none T
		return none, fmt.Errorf("not done after %s", Limit)
	}
}

// otherLine is the first line that another command prints, with its colours: it is the
// command that the user had.
func otherLine(ctx context.Context, command string, input []byte) (string, error) {
	if command == "" {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	other := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // The user's own command.
	var out begins
	other.Stdin, other.Stdout, other.WaitDelay = bytes.NewReader(input), &out, Limit
	endAll(other)
	err := other.Run()
	first, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	return strings.TrimRight(first, "\r"), err
}

// begins keeps the beginning of what another command prints, and refuses the rest.
type begins struct{ strings.Builder }

func (b *begins) Write(p []byte) (int, error) {
	if b.Len() > maxOther {
		return 0, io.ErrShortWrite
	}
	return b.Builder.Write(p)
}
