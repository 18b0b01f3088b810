package ui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// machine is a home folder with the recorded sessions, and the real program.
type machine struct {
	t             *testing.T
	home, program string
}

// emptyMachine has hookspan and further programs, and nothing else.
func emptyMachine(t *testing.T, programs ...string) *machine {
	t.Helper()
	m := &machine{t: t, home: t.TempDir()}
	m.program = built.Program(m.home, "hookspan")
	if err := built.Put(t.Context(), m.home, append(programs, "cmd/hookspan")...); err != nil {
		t.Fatal(err)
	}
	return m
}

// newMachine has hookspan, and the recorded sessions of all agents in its store.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := emptyMachine(t)
	state := filepath.Join(m.home, ".local", "state", "hookspan")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), filepath.Join(state, "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := sample.FillRecorded(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(m.t.Context(), m.program, args...)
	cmd.Dir, cmd.Env = m.home, []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// reads decodes what a command prints as JSON.
func reads[T any](m *machine, args ...string) (v T) {
	m.t.Helper()
	var errs bytes.Buffer
	cmd := m.command(args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &v)
	}
	if err != nil {
		m.t.Fatalf("hookspan %v: %v, said %s", args, err, &errs)
	}
	return v
}

// page starts hookspan ui and ends it with the test.
func (m *machine) page() *site {
	m.t.Helper()
	cmd := m.command("ui", "--port", "0", "--no-open")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil && m.t.Context().Err() == nil {
			m.t.Errorf("hookspan ui: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address := strings.TrimSpace(line)
	u, parsed := url.Parse(address)
	if err != nil || parsed != nil {
		m.t.Fatalf("first line %q, %v", line, err)
	}
	return &site{base: "http://" + u.Host, address: address}
}

// listed is a line of hookspan list --json.
type listed struct {
	TraceID, Session, Title, Outcome string
	Tools, ToolFailures, ToolDenials int
	DurationMs                       int64
	Usage                            *store.Usage
}

// summed is what hookspan stats --json prints.
type summed struct {
	Totals   store.Totals
	Sections map[string][]store.Group
}

// sentence is how the page writes sums.
func sentence(t store.Totals, sessions int) string {
	plural := func(n int, one, many string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", n, many)
	}
	var b strings.Builder
	b.WriteString(plural(t.Traces, "task", "tasks"))
	if sessions > 0 && sessions < t.Traces {
		b.WriteString(" in " + plural(sessions, "session", "sessions"))
	}
	b.WriteString(" took " + view.Duration(t.Took))
	if u := t.Usage; u != nil {
		if u.CostUSD != nil {
			b.WriteString(" and cost " + view.Dollars(*u.CostUSD))
			if of := t.OfModel; of != nil && of.CostUSD != nil && *of.CostUSD != *u.CostUSD {
				b.WriteString(", " + view.Dollars(*of.CostUSD) + " of it by the model,")
			}
		}
		b.WriteString(" for " + view.Tokens(u.Input+u.Output) + " tokens")
		if u.CacheRead > 0 {
			fmt.Fprintf(&b, ", %d %% of the input cached", view.CachedShare(u))
		}
	}
	b.WriteString(".")
	if t.Calls > 0 {
		if t.Failures > 0 {
			fmt.Fprintf(&b, " %d of %d tool calls failed", t.Failures, t.Calls)
		} else {
			fmt.Fprintf(&b, " None of the %d tool calls failed", t.Calls)
		}
		if t.Denials > 0 {
			b.WriteString(", " + plural(t.Denials, "was", "were") + " denied")
		}
		b.WriteString(".")
	}
	if t.Waited > 0 {
		b.WriteString(" Agents waited " + view.Duration(t.Waited) + " for you.")
	}
	if len(t.Unpriced) > 0 {
		b.WriteString(" No price is known for " + strings.Join(t.Unpriced, ", ") + ".")
	}
	return b.String()
}

// row is a line of a list as a person reads it.
func (l *listed) row() string {
	cells := []string{l.Title, view.Duration(time.Duration(l.DurationMs) * time.Millisecond), "", "", ""}
	if l.Title == "" {
		cells[0] = "untitled"
	}
	if l.Tools > 0 {
		cells[2] = fmt.Sprint(l.Tools)
	}
	if l.ToolFailures > 0 {
		cells[2] += fmt.Sprintf(" %d✗", l.ToolFailures)
	}
	if l.ToolDenials > 0 {
		cells[2] += fmt.Sprintf(" %d⊘", l.ToolDenials)
	}
	if l.Usage != nil {
		cells[3] = view.Tokens(l.Usage.Input + l.Usage.Output)
		if l.Usage.CostUSD != nil {
			cells[4] = view.Dollars(*l.Usage.CostUSD)
		}
	}
	return strings.Join(cells, " | ")
}

const rowsShown = `[...document.querySelectorAll(".task:not(.session)")].map((e) => [".title", ".time", ".tools", ".tokens", ".cost"].map((c) => e.querySelector(c).textContent.trim()).join(" | "))`

// tasks are those that hookspan list --json lists.
func (m *machine) tasks(flags ...string) []listed {
	m.t.Helper()
	return reads[[]listed](m, append([]string{"list", "--json", "-n", "0"}, flags...)...)
}

// TestSumsAreThoseOfTheCommands compares what a person reads in each view, with each
// filter, with hookspan list --json and hookspan stats --json over the recorded sessions.
func TestSumsAreThoseOfTheCommands(t *testing.T) {
	m := newMachine(t)
	s, b := m.page(), open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	for _, f := range []struct {
		query string
		flags []string
	}{
		{"", nil},
		{"agent=cline", []string{"--agent", "cline"}},
		{"agent=claude-code", []string{"--agent", "claude"}},
		{"agent=codex", []string{"--agent", "codex"}},
		{"model=claude-sonnet-4-5-20250929", []string{"--model", "claude-sonnet-4-5-20250929"}},
		{"project=/home/dev/ws", []string{"--project", "/home/dev/ws"}},
		{"tool=read_file", []string{"--tool", "read_file"}},
		{"outcome=failed", []string{"--outcome", "failed"}},
		{"cost=0.01", []string{"--min-cost", "0.01"}},
		{"failed=1", []string{"--failed"}},
		{"denied=1", []string{"--denied"}},
		{"from=2026-11-20&to=2026-11-21", []string{"--since", "2026-11-20", "--until", "2026-11-21"}},
		{"text=login", []string{"--grep", "login"}},
		{"agent=cline&outcome=completed&failed=1", []string{"--agent", "cline", "--outcome", "completed", "--failed"}},
	} {
		stats := reads[summed](m, append([]string{"stats", "--json"}, f.flags...)...)
		list := m.tasks(f.flags...)
		if len(list) == 0 || len(list) != stats.Totals.Traces {
			t.Fatalf("%s: %d listed, sums of %d: the commands differ, or there is nothing to compare", f.query, len(list), stats.Totals.Traces)
		}
		sessions := make(map[string]bool)
		want := make(map[string]int)
		for i := range list {
			sessions[list[i].Session] = true
			want[list[i].row()]++
		}
		b.goTo(s, "/?open=all&"+f.query)
		// A page has a hundred tasks.
		b.wait(fmt.Sprintf(`(document.querySelectorAll('.note button').forEach((e) => e.innerText === 'Show more' && e.click()),
			document.querySelectorAll('.task:not(.session)').length === %d)`, len(list)))
		if got, want := eval[string](b, "document.querySelector('.sum').innerText"), sentence(stats.Totals, len(sessions)); got != want {
			t.Errorf("/?%s:\n%s\nwant\n%s", f.query, got, want)
		}
		for _, row := range eval[[]string](b, rowsShown) {
			if want[row]--; want[row] < 0 {
				t.Errorf("/?%s: %q is not in the list of the command", f.query, row)
			}
		}
		b.goTo(s, "/cost?"+f.query)
		b.wait("document.querySelector('.sum')")
		if got, want := eval[string](b, "document.querySelector('.sum').innerText"), sentence(stats.Totals, 0); got != want {
			t.Errorf("/cost?%s:\n%s\nwant\n%s", f.query, got, want)
		}
		// Some tables come later, and each has its button.
		b.wait(`(document.querySelectorAll(".sums > .more").forEach((e) => e.click()), !document.querySelector(".wait, .sums > .more"))`)
		for title, groups := range map[string][]store.Group{"Models": stats.Sections["model"], "Projects": stats.Sections["project"], "Tools": stats.Sections["tool"]} {
			shown := eval[map[string][]string](b, fmt.Sprintf(`Object.fromEntries([...document.querySelectorAll('[aria-label=%q] tbody tr')].map((e) => [e.querySelector("[title]")?.title ?? e.querySelector("th").innerText, [...e.querySelectorAll("td")].map((x) => x.innerText.trim())]))`, title))
			if len(shown) != len(groups) {
				t.Errorf("/cost?%s: %d lines of %s, want %d", f.query, len(shown), title, len(groups))
			}
			for _, g := range groups {
				if got, want := strings.Join(shown[g.Key], " | "), cells(title, g); got != want {
					t.Errorf("/cost?%s: %s %q: %s, want %s", f.query, title, g.Key, got, want)
				}
			}
		}
		shown := eval[[]string](b, `[...document.querySelectorAll(".column[aria-label*=tokens]")].map((e) => e.ariaLabel.replace(/ tokens .*/, " tokens"))`)
		for i, g := range drawn(stats.Sections["day"]) {
			cost, tokens := 0.0, int64(0)
			if g.Usage != nil {
				if tokens = g.Usage.Input + g.Usage.Output; g.Usage.CostUSD != nil {
					cost = *g.Usage.CostUSD
				}
			}
			if want := fmt.Sprintf("%s: %s, %d tokens", g.Key, view.Dollars(cost), tokens); i >= len(shown) || shown[i] != want {
				t.Errorf("/cost?%s: days %q, want %q as number %d", f.query, shown, want, i)
			}
		}
	}
	// Calls over all tasks.
	for query, flags := range map[string][]string{"": nil, "denied=1": {"--denied"}, "tool=read_file": {"--tool", "read_file"}, "command=npm": {"--command", "npm"}, "slower=1": {"--slower", "1s"}} {
		calls := reads[[]struct{ SpanID string }](m, append([]string{"calls", "--json", "-n", "5000"}, flags...)...)
		b.goTo(s, "/calls?limit=5000&"+query)
		b.wait(fmt.Sprintf("document.querySelectorAll('.call').length === %d && document.querySelector('.sum b')", len(calls)))
		if got, want := eval[string](b, "document.querySelector('.sum b').innerText"), fmt.Sprint(len(calls)); strings.ReplaceAll(got, ",", "") != want || len(calls) == 0 {
			t.Errorf("/calls?%s: %s calls, want %s", query, got, want)
		}
	}
	// Sessions of several turns.
	turns := make(map[string][]listed)
	for _, l := range m.tasks() {
		turns[l.Session] = append(turns[l.Session], l)
	}
	several := 0
	for id, list := range turns {
		if len(list) < 2 {
			continue
		}
		several++
		b.visit("/s/" + url.PathEscape(id))
		b.wait(fmt.Sprintf("document.querySelectorAll('.task').length === %d", len(list)))
		stats := reads[summed](m, "stats", "--json", "--session", id)
		if got, want := eval[string](b, "document.querySelector('.sum').innerText"), sentence(stats.Totals, 0); got != want {
			t.Errorf("/s/%s:\n%s\nwant\n%s", id, got, want)
		}
		counted := 0 // The page draws no line of one request.
		for i := range list {
			if list[i].Usage != nil {
				counted++
			}
		}
		if u := stats.Totals.Usage; counted > 1 && u != nil && u.CostUSD != nil && *u.CostUSD > 0 {
			want := view.Dollars(*u.CostUSD) + " in all"
			if got := eval[string](b, `document.querySelector(".context figcaption")?.innerText ?? ""`); !strings.Contains(got, want) {
				t.Errorf("/s/%s: %q, want %s", id, got, want)
			}
		}
		for i, row := range eval[[]string](b, rowsShown) {
			if want := list[len(list)-1-i].row(); row != want {
				t.Errorf("/s/%s: turn %d is %q, want %q", id, i+1, row, want)
			}
		}
	}
	// The header and the first row of a task.
	for _, l := range m.tasks() {
		if l.Usage == nil || l.Usage.CostUSD == nil {
			continue
		}
		b.visit("/t/" + l.TraceID)
		b.wait(`document.querySelector("#row0") && document.querySelector(".head .facts")`)
		head := eval[string](b, `document.querySelector(".head .facts").innerText`)
		cost := view.Dollars(*l.Usage.CostUSD)
		if row := eval[string](b, `document.querySelector("#row0 .cost").innerText`); row != cost && *l.Usage.CostUSD > 0 || !strings.Contains(head, cost) {
			t.Errorf("/t/%s: %s in the first row, %q in the header, want %s", l.TraceID, row, head, cost)
		}
		if l.Tools > 0 {
			calls := fmt.Sprintf("%d tool call", l.Tools)
			if l.Tools > 1 {
				calls += "s"
			}
			for _, n := range []struct {
				n    int
				word string
			}{{l.ToolFailures, "failed"}, {l.ToolDenials, "denied"}} {
				if n.n > 0 {
					calls += fmt.Sprintf(", %d %s", n.n, n.word)
				}
			}
			if !strings.Contains(strings.ReplaceAll(head, "\n", " "), calls) {
				t.Errorf("/t/%s: %q in the header, want %q", l.TraceID, head, calls)
			}
		}
	}
	// Of Cline's subagents only the usage is known.
	b.goTo(s, "/t/1c29f81801af8ce06428281231111dc1")
	b.wait(`document.querySelector("#row0")`)
	b.keys("j")
	b.shows("own requests $0.1016")
	b.shows("with usage that has no request $0.1356")
	if several < 5 {
		t.Errorf("%d sessions of several turns, want at least 5", several)
	}
	b.faultless(s)
}

// cells is how the view of the cost writes a group.
func cells(title string, g store.Group) string {
	some := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	if title == "Tools" {
		return strings.Join([]string{fmt.Sprint(g.Calls), some(g.Failures), some(g.Denials), view.Duration(g.P50), view.Duration(g.P95), view.Duration(g.Took)}, " | ")
	}
	out := []string{some(g.Traces), "", "", ""}
	if u := g.Usage; u != nil {
		out[1] = view.Tokens(u.Input + u.Output)
		if u.Input > 0 {
			out[2] = fmt.Sprintf("%d %%", view.CachedShare(u))
		}
		if u.CostUSD != nil {
			out[3] = view.Dollars(*u.CostUSD)
		}
	}
	if out[3] == "" && len(g.Unpriced) > 0 {
		out[3] = "no price"
	}
	return strings.Join(out, " | ")
}

// drawn are the days of a chart, which begins 90 days before its end.
func drawn(days []store.Group) []store.Group {
	for len(days) > 0 {
		end, _ := time.Parse(time.DateOnly, days[len(days)-1].Key)
		if days[0].Key >= end.AddDate(0, 0, -89).Format(time.DateOnly) {
			break
		}
		days = days[1:]
	}
	return days
}
