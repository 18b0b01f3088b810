package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hookspan/hookspan/tests/internal/llm"
)

// ErrNoNamespace is wrapped by errors of Execute that mean that this machine
// gives no network namespace, so that no run is possible.
var ErrNoNamespace = errors.New("no network namespace of our own")

// job is what the inner half reads on its standard input.
type job struct {
	Arena *Arena `json:"arena"`
	Run   *Run   `json:"run"`
}

// Execute does the run in a. The error is about the test
// machinery only: the result says how the steps ended.
func Execute(ctx context.Context, a *Arena, run *Run) (*Result, error) {
	script, err := expand(run.Script, a)
	if err != nil {
		return nil, err
	}
	expanded := *run
	expanded.Script = script
	return runInNamespace(ctx, &job{Arena: a, Run: &expanded})
}

// expand replaces the words in the strings of a script, at any depth.
func expand(script llm.Script, a *Arena) (out llm.Script, err error) {
	var v any
	if err := recode(script, &v); err != nil {
		return out, err
	}
	w := a.words()
	var walk func(v any) any
	walk = func(v any) any {
		switch x := v.(type) {
		case string:
			return w.Replace(x)
		case []any:
			for i := range x {
				x[i] = walk(x[i])
			}
		case map[string]any:
			for k := range x {
				x[k] = walk(x[k])
			}
		}
		return v
	}
	return out, recode(walk(v), &out)
}

// recode copies a script by way of JSON.
func recode(from, to any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return fmt.Errorf("encode the model's script: %w", err)
	}
	return nil
}
