package findings

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/pattern"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

var (
	// unchanged is what an agent answers in place of a file that it has read.
	unchanged = pattern.Of(`(?i)^\W*file (is |has been )?(unchanged|not (been )?(changed|modified)) since`)
	// missing begins what is returned in place of a file, left is in what a tool has cut.
	missing = pattern.Of(`(?i)^\W*(error\b|no such file|file (does not exist|not found)|cannot |could not |failed )`)
	left    = pattern.Of(`(?i)\btruncated\b|\b(lines|characters|bytes|chars) (omitted|more|remaining|not shown)|output (was )?cut`)
	// polled are files that are read to see whether they have grown.
	polled = pattern.Of(`(?i)\.(log|out|output|pid|lock|jsonl|tmp|status)$|^/(proc|sys|dev)/|/tasks/|^-?$|[/\\]$`)
	// sweeping are commands that may change many files.
	sweeping = pattern.Of(`(?i)\bgit\s+(-\S+\s+)*(checkout|switch|restore|stash|reset|merge|pull|rebase|apply|am|cherry-pick|revert|clean)\b|\b(fmt|gofmt|goimports|gofumpt|format|prettier|black|isort|rustfmt|codegen|generate|migrate|patch|codemod)\b|--(fix|write|update)\b|\s-w\b|-i\b|\b(npm|pnpm|yarn|bun|cargo|go|pip3?|uv|poetry|bundle|composer)\s+(add|install|i|get|remove|mod|update|upgrade)\b|\bxargs\b`)
	reading  = pattern.Of(`^(?:cat|nl(?: -ba)?|sed -n ['"]?[0-9,]+p['"]?|head(?: -n? ?[0-9]+)?) +([^\s;&|<>$*?` + "`" + `]+)$`)
)

// large is from how many tokens on a compaction must leave fewer: of a small context it may not.
const large = 20_000

// readTools are tools that read a file, in lower case.
var readTools = strings.Fields("read read_file readfile view view_file open_file notebookread str_replace_based_edit_tool str_replace_editor")

// readOf returns the file that a call read, and what equal reads have in common; "" for another
// call, and for a file that is polled.
func readOf(it *item) (file, key string) {
	c := it.call
	if c.Status != otelmap.EndOK || c.Own() || c.Server != "" {
		return "", ""
	}
	if m := reading().FindStringSubmatch(it.script); m != nil {
		file = strings.Trim(m[1], `"'`)
	} else if slices.Contains(readTools, strings.ToLower(c.Tool)) && it.edits == nil {
		if files := view.NewArguments(c.Tool, c.Arguments).Files(); len(files) == 1 {
			file = files[0]
		}
	}
	if file == "" || polled().MatchString(file) || missing().MatchString(c.Result) {
		return "", ""
	}
	return strings.ReplaceAll(file, `\`, "/"), same(c)
}

// reads are those of the same lines of a file by an agent.
type reads struct {
	file string
	// result is what each returned, calls those since the last compaction but one.
	result string
	calls  []*store.Call
	// compactions counts those before the last call.
	compactions int
}

// reader follows the reads of a session.
type reader struct {
	session     *session
	known       map[string]*reads
	compactions int
	// inputs are the tokens of the newest request, by agent and model, before the lead agent's before
	// the last compaction. unproved reports that no request has been smaller since.
	inputs   map[[2]string]int64
	before   int64
	unproved bool
	// after are the reads since the last compaction of what was read before it.
	after []*store.Call
	files []string
	out   []view.Finding
}

// readAgain finds files that were read again: those that are still in the agent's context, and
// after each compaction those that were read before it.
func (s *session) readAgain() []view.Finding {
	r := &reader{session: s, known: make(map[string]*reads), inputs: make(map[[2]string]int64)}
	every := func(string) bool { return true }
	for i := range s.items {
		switch it := &s.items[i]; {
		case it.call != nil:
			if len(r.known) > 0 {
				r.changed(mayChange(it))
			}
			r.read(it)
		case it.request != nil:
			r.request(it.request)
		case it.mark == otelmap.EventPrompt: // it may want the file to be read again
			r.changed(func(file string) bool { return strings.Contains(it.said, path.Base(file)) })
		case it.mark == restart:
			r.changed(every)
			r.compacted()
		case it.mark == otelmap.EventCompaction:
			r.compacted()
		}
	}
	r.changed(every)
	r.compacted()
	return r.out
}

func (r *reader) read(it *item) {
	c := it.call
	file, key := readOf(it)
	if key == "" {
		return
	}
	known, result := r.known[key], c.Result
	stub := unchanged().MatchString(result)
	if known != nil && stub {
		result = known.result // which it says
	}
	past := known != nil && known.compactions < r.compactions
	if known == nil || past && r.unproved && r.before >= large || known.result != result || result == "" || ended(known.calls[len(known.calls)-1]).After(c.Started) {
		r.end(key)
		r.known[key] = &reads{file, result, []*store.Call{c}, r.compactions}
		return
	}
	switch {
	case past:
		r.after, r.files = append(r.after, c), append(r.files, termtext.Line(view.Relative(file, c.Directory)))
		known.calls, known.compactions = []*store.Call{c}, r.compactions
	case stub || !shortened(result):
		known.calls = append(known.calls, c)
	default:
		known.calls = []*store.Call{c}
	}
}

// request follows the size of an agent's context, which some agents shorten without saying so.
func (r *reader) request(q *store.Request) {
	if q.Usage == nil {
		return
	}
	key, lead := [2]string{q.AgentSpan, q.Model}, q.AgentSpan == ""
	shrunk := q.Usage.Input < r.inputs[key]*9/10
	undone := lead && !r.unproved && r.before >= large && q.Usage.Input >= r.before*9/10 // or as much was added
	r.inputs[key] = q.Usage.Input
	switch {
	case shrunk && lead && r.unproved:
		r.unproved = false
	case shrunk, undone:
		if undone {
			r.before = 0
		}
		for key, known := range r.known {
			if known.calls[0].AgentSpan == q.AgentSpan {
				r.end(key)
			}
		}
	}
}

// end ends the reads with a key.
func (r *reader) end(key string) {
	known := r.known[key]
	delete(r.known, key)
	if known != nil && len(known.calls) > 1 {
		name := termtext.Line(view.Relative(known.file, known.calls[0].Directory))
		r.out = append(r.out, r.session.finding(readAgain, 1, name, fmt.Sprintf("%s was read %d times, unchanged", name, len(known.calls)), known.calls...))
	}
}

// changed ends the reads of files that may have changed.
func (r *reader) changed(may func(file string) bool) {
	for key, known := range r.known {
		if may != nil && may(known.file) {
			r.end(key)
		}
	}
}

// compacted ends a context. That of a subagent is not known any more.
func (r *reader) compacted() {
	if len(r.after) > 0 {
		n, names := named(r.files)
		r.out = append(r.out, r.session.finding(afterCompaction, 0, "", fmt.Sprintf("%s read again after a compaction: %s", termtext.Plural(n, "file"), names), r.after...))
	}
	r.after, r.files = nil, nil
	r.compactions, r.unproved, r.before = r.compactions+1, true, 0
	for key, tokens := range r.inputs {
		if key[0] == "" {
			r.before = max(r.before, tokens)
		}
	}
	for key, known := range r.known {
		last := known.calls[len(known.calls)-1:]
		r.end(key)
		if last[0].AgentSpan == "" {
			known.calls = last
			r.known[key] = known
		}
	}
}

// mayChange returns which files a call may have changed, nil if none.
func mayChange(it *item) func(file string) bool {
	files, text := it.edits, it.script
	switch c := it.call; {
	case files != nil:
		return func(file string) bool {
			return slices.ContainsFunc(files, func(f string) bool { return path.Base(strings.ReplaceAll(f, `\`, "/")) == path.Base(file) })
		}
	case c.Server != "" && !c.Own():
		return func(string) bool { return true }
	case c.Command == "":
		if regexpWrites().MatchString(strings.ToLower(c.Tool)) && !slices.Contains(readingTools, strings.ToLower(c.Tool)) {
			return func(string) bool { return true }
		}
		return nil
	case it.reads:
		return nil
	default:
		all := cut(c.Arguments) || sweeping().MatchString(text)
		return func(file string) bool { return all || strings.Contains(text, path.Base(file)) }
	}
}

// regexpWrites are words in the names of tools that change files.
var regexpWrites = pattern.Of(`write|edit|create|move|rename|delete|patch|replace|insert|format|refactor|restore|revert`)
