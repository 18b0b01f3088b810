package answer

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"testing"
)

func TestRunLimited(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 1<<20) // more than a pipe holds
	for name, c := range map[string]struct{ script, want, fault string }{
		"returns the output":                 {script: `printf %s:%s "$1" "$PWD"`, want: "run-hooks:/"},
		"gives the input":                    {script: "wc -c | tr -d ' \n'", want: "1048576"},
		"input that is not read is no fault": {script: "printf ok", want: "ok"},
		"input that a child of it holds":     {script: "printf ok; sleep 2 >/dev/null 2>&1 <&0 &", want: "ok"},
		"an exit code is a fault":            {script: "exit 3", fault: "sh -c: exit status 3"},
		"a signal is a fault":                {script: "kill -9 $$", fault: "sh -c: signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := runLimited(t.Context(), "/bin/sh", []string{"-c", c.script, "sh", "run-hooks"}, []string{"PATH=/usr/bin:/bin"}, "/", bytes.NewReader(long))
			if c.fault != "" {
				if err == nil || err.Error() != c.fault {
					t.Errorf("%v, want %s", err, c.fault)
				}
				return
			}
			if err != nil || string(out) != c.want {
				t.Errorf("%q, %v, want %q", out, err, c.want)
			}
		})
	}
}

func TestRunLimitedKillsAtTheEndOfItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started, feed := make(chan struct{}), bytes.NewReader([]byte("go"))
	go func() {
		<-started
		cancel()
	}()
	_, err := runLimited(ctx, "/bin/sh", []string{"-c", "exec sleep 600"}, nil, "/", readerFunc(func(b []byte) (int, error) {
		select {
		case <-started:
		default:
			close(started)
		}
		return feed.Read(b)
	}))
	if err == nil || err.Error() != "sh -c: signal: killed" {
		t.Errorf("%v, want a program that was killed", err)
	}
	if _, err := runLimited(ctx, "/bin/sh", []string{"-c", "true"}, nil, "/", feed); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want no start after the end", err)
	}
}

func TestRunLimitedReportsAMissingProgram(t *testing.T) {
	_, err := runLimited(t.Context(), t.TempDir()+"/none", []string{"run-hooks"}, nil, "/", bytes.NewReader(nil))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %v", err, fs.ErrNotExist)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
