package main

import (
	"bufio"
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
// and reports whether the answer is yes.
func confirm(a *app, question string) (bool, error) {
	_, _ = fmt.Fprintf(a.stderr, "%s [y/N] ", termtext.Value(question))
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
