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
	root := b.root("task", otelmap.OutcomeCompleted, to-from,
		num(otelmap.KeyToolCalls, 1))
	span := b.last()
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
		Session: session, Trace: b.traceID(), Span: otlp.SpanID(span), Start: at(from).UTC(), End: at(to).UTC(),
	}
	b.tool(root, "read_file", "{}", from, to)
	upload(t, s, b.messages())
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
