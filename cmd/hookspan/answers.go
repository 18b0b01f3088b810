package main

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/termtext"
)

// answers are the last answers of the destinations to this process. They are
// written when it ends.
type answers struct {
	mu   sync.Mutex
	last map[string]deliver.Answer
}

// note keeps an answer in place of the one before.
func (w *answers) note(name string, a deliver.Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.Taken.IsZero() {
		a.Taken = w.last[name].Taken
	}
	if w.last == nil {
		w.last = map[string]deliver.Answer{}
	}
	w.last[name] = a
}

// write stores the answers in the state folder.
func (w *answers) write(dir string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for name, a := range w.last {
		errs = append(errs, deliver.NoteAnswer(dir, name, a))
	}
	return errors.Join(errs...)
}

// noteAnswers makes a pipeline record the answers of all destinations except the
// local store. One that could not be set up was not tried and has none.
func (a *app) noteAnswers(p *pipeline, clean *redact.Redactor) {
	var w answers
	p.Answered = func(name string, err error) {
		if name == config.ExporterStore || errors.As(err, new(notSetUp)) {
			return
		}
		got := deliver.Answer{Target: a.target(name), Tried: a.now()}
		if err == nil {
			got.Taken = got.Tried
		} else if got.Error = message(err); clean != nil {
			got.Error = clean.Tail(got.Error)
		}
		w.note(name, got)
	}
	p.close = append(p.close, func() error {
		// Only what status and doctor print depends on it.
		_ = w.write(a.cfg.StateDir)
		return nil
	})
}

// notSetUp is why a destination could not be set up.
type notSetUp struct{ error }

func (n notSetUp) Unwrap() error { return n.error }

// answered is the last answer of a destination at its present address. It is nil if
// that was not tried; then other is the address that was tried last, if any.
func (a *app) answered(name string) (last *deliver.Answer, other string) {
	all, err := deliver.Answers(a.cfg.StateDir, name)
	if err != nil || len(all) == 0 {
		return nil, ""
	}
	target := a.target(name)
	if i := slices.IndexFunc(all, func(x deliver.Answer) bool { return x.Target == target }); i >= 0 {
		return &all[i], ""
	}
	return nil, all[0].Target
}

// ago is how long ago t was, in its largest unit.
func (a *app) ago(t time.Time) string {
	switch d := a.now().Sub(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return termtext.Plural(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return termtext.Plural(int(d/time.Hour), "hour") + " ago"
	default:
		return termtext.Plural(int(d/(24*time.Hour)), "day") + " ago"
	}
}
