package view

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

func stored(t testing.TB, messages []*tracepb.ResourceSpans) *store.Trace {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.UploadTraces(t.Context(), messages); err != nil {
		t.Fatal(err)
	}
	tr, err := s.Trace(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func draw(t testing.TB, tr *store.Trace, o Options) string {
	t.Helper()
	o.Location = time.UTC
	var b bytes.Buffer
	if err := Tree(&b, tr, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTreeGolden(t *testing.T) {
	tr := stored(t, clineTrace().Messages())
	for _, c := range []struct {
		file string
		o    Options
	}{
		{"tree.txt", Options{}},
		{"tree-narrow.txt", Options{Width: 60}},
		{"tree-ascii.txt", Options{ASCII: true}},
		{"tree-color.txt", Options{Color: true}},
		{"tree-verbose.txt", Options{Verbose: true}},
	} {
		t.Run(c.file, func(t *testing.T) { golden.Check(t, c.file, draw(t, tr, c.o)) })
	}
}

func TestTreeKeepsToItsWidth(t *testing.T) {
	tr := stored(t, clineTrace().Messages())
	for w := 40; w <= 160; w += 7 {
		for i, l := range strings.Split(draw(t, tr, Options{Width: w}), "\n") {
			if got := termtext.Width(l); got > w {
				t.Errorf("width %d: line %d takes %d columns: %q", w, i+1, got, l)
			}
		}
	}
}

// hooked is a call that one of the user's own hooks denied.
func hooked() *build {
	const s, ms = time.Second, time.Millisecond
	run := func(more ...*commonpb.KeyValue) []*commonpb.KeyValue {
		return append([]*commonpb.KeyValue{
			str(otelmap.KeyHookEvent, "PreToolUse"), str(otelmap.KeyHookMatcher, "Bash|Write"),
			str(otelmap.KeyHookSource, "/p/.cline/hooks.json"),
		}, more...)
	}
	b := newBuild("hooked")
	root := b.Root("task", otelmap.OutcomeCancelled, 9*s)
	b.Event(root, otelmap.EventHook, ms, str(otelmap.KeyHookEvent, "SessionStart"),
		str(otelmap.KeyHookCommand, "notes.sh"), str(otelmap.KeyHookStatus, "ok"),
		num(otelmap.KeyHookExitCode, 0), num(otelmap.KeyHookDuration, 40))
	call := b.Tool(root, "execute_command", `{"command":"git push"}`, s, 2*s)
	b.Event(call, otelmap.EventHook, s+ms, run(str(otelmap.KeyHookCommand, "./guard.sh"),
		str(otelmap.KeyHookStatus, "ok"), num(otelmap.KeyHookExitCode, 2), num(otelmap.KeyHookDuration, 1200),
		str(otelmap.KeyHookDecision, "deny"), str(otelmap.KeyHookReason, "not on\nmain"))...)
	b.Event(call, otelmap.EventHook, s+2*ms, run(str(otelmap.KeyHookCommand, "lint"),
		str(otelmap.KeyHookStatus, "error"), num(otelmap.KeyHookExitCode, 1), num(otelmap.KeyHookDuration, 0))...)
	b.Event(call, otelmap.EventHook, s+3*ms, run(str(otelmap.KeyHookCommand, "bg"), str(otelmap.KeyHookStatus, "async"))...)
	b.Event(call, otelmap.EventHook, s+4*ms, run(str(otelmap.KeyHookCommand, "gone"),
		str(otelmap.KeyHookStatus, "not_started"), str(otelmap.KeyHookReason, "no such file"))...)
	b.Fail(otelmap.ErrorToolDenied, "denied by ./guard.sh: not on main")
	return b
}

func TestTreeShowsTheUsersHooks(t *testing.T) {
	tr := stored(t, hooked().Messages())
	golden.Check(t, "hooks.txt", draw(t, tr, Options{}))
	golden.Check(t, "hooks-verbose.txt", draw(t, tr, Options{Verbose: true}))
}

// lines gives the tree without its header.
func lines(text string) []string {
	_, body, _ := strings.Cut(text, "\n\n")
	return strings.Split(strings.TrimSuffix(body, "\n"), "\n")
}

func TestTreeOfBrokenTraces(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name  string
		build func(b *build)
		want  []string
	}{
		{"without a root", func(b *build) {
			b.Tool(7, "read_file", `{"path":"a"}`, 0, s)
			b.Tool(7, "read_file", `{"path":"b"}`, s, 2*s)
		}, []string{
			"… (no root span)",
			"├─ ✓ read_file (parent missing)  a",
			"└─ ✓ read_file (parent missing)  b",
		}},
		{"with a missing parent", func(b *build) {
			b.Root("task", otelmap.OutcomeCompleted, 9*s)
			b.Tool(77, "read_file", `{"path":"a"}`, s, 2*s)
		}, []string{
			"✓ invoke_agent cline",
			"└─ ✓ read_file (parent missing)  a",
		}},
		{"with a span that is its own parent", func(b *build) {
			b.Root("task", otelmap.OutcomeCompleted, 9*s)
			b.Tool(2, "loop", `{}`, s, 2*s)
		}, []string{
			"✓ invoke_agent cline",
			"└─ ✓ loop (parent missing)",
		}},
		{"with a ring of parents and no root", func(b *build) {
			b.Tool(2, "one", `{}`, s, 2*s)
			b.Tool(3, "two", `{}`, 2*s, 3*s)
			b.Tool(1, "three", `{}`, 3*s, 4*s)
		}, []string{
			"… (no root span)",
			"└─ ✓ one (parent missing)",
			"   └─ ✓ three",
			"      └─ ✓ two",
		}},
		{"with a root below a parent elsewhere", func(b *build) {
			b.Root("task", otelmap.OutcomeFailed, 9*s)
			b.Last().ParentSpanId = spanID(99)
			b.Tool(1, "read_file", `{"path":"a"}`, s, 2*s)
		}, []string{
			"✗ invoke_agent cline",
			"└─ ✓ read_file  a",
		}},
		{"with two runs", func(b *build) {
			b.Root("first", otelmap.OutcomeCancelled, 2*s)
			b.Add(-1, "invoke_agent cline", 3*s, 4*s, str(otelmap.KeyOperation, otelmap.OpInvokeAgent),
				str(otelmap.KeyHost, "cline"), str(otelmap.KeyOutcome, otelmap.OutcomeCompleted))
			b.Tool(2, "read_file", `{"path":"a"}`, 3*s, 4*s)
		}, []string{
			"⊘ invoke_agent cline",
			"✓ invoke_agent cline",
			"└─ ✓ read_file  a",
		}},
		{"with a span that has no end and no start", func(b *build) {
			b.Root("task", otelmap.OutcomeCompleted, 9*s)
			b.Tool(1, "read_file", `{}`, 0, 0)
			b.Last().StartTimeUnixNano, b.Last().EndTimeUnixNano = 0, 0
		}, []string{
			"✓ invoke_agent cline",
			"└─ … read_file",
		}},
		{"with an end before the start", func(b *build) {
			b.Root("task", otelmap.OutcomeCompleted, 9*s)
			b.Tool(1, "read_file", `{}`, 5*s, 4*s)
		}, []string{
			"✓ invoke_agent cline",
			"└─ ✓ read_file",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuild(c.name)
			c.build(b)
			got := lines(draw(t, stored(t, b.Messages()), Options{}))
			if len(got) != len(c.want) {
				t.Fatalf("got %d lines, want %d:\n%s", len(got), len(c.want), strings.Join(got, "\n"))
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("line %d: got %q, want it to begin with %q", i+1, got[i], c.want[i])
				}
			}
		})
	}
}

func TestTreeShowsNoNegativeDuration(t *testing.T) {
	b := newBuild("back")
	b.Root("task", otelmap.OutcomeCompleted, 9*time.Second)
	b.Tool(1, "read_file", `{}`, 5*time.Second, 4*time.Second)
	got := lines(draw(t, stored(t, b.Messages()), Options{}))
	if !strings.HasSuffix(got[1], " +5.0s     0ms") {
		t.Errorf("got %q", got[1])
	}
}

func TestTreeCollapsesSimilarSiblings(t *testing.T) {
	b := newBuild("many")
	root := b.Root("task", otelmap.OutcomeCompleted, time.Hour)
	for i := range 10_000 {
		b.Tool(root, "read_file", `{"path":"a"}`, time.Duration(i)*time.Millisecond, time.Duration(i+1)*time.Millisecond)
	}
	b.Tool(root, "read_file", `{"path":"bad"}`, time.Minute, time.Minute)
	b.Fail(otelmap.ErrorTool, "no such file")
	b.Tool(root, "write_to_file", `{"path":"a"}`, time.Minute, time.Minute)
	tr := stored(t, b.Messages())

	text := draw(t, tr, Options{})
	got := lines(text)
	// The root, 200 calls, the line that counts, the failed call with its
	// message, the other tool.
	if want := 1 + collapseAfter + 1 + 2 + 1; len(got) != want {
		t.Errorf("got %d lines, want %d", len(got), want)
	}
	if !strings.Contains(text, "… 9800 more read_file  ") || !strings.Contains(text, " 9.8s\n") {
		t.Errorf("the collapsed calls are not counted:\n%s", strings.Join(got[195:], "\n"))
	}
	if !strings.Contains(text, "✗ read_file  bad") {
		t.Error("the failed call is gone")
	}
	if n := strings.Count(draw(t, tr, Options{Verbose: true}), "read_file  a"); n != 10_000 {
		t.Errorf("verbose shows %d calls, want 10000", n)
	}
}

func TestTreeCollapseBoundary(t *testing.T) {
	for _, c := range []struct{ siblings, lines int }{
		{collapseAfter, collapseAfter},
		{collapseAfter + 1, collapseAfter + 1},
		{collapseAfter + 2, collapseAfter + 1},
	} {
		b := newBuild("boundary")
		root := b.Root("task", otelmap.OutcomeCompleted, time.Hour)
		for range c.siblings {
			parent := b.Tool(root, "task", `{}`, 0, 0)
			b.Tool(parent, "inner", `{}`, 0, 0)
		}
		text := draw(t, stored(t, b.Messages()), Options{})
		if got := strings.Count(text, "─ ✓ task") + strings.Count(text, " more task"); got != c.lines {
			t.Errorf("%d siblings: got %d lines, want %d", c.siblings, got, c.lines)
		}
		if more := strings.Contains(text, "… 2 more task  and 2 below them"); more != (c.siblings > collapseAfter+1) {
			t.Errorf("%d siblings: counted: %v", c.siblings, more)
		}
	}
}

func TestTreeOfDeepChain(t *testing.T) {
	b := newBuild("deep")
	parent := b.Root("task", otelmap.OutcomeCompleted, time.Hour)
	for range 10_000 {
		parent = b.Tool(parent, "deeper", `{"path":"a"}`, 0, time.Second)
	}
	got := lines(draw(t, stored(t, b.Messages()), Options{}))
	if len(got) != 10_001 {
		t.Fatalf("got %d lines, want 10001", len(got))
	}
	if last := got[10_000]; !strings.Contains(last, "✓ deeper") || termtext.Width(last) > 100 {
		t.Errorf("the last line is %q", last)
	}
}

// hostile are texts that would take over a terminal, or deceive its reader.
var hostile = map[string]string{
	"title":     "\x1b]0;owned\x07hello",
	"clear":     "\x1b[2J\x1b[H",
	"return":    "good\rbad",
	"c1":        "\u009b31mred\u0085next",
	"raw c1":    "\x9b31mred",
	"bidi":      "user\u202eexe.txt\u2066\u2069\u200f",
	"hidden":    "a\u200bb\ufeffc\U000e0041",
	"backspace": "rm -rf /\b\b\b\b\b\b\b\bls",
	"nul":       "a\x00b\x7f",
	"lines":     "one\ntwo\u2028three\vfour\ffive",
	"invalid":   "\xff\xfe\xed\xa0\x80",
}

// foul makes a trace whose every text is h.
func foul(h string) *build {
	b := newBuild("foul")
	root := b.Root(h, h, time.Second)
	b.Event(root, otelmap.EventPrompt, 0, str(otelmap.KeyText, h), str(h, h))
	b.Event(root, h, 0, str("k", h), otlp.Strings(h, []string{h}))
	b.Tool(root, h, h, 0, time.Second)
	b.Fail(h, h)
	b.Tool(root, h, `{"command":`+strconv.Quote(h)+`}`, 0, time.Second)
	b.Tool(root, "", `{"`+h+`":["`+h, 0, time.Second)
	b.Chat(root, 0, time.Second)
	for _, s := range b.Spans {
		s.Name = h
		for _, a := range s.Attributes {
			if _, ok := a.GetValue().GetValue().(*commonpb.AnyValue_StringValue); ok &&
				a.Key != otelmap.KeyOperation && a.Key != otelmap.KeyToolArguments {
				a.Value = str("", h).Value
			}
		}
	}
	return b
}

// controls gives what a text holds beside printable characters and line ends.
func controls(text string) string {
	var bad []rune
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) && r != '\u200d' && r != '\u200c' {
			bad = append(bad, r)
		}
	}
	return string(bad)
}

func TestControlCharactersAreNotPrinted(t *testing.T) {
	for name, h := range hostile {
		t.Run(name, func(t *testing.T) {
			tr := stored(t, foul(h).Messages())
			// Texts that never went through the store must be safe as well.
			raw := &store.Trace{Summary: tr.Summary, ResourceSpans: foul(h).Messages()}
			raw.Title, raw.Host, raw.Outcome, raw.Model, raw.Session, raw.TraceID = h, h, h, h, h, h
			for _, tr := range []*store.Trace{tr, raw} {
				for _, o := range []Options{{}, {Verbose: true}, {Width: 40}} {
					if bad := controls(draw(t, tr, o)); bad != "" {
						t.Errorf("Tree(%+v) prints %q", o, bad)
					}
				}
				var b bytes.Buffer
				other := store.Summary{TraceID: "1", Host: "x"}
				if err := List(&b, []store.Summary{tr.Summary, other}, 0, nil, store.Totals{Unpriced: []string{tr.Model}}, Options{Width: 200}); err != nil {
					t.Fatal(err)
				}
				if bad := controls(b.String()); bad != "" {
					t.Errorf("List prints %q", bad)
				}
				if n := strings.Count(b.String(), "\n"); n != 5 {
					t.Errorf("List writes %d lines for two traces, want 3, and 2 for the sums", n)
				}
			}
		})
	}
}

var errDisk = errors.New("disk full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errDisk }

func TestTreeReportsAWriterThatFails(t *testing.T) {
	tr := stored(t, clineTrace().Messages())
	if err := Tree(failing{}, tr, Options{}); !errors.Is(err, errDisk) {
		t.Errorf("Tree: got %v, want %v", err, errDisk)
	}
	if err := List(failing{}, []store.Summary{tr.Summary}, 0, nil, store.Totals{}, Options{}); !errors.Is(err, errDisk) {
		t.Errorf("List: got %v, want %v", err, errDisk)
	}
}

func BenchmarkTree10kSpans(b *testing.B) {
	bu := newBuild("many")
	root := bu.Root("task", otelmap.OutcomeCompleted, time.Hour)
	for i := range 10_000 {
		bu.Tool(root, fmt.Sprintf("tool_%d", i%500), `{"path":"src/server.ts"}`, time.Duration(i)*time.Millisecond, time.Minute)
	}
	tr := stored(b, bu.Messages())
	for b.Loop() {
		if err := Tree(io.Discard, tr, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
