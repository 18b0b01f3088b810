package view

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// recorded reads the spans of a recorded session.
func recorded(t *testing.T, name string) []*tracepb.ResourceSpans {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "export", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	messages, err := otlptest.Messages(doc)
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// widths are those of the goldens; 0 is a pipe.
var widths = []int{40, 80, 120, 0}

func goldenAt(t *testing.T, name string, width int, draw func(Options) string) {
	t.Helper()
	suffix := fmt.Sprint(width)
	if width == 0 {
		suffix = "pipe"
	}
	got := draw(Options{Width: width, Location: time.UTC})
	golden.Check(t, name+"-"+suffix+".txt", got)
	for i, l := range strings.Split(got, "\n") {
		if n := termtext.Width(l); width > 0 && n > width {
			t.Errorf("width %d: line %d takes %d columns: %q", width, i+1, n, l)
		}
	}
}

func TestRecordedSessions(t *testing.T) {
	for _, name := range []string{"claude", "cline"} {
		s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		if err := s.UploadTraces(t.Context(), recorded(t, name)); err != nil {
			t.Fatal(err)
		}
		sums, err := s.List(t.Context(), store.Filter{Limit: -1})
		if err != nil {
			t.Fatal(err)
		}
		total, err := s.Totals(t.Context(), store.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		first, err := s.Trace(t.Context(), sums[len(sums)-1].TraceID)
		if err != nil {
			t.Fatal(err)
		}
		rows := Rows(first)
		for _, width := range widths {
			goldenAt(t, name+"-tree", width, func(o Options) string { return draw(t, first, o) })
			goldenAt(t, name+"-session", width, func(o Options) string {
				var b bytes.Buffer
				get := func(id string) (*store.Trace, error) { return s.Trace(t.Context(), id) }
				if err := Conversation(&b, sums, &total, get, o); err != nil {
					t.Fatal(err)
				}
				return b.String()
			})
			goldenAt(t, name+"-failed", width, func(o Options) string {
				var b bytes.Buffer
				for _, i := range Failed(rows) {
					text := rows[i].Texts()
					text.Source = "from ~/sessions/1.jsonl, line 12"
					if err := Call(&b, first, &rows[i], HooksOf(rows, i), text, o); err != nil {
						t.Fatal(err)
					}
				}
				return b.String()
			})
		}
	}
}

func TestCallShowsEditsAndHooks(t *testing.T) {
	tr := stored(t, hooked().Messages())
	rows := Rows(tr)
	i := Failed(rows)[0]
	text := rows[i].Texts()
	for _, width := range widths {
		goldenAt(t, "call-hooks", width, func(o Options) string {
			var b bytes.Buffer
			if err := Call(&b, tr, &rows[i], HooksOf(rows, i), text, o); err != nil {
				t.Fatal(err)
			}
			return b.String()
		})
	}
	b := newBuild("edit")
	root := b.Root("task", "completed", 9*time.Second)
	b.Tool(root, "replace_in_file", `{"diff":"------- SEARCH\nfunc login(user, password string) error {\n\treturn nil\n}\n=======\nfunc login(user, password string) error {\n\tif password == \"\" {\n\t\treturn ErrMissing // the caller shows it\n\t}\n\treturn nil\n}\n+++++++ REPLACE","path":"src/login.go"}`, 1, 2)
	tr = stored(t, b.Messages())
	rows = Rows(tr)
	for _, width := range widths {
		goldenAt(t, "call-edit", width, func(o Options) string {
			var out bytes.Buffer
			if err := Call(&out, tr, &rows[1], nil, rows[1].Texts(), o); err != nil {
				t.Fatal(err)
			}
			return out.String()
		})
	}
	var out bytes.Buffer
	if err := Call(&out, tr, &rows[1], nil, rows[1].Texts(), Options{Width: 80, Color: true}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "call-edit-color.txt", out.String())
}

func TestCallsAndSessionsDoNotControlTheTerminal(t *testing.T) {
	for name, h := range hostile {
		t.Run(name, func(t *testing.T) {
			b := newBuild(name)
			root := b.Root(h, "completed", 9*time.Second, str(otelmap.KeyOutputMessages, otelmap.AnswerMessages(h, "")))
			b.Chat(root, 1, 2)
			b.Last().Attributes = append(b.Last().Attributes, str(otelmap.KeyOutputMessages, otelmap.AnswerMessages(h, "")))
			call := b.Tool(root, h, `{"path":"`+h+`"}`, 1, 2)
			b.Event(call, otelmap.EventHook, 1, str(otelmap.KeyHookCommand, h), str(otelmap.KeyHookDecision, "deny"), str(otelmap.KeyHookReason, h))
			b.Fail(h, h)
			b.Tool(root, "Write", fmt.Sprintf(`{"file_path":%q,"content":%q}`, h, h), 2, 3)
			tr := stored(t, b.Messages())
			rows := Rows(tr)
			for _, o := range []Options{{}, {Width: 40}, {Width: 120, ASCII: true}} {
				var out bytes.Buffer
				for i := range rows {
					if rows[i].SpanID() == "" {
						continue
					}
					text := CallText{Arguments: `{"` + h + `":"` + h + `"}`, Result: h, Error: h, Source: h}
					if err := Call(&out, tr, &rows[i], HooksOf(rows, i), text, o); err != nil {
						t.Fatal(err)
					}
				}
				total := &store.Totals{Traces: 1, Unpriced: []string{h}}
				get := func(string) (*store.Trace, error) { return tr, nil }
				if err := Conversation(&out, []store.Summary{tr.Summary}, total, get, o); err != nil {
					t.Fatal(err)
				}
				if bad := controls(out.String()); bad != "" {
					t.Errorf("%+v: the output holds %q", o, bad)
				}
			}
		})
	}
}
