package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/hookspan/hookspan/internal/termtext"
)

// canAsk reports whether standard input is a terminal, on which a person can answer.
func canAsk(a *app) bool {
	in, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd()))
}

// confirm asks a question on standard error, since standard output may be a file,
// until the answer is yes or no, and reports whether it is yes. No answer is no.
func confirm(ctx context.Context, a *app, question string) (bool, error) {
	in := bufio.NewReader(a.stdin)
	for {
		_, _ = fmt.Fprintf(a.stderr, "%s [y/N] ", termtext.Value(question))
		answer, err := lineFrom(ctx, in)
		if err != nil && !errors.Is(err, io.EOF) {
			_, _ = fmt.Fprintln(a.stderr)
			return false, fmt.Errorf("read the answer: %w", err)
		}
		answer = strings.TrimSpace(answer)
		switch strings.ToLower(answer) {
		case "y", "yes":
			return true, nil
		case "", "n", "no":
			return false, nil
		}
		a.warnf("the answer is %q: want y or n", answer)
		if err != nil {
			return false, nil
		}
	}
}

// lineFrom reads a line until the context ends. The read itself cannot be ended: after
// Ctrl-C its goroutine waits for the exit.
func lineFrom(ctx context.Context, in *bufio.Reader) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := in.ReadString('\n')
		done <- read{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-done:
		return r.line, r.err
	}
}
