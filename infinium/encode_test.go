package infinium

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/otelmap"
)

// bigTrace has n steps of about size bytes, every tenth of them failed.
func bigTrace(n, size int) *Trace {
	tr := &tree{id: traceID(1)}
	tr.root("cline", n, str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, strings.Repeat("task ", 3_000))))
	for i := range n {
		s := tr.tool(uint64(i+2), 1, "read_file", i, i+1, fmt.Sprintf(`{"step":%d}`, i), strings.Repeat("x", size))
		if i%10 == 0 {
			fail(s, otelmap.ErrorTool, fmt.Sprintf("failure %d %s", i, strings.Repeat("y", size)))
		}
	}
	traces := Traces(tr.messages(), testForms.WithPreviews(10_000, 10_000))
	return &traces[0]
}

func decode(t testing.TB, body []byte) Trace {
	t.Helper()
	var got Trace
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatalf("decode body: %v", err)
	}
	return got
}

// split separates kept entries from the marker and reads the marker's count.
func split(t testing.TB, got *Trace) (steps []Step, stepsLeft int, errs []ErrorDetail, errsLeft int) {
	t.Helper()
	read := func(text, noun string) int {
		var n int
		if _, err := fmt.Sscanf(text, "%d "+noun, &n); err != nil || n < 1 {
			t.Fatalf("marker %q holds no count of %ss", text, noun)
		}
		return n
	}
	for i, s := range got.Steps {
		if s.Action != ActionTruncated {
			steps = append(steps, s)
			continue
		}
		if i != 1 {
			t.Errorf("steps are left out at %d, want after the first", i)
		}
		stepsLeft += read(s.Description, "step")
	}
	for _, e := range got.Errors {
		if e.ErrorType != ErrorTruncated {
			errs = append(errs, e)
			continue
		}
		errsLeft += read(e.Message, "error")
	}
	return steps, stepsLeft, errs, errsLeft
}

func TestEncodeTruncates(t *testing.T) {
	tests := map[string]struct {
		steps, size int
		preview     int // length of the last step's output
		drops       bool
	}{
		"a small trace is whole":                   {100, 500, 500, false},
		"previews give way first":                  {1_000, 5_000, 200, false},
		"then more of them":                        {3_000, 1_600, 100, false},
		"5 MB in many steps leaves the oldest out": {25_000, 200, 50, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tr := bigTrace(tt.steps, tt.size)
			if raw, err := json.Marshal(tr); err != nil || tt.steps > 100 && len(raw) < 4_800_000 {
				t.Fatalf("the trace has %d bytes, %v; want about 5 MB", len(raw), err)
			}
			body, err := tr.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := tr.Encode()
			if err != nil || !bytes.Equal(body, again) {
				t.Errorf("encoding twice differs (%v)", err)
			}
			if len(body) > MaxBodyBytes {
				t.Fatalf("%d bytes, want at most %d", len(body), MaxBodyBytes)
			}
			got := decode(t, body)
			steps, left, errs, errsLeft := split(t, &got)
			if len(steps)+left != tt.steps || len(errs)+errsLeft != (tt.steps+9)/10 {
				t.Errorf("%d steps + %d left out, %d errors + %d left out; want %d and %d in all",
					len(steps), left, len(errs), errsLeft, tt.steps, (tt.steps+9)/10)
			}
			if (left > 0) != tt.drops {
				t.Errorf("%d steps left out, want some: %t", left, tt.drops)
			}
			if tt.drops && len(body) < MaxBodyBytes-2_000 {
				t.Errorf("%d bytes: more steps would have fitted", len(body))
			}
			if d := cmp.Diff(`{"step":0}`, steps[0].InputPreview); d != "" {
				t.Errorf("first step (-want +got):\n%s", d)
			}
			last := steps[len(steps)-1]
			if d := cmp.Diff(fmt.Sprintf(`{"step":%d}`, tt.steps-1), last.InputPreview); d != "" {
				t.Errorf("last step (-want +got):\n%s", d)
			}
			if n := len([]rune(last.OutputPreview)); n != tt.preview {
				t.Errorf("last output has %d characters, want %d", n, tt.preview)
			}
			if got.Description != tr.Description {
				t.Error("the task was shortened")
			}
		})
	}
}

// Whatever a trace holds, its body is valid, within the limit, and accounts for
// every step and error. Small limits reach every stage with small traces.
func TestEncodeNeverExceeds(t *testing.T) {
	// Characters of one to six bytes in JSON.
	texts := rapid.StringOfN(rapid.RuneFrom([]rune{'a', ' ', '"', '\\', '\n', 1, 'ä', '…', '😀', '\u2028', 0x7f}), 0, 400, -1)
	rapid.Check(t, func(rt *rapid.T) {
		text := func(what string) string { return texts.Draw(rt, what) }
		tr := &Trace{
			Name: text("name"), Description: text("description"), CurrentDatetime: "2026-04-18T10:00:00.000Z",
			Duration:     rapid.SampledFrom([]float64{0, -1, 1.5, 1e9, math.NaN(), math.Inf(1)}).Draw(rt, "duration"),
			InputSummary: text("input"), OutputSummary: text("output"),
			Environment: Environment{CustomTags: map[string]string{text("key"): text("value")}},
		}
		failure := rapid.Custom(func(rt *rapid.T) ErrorDetail {
			return ErrorDetail{ErrorType: "E", Message: texts.Draw(rt, "message"), Recoverable: true}
		})
		step := rapid.Custom(func(rt *rapid.T) Step {
			s := Step{Action: "a", Description: texts.Draw(rt, "d"), InputPreview: texts.Draw(rt, "i"), OutputSummary: texts.Draw(rt, "o")}
			if rapid.Bool().Draw(rt, "failed") {
				e := failure.Draw(rt, "error")
				s.Error = &e
			}
			return s
		})
		tr.Steps = rapid.SliceOfN(step, 0, 40).Draw(rt, "steps")
		tr.Errors = rapid.SliceOfN(failure, 0, 40).Draw(rt, "errors")

		// The least limit at which head, markers and ends always fit.
		limit := rapid.IntRange(16_000, 60_000).Draw(rt, "limit")
		body, err := tr.encode(limit)
		if err != nil {
			rt.Fatalf("encode: %v", err)
		}
		if len(body) > limit {
			rt.Fatalf("%d bytes, limit %d", len(body), limit)
		}
		got := decode(t, body)
		steps, left, errs, errsLeft := split(t, &got)
		if len(steps)+left != len(tr.Steps) || len(errs)+errsLeft != len(tr.Errors) {
			rt.Fatalf("%d+%d steps of %d, %d+%d errors of %d", len(steps), left, len(tr.Steps), len(errs), errsLeft, len(tr.Errors))
		}
	})
}

func TestEncodeFailsAboveLimit(t *testing.T) {
	tr := &Trace{Name: "n", Description: strings.Repeat("d", 5_000)}
	body, err := tr.encode(1_000)
	if err == nil {
		t.Fatalf("got %d bytes for a limit of 1000, want an error", len(body))
	}
}

func BenchmarkEncode5MB(b *testing.B) {
	tr := bigTrace(25_000, 200)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tr.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTraces(b *testing.B) {
	tr := &tree{id: traceID(1)}
	tr.root("cline", 10_000)
	for i := range 10_000 {
		tr.tool(uint64(i+2), 1, "read_file", i, i+1, `{"path":"a"}`, "result")
	}
	spans := tr.messages()
	b.ReportAllocs()
	for b.Loop() {
		if got := Traces(spans, testForms); len(got) != 1 {
			b.Fatal(len(got))
		}
	}
}
