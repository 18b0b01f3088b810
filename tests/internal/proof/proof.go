package proof

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

var (
	soak    = flag.Bool("soak", false, "make each row's long number of trials")
	publish = flag.Bool("publish", false, "write the table into "+Tables+" and its sums into the documentation")
	only    = flag.String("row", "", "run only the rows whose name holds this")
)

// Soak reports that the long numbers are asked for, for tests beside a table.
func Soak() bool { return *soak }

// Part is the environment variable that takes a part of each table: "change" for
// the rows of "make test", "rest" for those that it leaves out. Without it, all run.
const Part = "TEST_ROWS"

// Row is one way to break a promise.
type Row struct {
	// Name says what is done to the program, Rule what must come of it. Both
	// are in the table.
	Name, Rule string
	// Short and Long are the numbers of trials; a Long of 0 means Short. A row
	// whose number is not known before, such as one for each system call, has a
	// Short of 0 and any number above 0 will do.
	Short, Long int
	// Waits says that the row spends its time waiting, measures nothing of the
	// machine and changes nothing of the process, so that it may run beside others.
	Waits bool
	// Rest says that the row takes long and that few changes can break it: "make test"
	// leaves it to "make test-rest".
	Rest bool
	// Run makes the trials.
	Run func(t *testing.T, r *Result)
}

// Result is what came of a row. Its methods may be called from any number of
// goroutines.
type Result struct {
	// N is the number of trials to make, 0 for as many as there are.
	N int

	t       *testing.T
	mu      sync.Mutex
	trials  int
	broken  int
	notes   []string
	skipped string
}

// Trial counts n trials.
func (r *Result) Trial(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials += n
}

// shown is the maximum number of broken trials of a row that are described.
const shown = 20

// Break says that a trial broke the rule. The row continues.
func (r *Result) Break(format string, args ...any) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken++
	if r.broken <= shown {
		r.t.Errorf(format, args...)
	}
}

// Note adds a figure to the row's line, such as how many doubles were counted.
func (r *Result) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// Skip ends the row because this machine cannot make its trials.
func (r *Result) Skip(format string, args ...any) {
	r.t.Helper()
	r.skip("cannot run here: "+format, args)
	skip.Missing(r.t, format, args...)
}

// Elsewhere ends the row because another command makes its trials.
func (r *Result) Elsewhere(format string, args ...any) {
	r.t.Helper()
	r.skip(format, args)
	skip.Elsewhere(r.t, format, args...)
}

func (r *Result) skip(format string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped = fmt.Sprintf(format, args...)
}

// Run makes every row a subtest, in the table's order. With -publish it saves the
// table and, if all rows were asked for, writes its sums into the part named table of
// the Markdown file doc, a path from the module's root.
func Run(t *testing.T, doc, table string, rows []Row) {
	t.Helper()
	part := os.Getenv(Part)
	if part != "" && part != "change" && part != "rest" {
		t.Fatalf("%s is %q, want change, rest or nothing", Part, part)
	}
	if part == "rest" && !slices.ContainsFunc(rows, func(r Row) bool { return r.Rest }) {
		t.Fatalf("%s is rest, but no row of this table is marked Rest: run it without", Part)
	}
	seen := make(map[string]bool)
	results := make([]*Result, len(rows))
	for i := range rows {
		row := &rows[i]
		if seen[row.Name] {
			t.Fatalf("two rows are named %q", row.Name)
		}
		seen[row.Name] = true
		results[i] = &Result{}
		if !strings.Contains(row.Name, *only) || part != "" && row.Rest != (part == "rest") {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			if row.Waits {
				t.Parallel()
			}
			results[i].run(t, row)
		})
	}
	if *publish {
		// After the rows that run beside one another.
		t.Cleanup(func() {
			old, err := os.ReadFile(path(root, table))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			text := render(rows, results, string(old), time.Now().UTC().Format(time.DateOnly))
			err = Save(root, table, text)
			if err == nil && *only == "" && part == "" {
				err = PublishAt(root, doc, table, sums(text))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func (r *Result) run(t *testing.T, row *Row) {
	r.t, r.N = t, row.Short
	if *soak && row.Long > 0 {
		r.N = row.Long
	}
	row.Run(t, r)
	switch {
	case r.trials == 0:
		t.Error("no trial was made")
	case r.trials < r.N:
		t.Errorf("%d trials were made, want %d", r.trials, r.N)
	}
	if r.broken > shown {
		t.Errorf("and %d more", r.broken-shown)
	}
	line := fmt.Sprintf("%d trials, %d broken", r.trials, r.broken)
	if len(r.notes) > 0 {
		line += "; " + strings.Join(r.notes, "; ")
	}
	t.Log(line)
}

const tableHead = "| What is done | What must hold | Run | Trials | Broken | |\n|---|---|---|--:|--:|---|\n"

// render is the table in Markdown. Of a row that was not run this time, the line
// of the old table stays: the long form of all of them takes more than an hour.
func render(rows []Row, results []*Result, old, day string) string {
	kept := make(map[string]string)
	for line := range strings.Lines(old) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && strings.HasPrefix(line, "| ") {
			kept[name] = line
		}
	}
	kind := "short"
	if *soak {
		kind = "long"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Last run on %s, %s, %s\n\n", day, Machine(), runtime.Version())
	b.WriteString(tableHead)
	for i, row := range rows {
		r := results[i]
		switch {
		case r.skipped != "":
			fmt.Fprintf(&b, "| %s | %s | not run | | | %s |\n", row.Name, row.Rule, r.skipped)
		case r.trials > 0:
			fmt.Fprintf(&b, "| %s | %s | %s, %s | %s | %d | %s |\n", row.Name, row.Rule, kind, day, thousands(r.trials), r.broken, strings.Join(r.notes, "; "))
		case kept[row.Name] != "":
			b.WriteString(kept[row.Name])
		default:
			fmt.Fprintf(&b, "| %s | %s | not run yet | | | |\n", row.Name, row.Rule)
		}
	}
	return b.String()
}

// thousands writes a number with a comma for each three digits.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// root is the module's folder, seen from a test's package two levels below it.
const root = "../.."

// Tables is the folder of the whole tables, seen from the module's. It is not committed.
const Tables = "dist/results"

func path(root, name string) string {
	return filepath.Join(root, filepath.FromSlash(Tables), name+".md")
}

// Save writes a whole table. root is the module's folder.
func Save(root, name, text string) error {
	if err := os.MkdirAll(filepath.Dir(path(root, name)), 0o755); err != nil { //nolint:gosec // As the rest of dist/.
		return err
	}
	return os.WriteFile(path(root, name), []byte(text), 0o644) //nolint:gosec // As the rest of dist/.
}

// sums is what a page has of a table: its first line, and how many rows were run,
// trials made and rules broken.
func sums(table string) string {
	head, lines, _ := strings.Cut(table, tableHead)
	var rows, run, trials, broken int
	for line := range strings.Lines(lines) {
		rows++
		cells := strings.Split(line, " | ")
		if len(cells) < 5 {
			continue
		}
		n, err := strconv.Atoi(strings.ReplaceAll(cells[3], ",", ""))
		if err != nil {
			continue
		}
		b, err := strconv.Atoi(cells[4])
		if err != nil {
			continue
		}
		run, trials, broken = run+1, trials+n, broken+b
	}
	return fmt.Sprintf("%s: %d of %d rows, %s trials, %d broken.", strings.TrimSpace(head), run, rows, thousands(trials), broken)
}

// PublishAt replaces the part of a Markdown file between the lines
// "<!-- begin NAME -->" and "<!-- end NAME -->". root is the module's folder.
func PublishAt(root, doc, name, body string) error {
	file := filepath.Join(root, filepath.FromSlash(doc))
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := replace(string(old), name, body)
	if err != nil {
		return fmt.Errorf("%s: %w", doc, err)
	}
	return os.WriteFile(file, []byte(text), 0o644) //nolint:gosec // A page that everybody reads.
}

func replace(text, name, body string) (string, error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
	head, rest, found := strings.Cut(text, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("no part between %q and %q to write the results into", strings.TrimSpace(begin), end)
	}
	return head + begin + "\n" + strings.TrimSpace(body) + "\n\n" + end + tail, nil
}
