package fault_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/trace"
)

// programsRows replace the copies of the programs that hooks start, while they do.
var programsRows = []proof.Row{{
	Name:  fmt.Sprintf("SIGKILL of installs of two versions in turn, while %d hooks at once start the copies", installHooks),
	Rule:  "every hook starts, answers neutrally and exits with 0; each event is there, whole, once; the next install leaves whole programs of one version",
	Short: 2, Long: 600,
	Run: replacedPrograms,
}}

// installHooks is how many hooks run at any time.
const installHooks = 16

// copied are the programs that an install copies.
var copied = []string{"hookspan", "hook-runner", "cline-hook", "claude-hook"}

func replacedPrograms(t *testing.T, r *proof.Result) {
	if err := trace.Available(); err != nil {
		r.Skip("%v", err)
	}
	w := lab.New(t, "HOOKSPAN_EXPORTERS=store")
	versions := []string{versionOfPrograms(t, ""), versionOfPrograms(t, "a later version")}
	install := func(version int, f *trace.Fault) *trace.Ending {
		t.Helper()
		end, err := trace.Run(trace.Program{
			Path: filepath.Join(versions[version], "hookspan"), Args: []string{"install", "cline"}, Env: w.Environ, Dir: w.Work,
		}, f)
		if err != nil {
			t.Fatal(err)
		}
		if !end.Hit && (end.Code != 0 || end.Hung) {
			r.Break("an undisturbed install: code %d, signal %q, says %s%s", end.Code, end.Signal, end.Stdout, end.Stderr)
		}
		return end
	}
	install(0, nil)
	calls := install(1, nil).Calls
	// Most calls read. Those that change files are as many kills.
	names := slices.DeleteFunc([]string{"renameat", "renameat2", "openat", "write", "fsync", "fchmod", "close", "unlinkat", "flock", "fcntl", "copy_file_range", "sendfile"},
		func(name string) bool { return calls[name] == 0 })

	var sent atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range installHooks {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := int(sent.Add(1))
				if err := startCopy(w, n); err != nil {
					r.Break("hook %d: %v", n, err)
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	killed := 0
	for i := range r.N {
		name := names[rng.IntN(len(names))]
		if install(i%2, &trace.Fault{At: trace.Call{Name: name, N: 1 + rng.IntN(calls[name])}}).Hit {
			killed++
		}
		r.Trial(1)
	}
	install(0, nil) // back to the former version
	close(stop)
	wg.Wait()
	checkCopies(t, r, w, versions[0])
	seen := make(map[int]int)
	for _, rec := range w.Records(t) {
		seen[toolNumber(t, rec.Payload)]++
	}
	for n := 1; n <= int(sent.Load()); n++ {
		if seen[n] != 1 {
			r.Break("event %d is stored %d times", n, seen[n])
		}
	}
	r.Note("%d installs killed, %d hooks", killed, sent.Load())
}

// versionOfPrograms is a folder with the programs, of which each ends with mark.
func versionOfPrograms(t *testing.T, mark string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range copied {
		text, err := os.ReadFile(filepath.Join(lab.Programs, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), append(text, mark...), 0o700) //nolint:gosec // A program.
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func copies(w *lab.World) string { return filepath.Join(w.Home, ".local", "share", "hookspan", "bin") }

// startCopy starts the copy of cline-hook that hooks start, and holds it to its
// promises.
func startCopy(w *lab.World, n int) error {
	cmd := w.Program("cline-hook", "PreToolUse")
	cmd.Path = filepath.Join(copies(w), "cline-hook")
	cmd.Args[0] = cmd.Path
	cmd.Stdin = bytes.NewReader(preToolUse("programs", n))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || out.String() != lab.Neutral || errs.Len() > 0 {
		return fmt.Errorf("%w, answered %q, said %q", err, out.String(), errs.String())
	}
	return nil
}

// checkCopies compares the copies with the programs of a version.
func checkCopies(t *testing.T, r *proof.Result, w *lab.World, version string) {
	t.Helper()
	entries, err := os.ReadDir(copies(w))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case slices.Contains(copied, name):
			got, err := os.ReadFile(filepath.Join(copies(w), name))
			want, werr := os.ReadFile(filepath.Join(version, name))
			if err != nil || werr != nil || !bytes.Equal(got, want) {
				r.Break("%s is not that of the version that was installed last (%v, %v)", name, err, werr)
			}
		case !strings.HasPrefix(name, "programs."):
			r.Break("%s is left", name)
		}
	}
}
