package deliver

import (
	"fmt"
	"strings"

	"github.com/hookspan/hookspan/internal/termtext"
)

// Text shows the result to people, without its errors.
func (r *Result) Text() string {
	var parts []string
	add := func(n int, what, is string) {
		if n > 0 {
			parts = append(parts, termtext.Plural(n, what)+" "+is)
		}
	}
	if r.Runs == 0 && r.Late == 0 && r.Waiting == 0 && r.Parked == 0 {
		parts = append(parts, "nothing waiting")
	}
	add(r.Busy, "session", "being delivered by another process (--wait waits for it)")
	add(r.Elsewhere, "session", "recorded under other environment variables")
	add(r.OwedElsewhere, "imported trace", "of other environment variables")
	if r.Runs > 0 {
		parts = append(parts, fmt.Sprintf("%s, %s delivered", termtext.Plural(r.Runs, "trace"), termtext.Plural(r.Spans, "span")))
	}
	if r.Runs == 0 && r.Late > 0 {
		parts = append(parts, termtext.Plural(r.Spans, "span")+" delivered")
	}
	add(r.Late, "delivered trace", "completed by events that were stored late")
	add(r.Waiting, "trace", "waiting")
	add(r.Parked, "trace", "rejected, kept here")
	return strings.Join(parts, "; ")
}
