package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
)

func TestNewTraceIsWhatTheStoreReturns(t *testing.T) {
	noRoot := newBuild("no root")
	noRoot.Tool(-1, "a", "", 0, time.Second)
	noRoot.Fail(otelmap.ErrorTool, "")
	noRoot.Chat(-1, time.Second, 2*time.Second, usageAttrs(10, 1, 4, 0.5)...)
	for name, b := range map[string]*build{"whole": clineTrace(), "without a root": noRoot} {
		s := open(t)
		upload(t, s, b.Messages())
		want, err := s.Trace(t.Context(), traceID(b))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Summary, NewTrace(b.Messages()).Summary); diff != "" {
			t.Errorf("%s (-stored +new):\n%s", name, diff)
		}
	}
	if NewTrace(nil) != nil {
		t.Error("a trace without spans")
	}
}

func TestSelectsAsTheStoreDoes(t *testing.T) {
	s, first, _ := asked(t)
	tr, err := s.Trace(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []Filter{{}, {Host: "cline"}, {Host: "x"}, {Failed: true}, {Text: "health endpoint"}, {Text: "nothing of it"}, {Tool: "read_file"}, {Until: t0}} {
		list, err := s.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		want := false
		for _, sum := range list {
			want = want || sum.TraceID == first
		}
		if got, err := f.Selects(tr); err != nil || got != want {
			t.Errorf("%+v: %v, %v, want %v", f, got, err, want)
		}
	}
	if _, err := (Filter{Text: "..."}).Selects(tr); err == nil {
		t.Error("a text without a word is no error")
	}
}
