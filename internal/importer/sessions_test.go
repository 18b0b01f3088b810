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
