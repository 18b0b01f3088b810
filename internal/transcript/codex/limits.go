package codex

import (
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// addLimits adds what a row says of the user's plan. Limits with another id are those of a
// single model.
func (l *log) addLimits(r *row) {
	if r.what != "token_count" {
		return
	}
	limits := r.payload.Members("rate_limits")
	if id := limits.Text("limit_id"); id != "" && id != "codex" {
		return
	}
	for _, name := range [...]string{"primary", "secondary"} {
		w := limits.Members(name)
		used, known := rawjson.Float(w.Get("used_percent"))
		minutes, _ := rawjson.Float(w.Get("window_minutes"))
		resets, _ := rawjson.Float(w.Get("resets_at"))
		limit, ok := hook.NewLimit(r.at, time.Duration(min(max(minutes, 0), 1e6))*time.Minute, used, resets)
		same := func(o hook.Limit) bool {
			return o.Window == limit.Window && o.Used == limit.Used && o.Resets.Equal(limit.Resets)
		}
		if known && ok && !slices.ContainsFunc(l.limits[max(0, len(l.limits)-2):], same) {
			l.limits = append(l.limits, limit)
		}
	}
}
