package importer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/deliver"
)

func TestOrderPutsTheLocalStoreLast(t *testing.T) {
	all := []deliver.Destination{{Name: "store"}, {Name: "otlp"}, {Name: "file"}}
	for _, c := range []struct{ names, want []string }{
		{nil, []string{"otlp", "file", "store"}},
		{[]string{"store", "file"}, []string{"file", "store"}},
		{[]string{"otlp"}, []string{"otlp"}},
	} {
		var got []string
		for _, d := range Order(all, c.names) {
			got = append(got, d.Name)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.names, d)
		}
	}
}

func TestSelectNamesASessionThatIsMissing(t *testing.T) {
	all := []Session{of("a", DialectClaude, nil), of("b", DialectClaude, nil), of("c", DialectClaude, nil)}
	for _, c := range []struct {
		ids, want []string
		missing   string
	}{
		{nil, []string{"a", "b", "c"}, ""}, {[]string{"a"}, []string{"a"}, ""}, {[]string{"c", "b"}, []string{"b", "c"}, ""}, {[]string{"a", "x", "y"}, nil, "x"},
	} {
		var got []string
		some, missing := Select(all, c.ids)
		for _, s := range some {
			got = append(got, s.ID)
		}
		if d := cmp.Diff(c.want, got); d != "" || missing != c.missing {
			t.Errorf("%v: missing %q (-want +got):\n%s", c.ids, missing, d)
		}
	}
}
