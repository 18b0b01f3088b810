package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// Kind is a kind of finding.
type Kind struct {
	Name string `json:"kind"`
	// Rule says exactly what is found, Do in one sentence what to do about it.
	Rule string `json:"rule"`
	Do   string `json:"do"`
}

// Kinds are all kinds, in the order in which they are shown.
var Kinds = [...]Kind{
	{
		"failed-again", "The same agent made a call with the same arguments that failed again with the same failure, and nothing had changed: since the " +
			"call before, no agent of the session edited a file, ran a command that does more than read, or called a tool that may change " +
			"something, and there was no prompt, no denied call, no compaction, and no read by a tool for which the failure of an edit asks. " +
			"Times and addresses do not count in a failure, nor does a description in the arguments. Never found: commands that ask a " +
			"server, wait or install, failures that may pass (timeouts, locks, refused connections) or of which only an exit code is " +
			"recorded, tools of MCP servers and ones that name no file, Codex's commands, whose folder is not recorded, arguments and " +
			"failures that were cut, and what follows a command in the background.",
		"Have the agent change something, or ask, before it makes the same call again.",
	},
	{
		"read-again", "The same agent read the same lines of the same file again and got an equal, whole result, or the answer that the file is " +
			"unchanged, in the same context: since the read before there was no compaction, the context did not become a tenth shorter, and " +
			"there was no edit of a file of that name, no prompt or command that names the file, unless that command only reads, no formatter, " +
			"code generator, installation or change of the checkout, and no MCP server's tool. Never found: logs and other " +
			"files that are polled, results that were cut, and what another agent read.",
		"Have the agent use what it has read: it is still in its context.",
	},
	{
		"read-after-compaction", "After a compaction the lead agent read the same lines of files that it had read before it, and as far as the results were " +
			"recorded they are equal. Files that may have changed since are left out, as for read-again, and all if the context had 20,000 " +
			"tokens and no request after the compaction was a tenth smaller.",
		"Compact between two steps of the work, not within one, or start a session for the next step.",
	},
	{
		"cache-expired", "A request of a Claude model sent at least 2,000 tokens anew that were in the agent's request before, less than half of which " +
			"came from the cache, and the pause since the end of that request was longer than the cache lasts: an hour if the agent's files " +
			"say so or a request of the agent got half of the one before from the cache after more than five minutes, else five minutes. " +
			"Never found: after a compaction, another model, a session's new start, if the input became shorter, or if half of the request " +
			"before was in no cache.",
		"Continue before the cache expires, or begin a new session for what needs little of the old one.",
	},
	{
		"not-checked", "A task ended, completed, after edits of files that the project's check did not follow. The check is a command that tests " +
			"or lints, and that ran after edits of files with the same ending in at least five of the folder's last hundred tasks with edits, " +
			"in half of those that edited such files and in six of their newest ten. Never found: if any command but reading ones and such as " +
			"git add or go build, or a hook, ran or was denied after the edits, for documents and files outside the folder, if a prompt wants " +
			"nothing run, or where the record is not complete.",
		"Run the check before you use the work.",
	},
}

// The kinds' places in Kinds.
const (
	failedAgain = iota
	readAgain
	afterCompaction
	cacheExpired
	notChecked
)

// finding returns one of calls, of which the first extra ones cost nothing more than was needed.
func (s *session) finding(kind, extra int, subject, what string, calls ...*store.Call) view.Finding {
	f := view.Finding{Kind: Kinds[kind].Name, Do: Kinds[kind].Do, Subject: subject, What: what}
	for _, c := range slices.Concat(calls[extra:], calls[:extra]) {
		f.Spans = append(f.Spans, c.Span)
	}
	first := calls[extra]
	f.Trace, f.Session, f.Host, f.Directory, f.Started = first.Trace, first.Session, first.Host, first.Directory, first.Started
	if kind == notChecked {
		return f
	}
	own := make(map[string]int)
	for _, c := range calls[extra:] {
		f.Took += c.Took
		own[c.Request]++
	}
	for _, c := range calls[extra:] {
		n, r := own[c.Request], s.requests[c.Request]
		if n == 0 {
			continue // its request is added
		}
		own[c.Request] = 0
		if r == nil || r.Calls != n || r.Usage == nil { // it was made for something else, too
			f.Usage = nil
			break
		}
		f.Usage = f.Usage.Add(r.Usage)
	}
	return f
}

// mostNamed is how many files a finding names.
const mostNamed = 5

// named counts files, each once, and names the first of them.
func named(files []string) (n int, names string) {
	slices.Sort(files)
	files = slices.Compact(files)
	names = strings.Join(files[:min(len(files), mostNamed)], ", ")
	if len(files) > mostNamed {
		names += fmt.Sprintf(" and %d more", len(files)-mostNamed)
	}
	return len(files), names
}

// session is what rules look at: the calls, requests and marks of a session in the order of time.
type session struct {
	works    []*store.Work
	items    []item
	requests map[string]*store.Request
	// started are the calls that started subagents, whose own calls are there.
	started map[string]bool
}

// item is a call, a request or a mark of a task.
type item struct {
	at      time.Time
	work    *store.Work
	call    *store.Call
	request *store.Request
	// script and edits are those of a call, reads reports that the script changes nothing.
	script string
	edits  []string
	reads  bool
	// mark is the name of a mark, said the text of a prompt.
	mark, said string
}

// restart is the mark of a conversation that begins anew, without what was before.
const restart = "restart"

// newSession takes the tasks of a session in the order of time, with all calls and results.
func newSession(works []*store.Work) *session {
	s := &session{works: works, requests: make(map[string]*store.Request), started: make(map[string]bool)}
	for _, w := range works {
		switch w.Source {
		case "compact":
			s.items = append(s.items, item{at: w.Summary.Started, mark: otelmap.EventCompaction})
		case "":
		default:
			s.items = append(s.items, item{at: w.Summary.Started, mark: restart})
		}
		s.items = append(s.items, item{at: w.Summary.Started, mark: otelmap.EventPrompt})
		for _, m := range w.Marks {
			s.items = append(s.items, item{at: m.At, mark: m.Name, said: m.Text})
		}
		for i := range w.Requests {
			r := &w.Requests[i]
			s.requests[r.Span] = r
			s.items = append(s.items, item{at: r.Started, work: w, request: r})
		}
		for i := range w.Subagents {
			s.started[w.Subagents[i].Call] = true
		}
		for i := range w.Calls {
			c := &w.Calls[i]
			text := script(c)
			s.items = append(s.items, item{at: c.Started, work: w, call: c, script: text, edits: edits(c), reads: onlyReads(text)})
		}
	}
	slices.SortStableFunc(s.items, func(x, y item) int { return x.at.Compare(y.at) })
	return s
}

// found returns the findings of a session. Those of notChecked are Edited.Unchecked.
func (s *session) found() []view.Finding {
	found := slices.Concat(s.failedAgain(), s.readAgain(), s.cacheExpired())
	sortFindings(found)
	return found
}

func sortFindings(found []view.Finding) {
	slices.SortStableFunc(found, func(x, y view.Finding) int {
		return cmp.Or(y.Started.Compare(x.Started), cmp.Compare(x.Kind, y.Kind), cmp.Compare(strings.Join(x.Spans, ""), strings.Join(y.Spans, "")))
	})
}

func ended(c *store.Call) time.Time { return c.Started.Add(c.Took) }
