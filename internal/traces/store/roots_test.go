package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// rooted stores a trace with one run of a session and gives its root.
func rooted(t *testing.T, s *Store, session, folder string, from, to time.Duration) Root {
	t.Helper()
	b := newBuild(fmt.Sprint(session, folder, from, to))
	root := b.Root("task", otelmap.OutcomeCompleted, to-from,
		num(otelmap.KeyToolCalls, 1))
	span := b.Last()
	span.StartTimeUnixNano, span.EndTimeUnixNano = nano(from), nano(to)
	for i, kv := range span.Attributes {
		switch kv.Key {
		case otelmap.KeyConversationID:
			span.Attributes[i] = str(kv.Key, session)
		case otelmap.KeyWorkingDirectory:
			span.Attributes[i] = str(kv.Key, folder)
		}
	}
	out := Root{
		Session: session, Trace: traceID(b), Span: otlp.SpanID(span), Start: at(from).UTC(), End: at(to).UTC(),
	}
	b.Tool(root, "read_file", "{}", from, to)
	upload(t, s, b.Messages())
	return out
}

func TestConversations(t *testing.T) {
	s := open(t)
	late := rooted(t, s, "one", "/a", 20*time.Second, 30*time.Second)
	early := rooted(t, s, "one", "/b", 0, 10*time.Second)
	rooted(t, s, "two", "/a", 0, 10*time.Second)
	for session, want := range map[string][]Root{"one": {early, late}, "three": nil, "": nil} {
		got, err := s.Conversations(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("session %q (-want +got):\n%s", session, d)
		}
	}
}

func TestBeside(t *testing.T) {
	const sec = time.Second
	s := open(t)
	run := rooted(t, s, "conv_1", "/a", 10*sec, 20*sec)
	rooted(t, s, "1_x", "/a", 10*sec, 20*sec)
	rooted(t, s, "conv_2", "/b", 10*sec, 20*sec)
	for _, c := range []struct {
		name  string
		place Place
		want  []Root
	}{
		{"within", Place{"cline", "/a", "conv_", at(12 * sec), at(13 * sec)}, []Root{run}},
		{"around", Place{"cline", "/a", "conv_", at(0), at(60 * sec)}, []Root{run}},
		{"touching its end", Place{"cline", "/a", "conv_", at(20 * sec), at(60 * sec)}, []Root{run}},
		{"after", Place{"cline", "/a", "conv_", at(21 * sec), at(60 * sec)}, nil},
		{"before", Place{"cline", "/a", "conv_", at(0), at(9 * sec)}, nil},
		{"another folder", Place{"cline", "/c", "conv_", at(0), at(60 * sec)}, nil},
		{"another host", Place{"claude-code", "/a", "conv_", at(0), at(60 * sec)}, nil},
	} {
		got, err := s.Beside(t.Context(), c.place)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	if got, err := s.Beside(t.Context(), Place{"cline", "/a", "", at(12 * sec), at(13 * sec)}); err != nil || len(got) != 2 {
		t.Errorf("of any session: %v, %v", got, err)
	}
}

func TestRootsUseIndexes(t *testing.T) {
	s := open(t)
	series(t, s, 100)
	for _, c := range []struct {
		query, index string
		args         []any
	}{
		{conversationsQuery, "COVERING INDEX traces_session", []any{`["session 1"]`}},
		{placeQuery, "INDEX traces_", []any{int64(1), int64(1), "cline", "/a", 5, "conv_"}},
	} {
		plan := explain(t, s, c.query, c.args...)
		if !strings.Contains(plan, "SEARCH t USING "+c.index) || !strings.Contains(plan, "SEARCH s USING INDEX spans_roots") {
			t.Errorf("%s: the plan is %q, want one by %s and spans_roots", c.query, plan, c.index)
		}
	}
}

// TestATaskOfSeveralFoldersIsInEach has a workspace whose second folder has most calls.
func TestATaskOfSeveralFoldersIsInEach(t *testing.T) {
	s := open(t)
	b := newBuild("several")
	root := b.Root("task", otelmap.OutcomeCompleted, time.Minute, num(otelmap.KeyToolCalls, 3))
	for i, kv := range b.Last().Attributes {
		if kv.Key == otelmap.KeyWorkingDirectory {
			b.Last().Attributes[i] = str(kv.Key, "/w/app")
		}
	}
	b.Last().Attributes = append(b.Last().Attributes, otlp.Strings(otelmap.KeyFolders, []string{"/w/app", "/w/api", "/w/docs"}))
	upload(t, s, b.Request(b.Spans...))
	for i, dir := range []string{"/w/api", "/w/app", "/w/api", ""} {
		b.Tool(root, "read_file", "{}", time.Duration(i)*time.Second, time.Duration(i+1)*time.Second)
		if dir != "" {
			b.Last().Attributes = append(b.Last().Attributes, str(otelmap.KeyFolder, dir))
		}
		upload(t, s, b.Request(b.Last())) // the sums are kept from part to part
	}
	for dir, want := range map[string]int{"/w": 1, "/w/app": 1, "/w/api": 1, "/w/docs": 1, "/": 1, "/w/ap": 0, "/w/other": 0} {
		f := Filter{Directory: dir}
		if n, err := s.Count(t.Context(), f); err != nil || n != want {
			t.Errorf("%d traces (%v) in %s, want %d", n, err, dir, want)
		}
		if ok, err := f.Selects(NewTrace(b.Messages())); err != nil || ok != (want > 0) {
			t.Errorf("a running task is in %s: %v, %v", dir, ok, err)
		}
	}
	groups, err := s.Group(t.Context(), Filter{Directory: "/w/docs"}, ByProject, nil)
	if err != nil || len(groups) != 1 || groups[0].Key != "/w/api" || groups[0].Calls != 4 {
		t.Errorf("the sums are %+v, %v", groups, err)
	}
	sums, err := s.List(t.Context(), Filter{})
	if err != nil || len(sums) != 1 || sums[0].Directory != "/w/api" || sums[0].Cwd() != "/w/app" || !cmp.Equal(sums[0].Folders, []string{"/w/app", "/w/api", "/w/docs"}) {
		t.Errorf("the task is %+v, %v", sums, err)
	}
	if diff := cmp.Diff(NewTrace(b.Messages()).Summary, sums[0], cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "TraceID" }, cmp.Ignore())); diff != "" {
		t.Error("running and stored differ:", diff)
	}
	err = s.EachWork(t.Context(), Filter{}, nil, func(w *Work) error {
		for i, want := range []string{"/w/api", "/w/app", "/w/api", "/w/api"} {
			if w.Calls[i].Directory != want {
				t.Errorf("call %d is in %s, want %s", i, w.Calls[i].Directory, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, removed := range []bool{false, true} {
		if removed {
			if _, err := s.Prune(t.Context(), at(48*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		roots, err := s.Beside(t.Context(), Place{Host: "cline", Directory: "/w/app", From: t0, To: at(time.Hour)})
		if err != nil || len(roots) != 1 || roots[0].Removed != removed {
			t.Errorf("removed %v: the runs of the session's folder are %+v, %v", removed, roots, err)
		}
	}
	if folders, err := s.Folders(t.Context()); err != nil || len(folders) > 0 {
		t.Errorf("folders of no traces: %q, %v", folders, err)
	}
}
