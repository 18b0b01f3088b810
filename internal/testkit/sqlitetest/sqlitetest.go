// Package sqlitetest runs another SQLite program beside a test.
package sqlitetest

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

const program = `
import sqlite3, sys
for line in sys.stdin:
    c = sqlite3.connect(sys.argv[1], timeout=10)
    try:
        print(*[row[0] for row in c.execute(line)], flush=True)
    except sqlite3.Error as e:
        print("error:", e, flush=True)
    c.close()
`

// Reader starts Python's sqlite3 and returns a function that has it open a database, run
// one query, close the database and print the first column. The test is skipped without
// Python.
func Reader(t testing.TB, path string) func(query string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		skip.Missing(t, "python3, whose sqlite3 module is the other SQLite program, is not installed")
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", program, path) //nolint:gosec // A constant program.
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() })
	lines := bufio.NewReader(out)
	return func(query string) string {
		t.Helper()
		if _, err := io.WriteString(in, strings.Join(strings.Fields(query), " ")+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("python3: %v", err)
		}
		return strings.TrimSpace(line)
	}
}
