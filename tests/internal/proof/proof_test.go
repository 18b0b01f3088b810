package proof

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplace(t *testing.T) {
	got, err := replace("a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n", "x", "| new |\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "a\n<!-- begin x -->\n\n| new |\n\n<!-- end x -->\nb\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	again, err := replace(got, "x", "| new |\n")
	if err != nil || again != got {
		t.Errorf("a second time the page became %q (%v)", again, err)
	}
	for _, page := range []string{"", "<!-- begin x -->\n", "<!-- end x -->", "<!-- begin y -->\n<!-- end y -->"} {
		if _, err := replace(page, "x", "new"); err == nil {
			t.Errorf("page %q was taken", page)
		}
	}
}

func TestTableTellsWhatWasNotRun(t *testing.T) {
	rows := []Row{{Name: "one", Rule: "holds"}, {Name: "two", Rule: "holds, too"}, {Name: "three", Rule: "holds"}, {Name: "four", Rule: "holds"}}
	old := "| three | held | long, 2026-01-02 | 7 | 0 | kept |\n| gone | held | long | 7 | 0 | |\n"
	got := render(rows, []*Result{{trials: 1234567, broken: 2, notes: []string{"3 doubles"}}, {skipped: "no tracer"}, {}, {}}, old, "2026-02-03")
	_, table, _ := strings.Cut(got, tableHead)
	want := "| one | holds | short, 2026-02-03 | 1,234,567 | 2 | 3 doubles |\n| two | holds, too | not run | | | no tracer |\n" +
		"| three | held | long, 2026-01-02 | 7 | 0 | kept |\n| four | holds | not run yet | | | |\n"
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	_, sum, _ := strings.Cut(sums(got), "go")
	if want := ": 2 of 4 rows, 1,234,574 trials, 2 broken."; !strings.HasSuffix(sum, want) {
		t.Errorf("sums %q, want %q at the end", sum, want)
	}
}
