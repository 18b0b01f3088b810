package infinium

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// TestRunMapsAloneAsAmongAll checks that sending run by run loses and
// changes nothing.
func TestRunMapsAloneAsAmongAll(t *testing.T) {
	one := &tree{id: traceID(1)}
	one.tool(2, 1, "read_file", 10, 20, "{}", "text")
	one.root("cline", 100, str(otelmap.KeyOutcome, "completed"))
	late := &tree{id: traceID(2)}
	late.tool(7, 9, "write_file", 10, 20, "{}", "ok")
	second := &tree{id: traceID(1)}
	second.add(5, 77, "invoke_agent cline", 200, 300,
		str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyHost, "cline"), str(otelmap.KeyOutcome, "completed"))
	second.tool(6, 5, "list_files", 210, 220, "{}", "a")

	all := messages(slices.Concat(one.spans, late.spans, second.spans)...)
	runs := Runs(all)
	var roots []bool
	var got []Trace
	spans := 0
	for _, r := range runs {
		roots = append(roots, r.Root() != nil)
		spans += len(r.Spans())
		got = append(got, Traces(messages(r.Spans()...), testForms)...)
		if r.Root() != nil && !IsRoot(r.Root()) {
			t.Errorf("the root of run %s is none by itself", r.TraceID)
		}
	}
	if d := cmp.Diff([]bool{true, false, true}, roots); d != "" {
		t.Errorf("runs with a root (-want +got):\n%s", d)
	}
	if spans != otlp.Count(all) {
		t.Errorf("%d of %d spans are in a run", spans, otlp.Count(all))
	}
	if d := cmp.Diff(Traces(all, testForms), got); d != "" {
		t.Errorf("traces (-all at once +run by run):\n%s", d)
	}
}

func TestIsRootOfSingleSpan(t *testing.T) {
	tr := &tree{id: traceID(1)}
	tr.root("cline", 100)
	tr.tool(2, 1, "read_file", 10, 20, "", "")
	tr.agent(3, 2, "Explore", 10, 20)
	var got []bool
	for _, s := range tr.spans {
		got = append(got, IsRoot(s))
	}
	if d := cmp.Diff([]bool{true, false, false}, got); d != "" {
		t.Error(d)
	}
}
