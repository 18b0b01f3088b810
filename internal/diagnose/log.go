package diagnose

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/termtext"
)

// logDay is how long the doctor mentions a line of the log.
const logDay = 24 * time.Hour

// maxLog is the largest log that is read, in bytes; hookspan starts a new one long
// before.
const maxLog = 64 << 20

// maxLogLine is how many characters of a line count.
const maxLogLine = 2000

// shownLogLines is how many kinds of lines are shown.
const shownLogLines = 5

// logKind is a group of log lines that differ only in ids and numbers.
type logKind struct {
	who, last   string
	first, when time.Time
	count       int
	// at is the position of the last line among all.
	at int
}

// varying matches ids and numbers.
var varying = regexp.MustCompile(`[0-9a-f]{8,}|[0-9]+`)

// log sums up those lines of the last day that no other finding covers.
func (e *exam) log() {
	f, _, err := regular.Open(e.Setup.Config.LogPath(), regular.Options{Max: maxLog})
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	byText := map[string]*logKind{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, maxLog+1)
	for n := 0; sc.Scan(); n++ {
		stamp, rest, _ := strings.Cut(sc.Text(), " ")
		at, err := time.Parse(time.RFC3339, stamp)
		who, text, ok := strings.Cut(rest, ": ")
		if err != nil || !ok || e.Setup.Now().Sub(at) > logDay || e.st.covered(e.Setup.Now(), at, who, text) || isHookStep(sc.Text()) {
			continue
		}
		text = termtext.Cut(text, maxLogLine)
		key := who + ": " + varying.ReplaceAllString(text, "#")
		k := byText[key]
		if k == nil {
			k = &logKind{who: who, first: at}
			byText[key] = k
		}
		k.last, k.when, k.count, k.at = text, at, k.count+1, n
	}
	kinds := slices.SortedFunc(maps.Values(byText), func(x, y *logKind) int { return cmp.Compare(x.at, y.at) })
	for _, k := range kinds[max(0, len(kinds)-shownLogLines):] {
		times := ago(e.Setup.Now(), k.when)
		if k.count > 1 {
			times = fmt.Sprintf("%d times since %s, last %s", k.count, k.first.Local().Format(time.DateTime), times)
		}
		e.add(Note, fmt.Sprintf("log, %s: %s: %s", times, k.who, strings.TrimSpace(k.last)), "")
	}
	if n := len(kinds) - shownLogLines; n > 0 {
		e.add(Note, fmt.Sprintf("log: %s of lines from the last day in %s", termtext.Plural(n, "more kind"), e.Setup.Config.LogPath()), "")
	}
}

// logHour is how long the doctor mentions that a hook failed if events were stored after
// that.
const logHour = time.Hour

// covered reports a line of the log that another finding covers, or whose fault has
// ended: every hook logs wrong settings, every delivery its failures and what it
// cannot read of a session.
func (st *Status) covered(now, at time.Time, who, text string) bool {
	switch {
	case strings.HasPrefix(text, "configuration: "):
		return true
	case strings.HasPrefix(text, "session ") && (strings.Contains(text, ": event at ") || strings.Contains(text, " damaged places, ")):
		return true // the finding about the spool counts them
	case strings.HasSuffix(text, ": it is not recorded (said once)"):
		return true // so does the finding about other agents, where it matters
	case strings.HasSuffix(who, "-hook") && st.LastEvent.After(at) && now.Sub(at) > logHour:
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
