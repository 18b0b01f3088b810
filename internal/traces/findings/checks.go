package findings

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

const (
	// habit is after how many earlier tasks with such edits a command is the check, of at most
	// history; usual of the newest ones must have it.
	habit, history = 5, 100
	newest, usual  = 10, 0.8
)

var (
	checks   = regexp.MustCompile(`(?i)(^|[ :._-])(tests?|check|lint|vet|clippy|typecheck|type-check|verify|validate|specs?|test\w*)([ :._-]|$)|^(pytest|jest|vitest|mocha|mypy|eslint|ruff|tsc|shellcheck|golangci-lint|rspec|phpunit|tox|nox|ctest)$`)
	noChecks = regexp.MustCompile(`^(git|gh|glab|docker|kubectl|helm|cat|ls|cd|test|\[)( |$)`)
	// noRuns are prompts that want nothing to be run.
	noRuns = regexp.MustCompile(`(?i)\b(don'?t|do not|without|no|skip|never|not yet)\b[^.;]{0,40}\b(tests?|run(ning)?|checks?|lint(ing)?|build(ing)?|commands?|verif\w*)\b`)
)

// documents are the endings of files that a check does not check.
var documents = strings.Fields(".md .mdx .markdown .txt .rst .adoc .org .png .jpg .jpeg .gif .svg .ico .pdf .csv .log .gitignore .env .example .lock")

// ending is that of a file of a project that a check may check, else "".
func ending(file, project string) string {
	file = strings.ReplaceAll(file, `\`, "/")
	end := strings.ToLower(path.Ext(file))
	if (path.IsAbs(file) || otelmap.OnDrive(file)) && !otelmap.Below(file, project) || strings.HasPrefix(file, "~") || slices.Contains(documents, end) {
		return ""
	}
	return end
}

// endings are those of what a call has edited.
func endings(c *store.Call) (out []string) {
	given := view.NewArguments(c.Tool, c.Arguments)
	if c.Status != otelmap.EndOK || len(given.Edits()) == 0 {
		return nil
	}
	for _, file := range given.Files() {
		if end := ending(file, c.Directory); end != "" {
			out = append(out, end)
		}
	}
	return out
}

// Edited is what is kept of an earlier task: the endings of the files that it edited, each with the
// checks that ran after.
type Edited struct {
	Started time.Time
	After   map[string][]string
}

// EditedBy returns that of a task, nil After if it edited nothing that counts.
func EditedBy(w *store.Work) Edited {
	out := Edited{Started: w.Summary.Started}
	for i := range w.Calls {
		c := &w.Calls[i]
		for _, end := range endings(c) {
			if out.After == nil {
				out.After = make(map[string][]string)
			}
			if _, known := out.After[end]; !known {
				out.After[end] = nil
			}
		}
		if c.Command == "" || c.Status == otelmap.EndDenied || len(out.After) == 0 {
			continue
		}
		for _, part := range commands(script(c)) {
			if program := store.Program(part); checks.MatchString(program) && !noChecks.MatchString(program) {
				for end, ran := range out.After {
					if !slices.Contains(ran, program) {
						out.After[end] = append(ran, program)
					}
				}
			}
		}
	}
	return out
}

// Pending are the edits at the end of a session after which only reading calls were made.
type Pending struct {
	Directory string
	Started   time.Time
	edits     []*store.Call
}

// PendingOf returns those of a session, nil if there are none.
func PendingOf(works []*store.Work) *Pending {
	s := newSession(works)
	out := new(Pending)
	var busy time.Time
	for _, it := range s.items {
		c := it.call
		switch {
		case c == nil && (it.hook == "" || strings.Contains(it.hook, "hookspan")), c != nil && c.Status == otelmap.EndDenied && c.Command == "":
		case c == nil:
			out.edits = nil
		case len(endings(c)) > 0:
			if !busy.After(c.Started) {
				out.edits = append(out.edits, c)
			}
		case !s.harmless(c) && len(view.NewArguments(c.Tool, c.Arguments).Edits()) == 0:
			out.edits = nil
			if busy = ended(c); background(c) {
				return nil
			}
		}
	}
	if len(out.edits) == 0 {
		return nil
	}
	for _, w := range works {
		t := &w.Summary
		if !t.Ended.Before(out.edits[0].Started) && (t.Outcome != otelmap.OutcomeCompleted || t.Evidence == otelmap.EvidencePartial || noRuns.MatchString(t.Title)) {
			return nil
		}
		if t.TraceID == out.edits[0].Trace {
			out.Directory, out.Started = t.Directory, t.Started
		}
	}
	for i, c := range out.edits { // without the session
		own := *c
		out.edits[i], own.Result = &own, ""
	}
	return out
}

// Finding returns the finding of edits that the project's check did not follow, given the project's
// other tasks, the newest first. ok is false if there is no such check.
func (p *Pending) Finding(others []Edited) (f view.Finding, ok bool) {
	best, check, of := 0, "", 0
	var edits []*store.Call
	for _, end := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(mapped(p.edits, endings)...)))) {
		followed, recent := make(map[string]int), make(map[string]int)
		tasks, looked := 0, 0
		for _, e := range others {
			ran, edited := e.After[end]
			if !e.Started.Before(p.Started) || looked == history {
				continue
			}
			if looked++; !edited {
				continue
			}
			tasks++
			for _, program := range ran {
				if followed[program]++; tasks <= newest {
					recent[program]++
				}
			}
		}
		for program, n := range followed {
			if n >= habit && float64(recent[program]) >= usual*float64(min(tasks, newest)) && (n > best || n == best && program < check) {
				best, check, of = n, program, tasks
				edits = slices.DeleteFunc(slices.Clone(p.edits), func(c *store.Call) bool { return !slices.Contains(endings(c), end) })
			}
		}
	}
	if check == "" {
		return f, false
	}
	var files []string
	for _, c := range edits {
		for _, file := range view.NewArguments(c.Tool, c.Arguments).Files() {
			if name := termtext.Line(view.Relative(file, c.Directory)); !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	f = new(session).finding(notChecked, 0, check, fmt.Sprintf("%s did not run after %s of %s; it did in %d of %d earlier tasks with such edits",
		check, termtext.Plural(len(edits), "edit"), strings.Join(files, ", "), best, of), edits...)
	f.Directory = cmp.Or(p.Directory, f.Directory)
	return f, true
}

func mapped[T, U any](list []T, f func(T) U) (out []U) {
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}
