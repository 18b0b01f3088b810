package store

import (
	"errors"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
)

func TestRemoveTakesOneTraceAndItsSpans(t *testing.T) {
	s := open(t)
	b := newBuild("to go")
	b.root("to go", otelmap.OutcomeCompleted, time.Second)
	export(t, s, b.spans)
	export(t, s, clineTrace().spans)
	if err := s.Remove(t.Context(), b.id.String()); err != nil {
		t.Fatal(err)
	}
	left := everything(t, s)
	if len(left) != 1 || left[0].TraceID == b.id.String() {
		t.Errorf("left are %d traces", len(left))
	}
	var spans int
	if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM spans`).Scan(&spans); err != nil || spans != len(left[0].Spans) {
		t.Errorf("%d spans are left, want %d; %v", spans, len(left[0].Spans), err)
	}
	if err := s.Remove(t.Context(), b.id.String()); !errors.Is(err, ErrNotFound) {
		t.Errorf("a second time: %v, want %v", err, ErrNotFound)
	}
	export(t, s, b.spans)
	if n := len(everything(t, s)); n != 2 {
		t.Errorf("%d traces after it came again, want 2", n)
	}
}
