package findings

import (
	"fmt"
	"maps"
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

// A command is the check if it followed edits in habit of at most history earlier tasks, in half of
// them, and in usual of the newest of them.
const (
	habit, history = 5, 100
	newest, usual  = 10, 0.6
)

var (
	checks = pattern.Of(`(?i)(^|[ :._-])(test\w*|check|lint|vet|clippy|type-?check|verify|validate|specs?)([ :._-]|$)|^(pytest|jest|vitest|mocha|mypy|eslint|ruff|tsc|shellcheck|golangci-lint|rspec|phpunit|tox|nox|ctest)$`)
	// noChecks are commands that have such words, quiet those that run no other checks.
	noChecks = pattern.Of(`^(git|gh|glab|docker|kubectl|helm|cat|ls|cd|test|\[)( |$)`)
	quiet    = pattern.Of(`^(git (add|status|diff)|go (build|vet)|gofmt|ruff|tsc|npx tsc|eslint|prettier)$`)
	// noRuns are prompts that want nothing to be run.
	noRuns = pattern.Of(`(?i)\b(don'?t|do not|without|no|skip|never|not yet)\b[^.;]{0,40}\b(tests?|run(ning)?|checks?|lint(ing)?|build(ing)?|commands?|verif\w*)\b`)
)

// documents are the endings of files that no check checks.
var documents = strings.Fields(".md .mdx .markdown .txt .rst .adoc .org .png .jpg .jpeg .gif .svg .ico .pdf .csv .log .gitignore .env .example .lock")

// Edited is what is kept of a task.
type Edited struct {
	Started   time.Time
	Directory string
	// After has the endings of the files that were edited, each with the checks that ran after, nil
	// without any. Last are the edits after which nothing ran that may have checked them, but Ran.
	After map[string][]string
	Last  []*item
	Ran   []string
	busy  time.Time // until when a call runs that may check
}

// EditedBy returns what is kept of a task.
func EditedBy(w *store.Work) Edited { return newSession([]*store.Work{w}).edited()[0] }

// edited returns what is kept of each task.
func (s *session) edited() (out []Edited) {
	of := make(map[*store.Work]*Edited)
	for _, w := range s.works {
		of[w] = &Edited{Started: w.Summary.Started, Directory: w.Summary.Directory}
	}
	for i := range s.items {
		if it := &s.items[i]; it.call != nil {
			of[it.work].add(s, it)
		}
	}
	for _, w := range s.works {
		t, e := &w.Summary, of[w]
		if t.Directory == "" || t.Outcome != otelmap.OutcomeCompleted || t.Evidence == otelmap.EvidencePartial || noRuns().MatchString(t.Title) ||
			slices.ContainsFunc(w.Marks, func(m store.Mark) bool { return m.Name == otelmap.EventHook && !strings.Contains(m.Text, "hookspan") }) {
			e.Last = nil
		}
		out = append(out, *e)
	}
	return out
}

// add adds the task's next call.
func (e *Edited) add(s *session, it *item) {
	c, ends := it.call, it.endings()
	for _, end := range ends {
		if e.After == nil {
			e.After = make(map[string][]string)
		}
		if len(e.After[end]) == 0 {
			e.After[end] = []string{""}
		}
	}
	var ran []string
	for _, part := range commands(it.script) {
		ran = append(ran, store.Program(part))
	}
	switch {
	case len(ends) > 0 && !e.busy.After(c.Started):
		e.Last = append(e.Last, &item{edits: it.edits, call: &store.Call{
			Trace: c.Trace, Span: c.Span, Session: c.Session, Host: c.Host, Directory: c.Directory, Started: c.Started, Status: c.Status,
		}})
	case it.edits != nil, s.harmless(it), c.Command == "" && c.Status == otelmap.EndDenied:
	case len(ran) > 0 && !slices.ContainsFunc(ran, func(p string) bool { return !quiet().MatchString(p) && !slices.Contains(readers, p) }) && !cut(c.Arguments):
		e.Ran = append(e.Ran, ran...)
	default:
		e.Last = nil
		until := ended(c)
		if it.background() {
			until = it.work.Summary.Ended
		}
		if until.After(e.busy) {
			e.busy = until
		}
	}
	for _, program := range ran {
		for end := range e.After {
			if c.Status != otelmap.EndDenied && checks().MatchString(program) && !noChecks().MatchString(program) && !slices.Contains(e.After[end], program) {
				e.After[end] = append(e.After[end], program)
			}
		}
	}
}

// endings are those of the files of a project that a call has edited and a check may check.
func (it *item) endings() (out []string) {
	c := it.call
	if c.Status != otelmap.EndOK {
		return nil
	}
	for _, file := range it.edits {
		end := strings.ToLower(path.Ext(strings.ReplaceAll(file, `\`, "/")))
		outside := (path.IsAbs(file) || otelmap.OnDrive(file)) && !otelmap.Below(file, c.Directory) || strings.HasPrefix(file, "~")
		if end != "" && !outside && !slices.Contains(documents, end) {
			out = append(out, end)
		}
	}
	return out
}

// Unchecked returns the finding of a task whose last edits the project's check did not follow, given
// the project's other tasks with edits, the newest first. ok is false if there is no such check.
func (e *Edited) Unchecked(others []Edited) (f view.Finding, ok bool) {
	others = slices.DeleteFunc(slices.Clone(others), func(o Edited) bool { return !o.Started.Before(e.Started) })
	others = others[:min(len(others), history)]
	var ends []string
	for _, it := range e.Last {
		ends = append(ends, it.endings()...)
	}
	slices.Sort(ends)
	best, check, of, ending := 0, "", 0, ""
	for _, end := range slices.Compact(ends) {
		followed, recent, tasks := make(map[string]int), make(map[string]int), 0
		for i := range others {
			ran := others[i].After[end]
			if len(ran) == 0 {
				continue
			}
			tasks++
			for _, program := range ran {
				followed[program]++
				if tasks <= newest {
					recent[program]++
				}
			}
		}
		for _, program := range slices.Sorted(maps.Keys(followed)) {
			n := followed[program]
			if program != "" && n >= habit && 2*n >= tasks && float64(recent[program]) >= usual*float64(min(tasks, newest)) && n > best {
				best, check, of, ending = n, program, tasks, end
			}
		}
	}
	last := slices.DeleteFunc(slices.Clone(e.Last), func(it *item) bool { return !slices.Contains(it.endings(), ending) })
	if check == "" || len(last) == 0 || slices.Contains(e.Ran, check) {
		return f, false
	}
	var files []string
	var calls []*store.Call
	for _, it := range last {
		calls = append(calls, it.call)
		for _, file := range it.edits[:len(it.edits)-1] {
			files = append(files, termtext.Line(view.Relative(file, it.call.Directory)))
		}
	}
	_, names := named(files)
	f = new(session).finding(notChecked, 0, check, fmt.Sprintf("%s did not run after %s of %s; it did in %d of %d earlier tasks with such edits",
		check, termtext.Plural(len(last), "edit"), names, best, of), calls...)
	f.Directory = e.Directory
	return f, true
}
