package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestPagerIsTheOneChosen(t *testing.T) {
	for _, c := range []struct {
		name, pager, term, goos string
		set                     bool
		want                    string
	}{
		{name: "none chosen", goos: "linux", want: "less"},
		{name: "none chosen on Windows", goos: "windows", want: ""},
		{name: "chosen", pager: "most -s", set: true, goos: "linux", want: "most -s"},
		{name: "cat", pager: "cat", set: true, goos: "linux", want: ""},
		{name: "switched off", set: true, goos: "linux", want: ""},
		{name: "a terminal that can do nothing", pager: "less", set: true, term: "dumb", goos: "linux", want: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := map[string]string{"PAGER": c.pager, "TERM": c.term}
			if got := pagerCommand(func(n string) string { return env[n] }, c.set, c.goos); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// inPager returns what is shown of a text, or of endless lines if it is empty.
func inPager(t *testing.T, command, text string) (string, error) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	failed := showPaged(command, out, io.Discard, os.Environ(), func(w io.Writer) error {
		for {
			if _, err := fmt.Fprintln(w, text); err != nil || text != "" {
				return err
			}
		}
	})
	b, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b)), failed
}

func TestShowPaged(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "the pagers of this test are programs of Unix")
	}
	t.Setenv("LESS", "") // set back in the end
	_ = os.Unsetenv("LESS")
	for command, want := range map[string]string{
		"":                        "text",
		"printenv LESS":           "FRX",
		"LESS=-S printenv LESS":   "-S",
		"sed s/e/E/":              "tExt",
		"sed 's/text/two words/'": "two words",
		"no-such-pager-here -x":   "text",
	} {
		if got, err := inPager(t, command, "text"); got != want || err != nil {
			t.Errorf("%q shows %q, %v, want %q", command, got, err, want)
		}
	}
}

func TestLeavingThePagerEarlyIsNoError(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "the pager of this test is a program of Unix")
	}
	if _, err := inPager(t, "true", ""); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	want := errors.New("no such trace")
	if err := showPaged("", os.Stdout, io.Discard, nil, func(io.Writer) error { return want }); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}
