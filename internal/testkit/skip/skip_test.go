package skip_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// recorder is a test that notes how it ended instead of ending.
type recorder struct {
	testing.TB
	skipped, failed bool
}

func (*recorder) Helper()                 {}
func (*recorder) Name() string            { return "TestX/row" }
func (r *recorder) Skip(...any)           { r.skipped = true }
func (r *recorder) Fatalf(string, ...any) { r.failed = true; panic(r) }

func left(t *testing.T, leave func(testing.TB, string, ...any)) (r *recorder) {
	t.Helper()
	r = &recorder{TB: t}
	defer func() {
		if v := recover(); v != nil && v != any(r) {
			panic(v)
		}
	}()
	leave(r, "no %s\nhere", "node")
	return r
}

func TestWhatIsLeftOutIsListed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "skips")
	t.Setenv(skip.Log, file)
	t.Setenv(skip.Require, "")
	for _, leave := range []func(testing.TB, string, ...any){skip.Missing, skip.Elsewhere} {
		if r := left(t, leave); !r.skipped || r.failed {
			t.Errorf("skipped %v, failed %v", r.skipped, r.failed)
		}
	}
	got, err := os.ReadFile(file)
	line := "internal/testkit/skip TestX/row: no node here\n"
	if err != nil || string(got) != line+line {
		t.Errorf("%v, listed:\n%s", err, got)
	}
}

func TestARequiredTestFailsInsteadOfBeingLeftOut(t *testing.T) {
	t.Setenv(skip.Log, "")
	list := filepath.Join(t.TempDir(), "allowed")
	for _, row := range []struct {
		name, require, list string
		fails               bool
	}{
		{"nothing is required", "", "", false},
		{"all are", "all", "", true},
		{"all but others", list, "# a comment\ninternal/testkit/skip TestXY\ninternal/other TestX\n", true},
		{"all but it", list, "internal/testkit/skip TestX\n", false},
		{"all but packages of a pattern", list, "internal/*/skip\n", false},
		{"all but its package", list, "internal/testkit/skip\n", false},
		{"all but this row", list, "internal/testkit/skip TestX/row\n", false},
		{"a list that is not there", list + "x", "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv(skip.Require, row.require)
			if err := os.WriteFile(list, []byte(row.list), 0o600); err != nil {
				t.Fatal(err)
			}
			if r := left(t, skip.Missing); r.failed != row.fails || r.skipped == row.fails {
				t.Errorf("skipped %v, failed %v", r.skipped, r.failed)
			}
			if r := left(t, skip.Elsewhere); r.failed || !r.skipped {
				t.Errorf("what another command runs: skipped %v, failed %v", r.skipped, r.failed)
			}
		})
	}
}
