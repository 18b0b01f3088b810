package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// Play has a program work through steps against a model that plays script, and
// decodes the model's log.
func Play[R any](ctx context.Context, a *Arena, command []string, script any, steps []Step) (*Result, []R, error) {
	text, err := json.Marshal(script)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the model's script: %w", err)
	}
	res, err := Execute(ctx, a, &Run{Command: command, Script: text, Steps: steps})
	if err != nil {
		return nil, nil, err
	}
	var requests []R
	if err := json.Unmarshal(res.Log, &requests); err != nil {
		return nil, nil, fmt.Errorf("decode the model's log: %w", err)
	}
	return res, requests, nil
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
