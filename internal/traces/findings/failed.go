package findings

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/pattern"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

var (
	// times are what differs between two equal failures.
	times = pattern.Of(`(?i)\b\d{4}-\d\d-\d\d([t ]\d\d:\d\d(:\d\d)?([.,]\d+)?z?)?|\b\d{1,2}:\d\d(:\d\d)?([.,]\d+)?\b|\b\d+([.,]\d+)? ?(ns|µs|us|ms|s|secs?|seconds?|m|min|minutes?)\b|\b0x[0-9a-f]+\b`)
	// exit is what a shell tool says without what the command printed.
	exit = pattern.Of(`(?i)^\W*((command|process)\s+)?(failed|exited|terminated)?\s*(with\s+)?(exit\s+)?(code|status)?\W*-?\d*\W*$`)
	// passing are failures that may pass by themselves.
	passing = pattern.Of(`(?i)time[ds]?[ -]?out|\bconnect(ion|ing)?\b|\bECONN|ETIMEDOUT|EAI_AGAIN|\bENOTFOUND|EADDRINUSE|\bnetwork|unreachable|temporar|try again|\bretry(ing)?\b|rate.?limit|too many requests|(status|http|code)\W{0,3}(429|5\d\d)\b|unavailable|overloaded|in progress|not (yet )?(ready|healthy|running|started)|waiting for|\bbusy\b|\.lock\b|\block(ed)?\b|already in use|bad gateway|no space|resolve host|\bdns\b|\bkilled\b|\bsignal\b|interrupt|cancel|quota|out of memory|\bflak[ey]`)
)

// wantsRead is in failures of edits for which the file must be read again.
var wantsRead = pattern.Of(`(?i)\b(not been read|modified since|changed since|read (it|the file) (first|again))\b`)

// askers are programs whose end depends on more than the files: they ask servers, wait or install.
var askers = strings.Fields(`sleep wait watch until while for retry timeout curl wget http https nc netcat telnet ping ssh scp rsync gh glab kubectl helm docker
	docker-compose podman aws gcloud az systemctl service journalctl pg_isready psql mysql mongo mongosh redis-cli sqlite3 ps pgrep kill pkill lsof ss netstat tail tmux screen
	adb vault heroku fly flyctl vercel netlify terraform pip pip3 apt apt-get brew dig nslookup host ab k6 wrk open xdg-open
	test [ [[ grep rg diff cmp which type command`)

// askingParts are commands of other programs that do.
var askingParts = pattern.Of(`^(npm|pnpm|yarn|bun) (i|ci|install|add|publish|view|info|update|audit|outdated)\b|^(go) (get|mod|install)\b|^cargo (publish|update|install|fetch|add|search)\b|^git (push|pull|fetch|clone|ls-remote|remote|submodule)\b|\bplaywright\b`)

// failure returns that of a failed call, "" if a second one would prove nothing.
func (s *session) failure(it *item) string {
	c := it.call
	switch {
	case c.Host == "codex" && c.Command != "": // in which folder is not recorded
		return ""
	case c.Own(), c.Server != "", s.started[c.Span], view.FailureLine(c.Error) == "", exit().MatchString(strings.TrimSpace(c.Error)), passing().MatchString(c.Error):
		return ""
	case c.Command == "" && len(view.NewArguments(c.Tool, c.Arguments).Files()) == 0:
		return "" // of another tool it is not known on what its end depends
	case passing().MatchString(it.script), shortened(c.Error):
		return ""
	}
	for _, part := range commands(it.script) {
		program := store.Program(part)
		first, _, _ := strings.Cut(strings.TrimPrefix(program, "sudo "), " ")
		if slices.Contains(askers, strings.Fields(part)[0]) || slices.Contains(askers, first) || askingParts().MatchString(program) {
			return ""
		}
	}
	return strings.TrimSpace(times().ReplaceAllString(c.Error, "#"))
}

// repeated are equal calls, one after the other.
type repeated struct {
	first *item
	calls []*store.Call
}

// failedAgain finds calls that failed again in the same way.
func (s *session) failedAgain() (out []view.Finding) {
	open := make(map[string]*repeated)
	end := func(key string) {
		r := open[key]
		delete(open, key)
		if r != nil && len(r.calls) > 1 {
			c := r.calls[0]
			given := strings.TrimSpace(termtext.Line(c.Tool) + " " + view.Given(c))
			out = append(out, s.finding(failedAgain, 1, given, fmt.Sprintf("%s failed %d times: %s", given, len(r.calls), view.FailureLine(c.Error)), r.calls...))
		}
	}
	// changed ends all but those with a key.
	changed := func(but string) {
		for key := range open {
			if key != but {
				end(key)
			}
		}
	}
	var busy time.Time // until when another call may change something
	for i := range s.items {
		it := &s.items[i]
		c := it.call
		if c == nil {
			if it.mark != "" && it.mark != otelmap.EventHook {
				changed("")
			}
			continue
		}
		if it.background() {
			break // what it changes, and when, is not known
		}
		key := ""
		if c.Status == otelmap.EndFailed {
			key = same(c)
		}
		changes := !s.harmless(it)
		if changes {
			changed(key)
		}
		if file, _ := readOf(it); file != "" && it.script == "" { // a command does not count for the tool
			for key, r := range open {
				if wantsRead().MatchString(r.calls[0].Error) && strings.Contains(r.calls[0].Arguments, path.Base(file)) {
					end(key)
				}
			}
		}
		r := open[key]
		switch {
		case key == "":
		case r != nil && !ended(r.calls[len(r.calls)-1]).After(c.Started) && cmp.Or(s.failure(it), "none") == s.failure(r.first):
			r.calls = append(r.calls, c)
		default:
			end(key)
			if !busy.After(c.Started) {
				open[key] = &repeated{it, []*store.Call{c}}
			}
		}
		if changes && ended(c).After(busy) {
			busy = ended(c)
		}
	}
	changed("")
	return out
}
