package hook

import (
	"strings"
	"testing"
)

func TestRunIDIsWhatARunMakes(t *testing.T) {
	const one, two = "0123456789abcdef", "fedcba9876543210"
	deep := strings.Repeat(one+".", runDepth-1) + one
	for _, tt := range []struct{ outer, want string }{
		{"", two},
		{one, one + "." + two},
		{one + "." + one, one + "." + one + "." + two},
		{deep, two},
		{"job-7", two},
		{strings.ToUpper(one), two},
		{one + ".", two},
		{"../" + one, two},
		{one + "\n", two},
		{one + ".\x1b[2J", two},
		{strings.Repeat("a", 1<<20), two},
	} {
		if got := RunWithin(tt.outer, two); got != tt.want || RunID(got) != got {
			t.Errorf("within %.40q: %q, want %q", tt.outer, got, tt.want)
		}
	}
	if RunID(deep) != deep || RunID(deep+"."+two) != "" {
		t.Errorf("ids of %d runs within one another", runDepth)
	}
}
