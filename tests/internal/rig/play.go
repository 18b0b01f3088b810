package rig

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// Main is the TestMain of a package that calls Execute.
func Main(m *testing.M) {
	if code, inner := Inner(os.Stdin, os.Stdout, os.Stderr); inner {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// Check ends the test where a run gave err: as skipped where this machine cannot
// drive the program, else as failed.
func Check(t testing.TB, program string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrNoNamespace), errors.Is(err, ErrNoProgram):
		skip.Missing(t, "cannot drive %s here: %v", program, err)
	default:
		t.Fatal(err)
	}
}

// Report shows what happened in a run, for the reader of a failed test.
func (r *Result) Report(t testing.TB, recorded []Recorded) {
	t.Helper()
	for _, q := range r.Requests {
		t.Logf("request %d: %s turn %d, status %d, complete %v, usage %+v, calls %+v", q.N, q.Part, q.Turn, q.Status, q.Complete, q.Usage, q.Calls)
	}
	for i, s := range r.Steps {
		t.Logf("step %d: exit code %d %s, %s, timed out %v, %s\n%.4000s\n%.2000s", i, s.ExitCode, s.Signal, s.Took.Round(time.Millisecond), s.TimedOut, s.Error, s.Stdout, s.Stderr)
	}
	for _, rec := range recorded {
		t.Logf("hook %s %s %.400s", rec.At.Format("05.000"), rec.Name, rec.Payload)
	}
	for i := range r.Spans {
		data, err := json.Marshal(&r.Spans[i])
		t.Logf("span %s %v", data, err)
	}
}
