package main

import (
	"bufio"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/regular"
)

// logDay is how long a line of the log is worth telling of.
const logDay = 24 * time.Hour

// maxLog is the largest log that is looked through, in bytes. hookspan starts a
// new one long before.
const maxLog = 64 << 20

// shownLogLines is how many kinds of lines are shown.
const shownLogLines = 5

// logKind are lines of the log that say the same of different things.
type logKind struct {
	who, last   string
	first, when time.Time
	count       int
}

// varying is what differs between lines that say the same: ids and numbers.
var varying = regexp.MustCompile(`[0-9a-f]{8,}|[0-9]+`)

// examineLog sums up what the log says of the last day and no other finding
// does.
func (a *app) examineLog(st *status) []finding {
	f, _, err := regular.Open(a.cfg.LogPath(), regular.Options{Max: maxLog})
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	var kinds []*logKind
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		stamp, rest, _ := strings.Cut(sc.Text(), " ")
		at, err := time.Parse(time.RFC3339, stamp)
		who, text, ok := strings.Cut(rest, ": ")
		if err != nil || !ok || a.now().Sub(at) > logDay || st.told(at, who, text) || isHookStep(sc.Text()) {
			continue
		}
		key := varying.ReplaceAllString(text, "#")
		i := slices.IndexFunc(kinds, func(k *logKind) bool { return k.who == who && varying.ReplaceAllString(k.last, "#") == key })
		if i < 0 {
			kinds = append(kinds, &logKind{who: who, first: at})
			i = len(kinds) - 1
		}
		k := kinds[i]
		k.last, k.when, k.count = text, at, k.count+1
		// The newest kind is the last.
		kinds = append(slices.Delete(kinds, i, i+1), k)
	}
	var out []finding
	for _, k := range kinds[max(0, len(kinds)-shownLogLines):] {
		times := a.ago(k.when)
		if k.count > 1 {
			times = fmt.Sprintf("%d times since %s, last %s", k.count, k.first.Local().Format(time.DateTime), times)
		}
		out = append(out, finding{"note", fmt.Sprintf("log, %s: %s: %s", times, k.who, strings.TrimSpace(k.last)), ""})
	}
	if n := len(kinds) - shownLogLines; n > 0 {
		out = append(out, finding{"note", fmt.Sprintf("log: %s more of the last day in %s", plural(n, "kind")+" of lines", a.cfg.LogPath()), ""})
	}
	return out
}

// told reports a line of the log of which another finding tells, or that is no
// longer so: every hook logs wrong settings, and every failed delivery itself.
func (st *status) told(at time.Time, who, text string) bool {
	if strings.HasPrefix(text, "configuration: ") {
		return true
	}
	for i := range st.Destinations {
		d := &st.Destinations[i]
		if who == "hookspan" && strings.HasPrefix(text, d.Name+": ") {
			return !d.Tried.Before(at.Add(-time.Second)) || d.Failing > 0 || d.Fault != "" || d.Off != ""
		}
	}
	return false
}
