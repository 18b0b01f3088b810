package main

import (
	"context"
	"errors"
	"testing"

	"github.com/hookspan/hookspan/internal/deliver"
)

func TestAnInterruptedTrialIsNoAnswer(t *testing.T) {
	a, _, _ := newTestApp(t)
	ctx, cancel := context.WithCancel(t.Context())
	noted := 0
	p := &pipeline{Deliverer: &deliver.Deliverer{Answered: func(string, error) { noted++ }}}
	a.try(ctx, p, deliver.Destination{Name: "otlp", Client: broken{errors.New("401")}}, nil)
	cancel()
	a.try(ctx, p, deliver.Destination{Name: "otlp", Client: broken{context.Canceled}}, nil)
	if noted != 1 {
		t.Errorf("noted %d answers, want the one that came before the interruption", noted)
	}
}
