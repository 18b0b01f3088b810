package fault_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/powerfs"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// powerRows cut the power of the real programs at drawn moments, and look at
// what a disk may then hold.
var powerRows = []proof.Row{
	powerCut("boundary", "each event stored before the last delivery is there, and each span that counted as delivered"),
	powerCut("always", "each event whose hook has answered is there, and each span that counted as delivered"),
	powerCut("never", "each span that counted as delivered is there"),
}

func powerCut(sync, rule string) proof.Row {
	return proof.Row{
		Name:  "the power fails, HOOKSPAN_SPOOL_SYNC=" + sync,
		Rule:  rule + "; no torn event shows, no later one is harmed, the store is whole",
		Short: 50, Long: 3400,
		Run: func(t *testing.T, r *proof.Result) { cutPower(t, r, sync) },
	}
}

func cutPower(t *testing.T, r *proof.Result, mode string) {
	if out, err := exec.CommandContext(t.Context(), "strace", "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		r.Skip("strace cannot record system calls: %v %.100s", err, out)
	}
	w := recordWork(t, mode)
	scratch := scratchDir(t)
	jobs := make(chan *diskState)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for s := range jobs {
				s.examine(t, r, filepath.Join(scratch, fmt.Sprint(s.number)))
				r.Trial(1)
			}
		})
	}
	w.crashes(t, r.N, scratch, func(s *diskState) { jobs <- s })
	close(jobs)
	wg.Wait()
	r.Note("%d operations on files", len(w.ops))
}

// diskState is what a disk holds after a loss of power, and what it must hold.
type diskState struct {
	number int
	mode   string
	// after describes the moment.
	after string
	tree  powerfs.Tree
	rng   *rand.Rand
	known *knowledge
}

// knowledge is what the outside world knows at a moment. It is not changed once
// it has been handed out.
type knowledge struct {
	// written are all records that were ever written, by their bytes.
	written map[string]bool
	// lasting are the records that must be there, by log; counted are the spans
	// that counted as delivered, by destination.
	lasting map[string][]string
	counted map[string]map[string]bool
}

// crashes plays the work and draws n states of the disk, spread over all moments.
func (w *powerWork) crashes(t *testing.T, n int, scratch string, yield func(*diskState)) {
	fs := powerfs.New(w.home, powerFolders...)
	l := &learner{w: w, scratch: filepath.Join(scratch, "live"), k: &knowledge{
		written: map[string]bool{}, lasting: map[string][]string{}, counted: map[string]map[string]bool{},
	}}
	drawn := 0
	for i, o := range w.ops {
		if err := fs.Apply(o); err != nil {
			t.Fatal(err)
		}
		if err := l.learn(t, fs, o); err != nil {
			t.Fatalf("operation %d, %s: %v", i, o, err)
		}
		for ; drawn < n*(i+1)/len(w.ops); drawn++ {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(drawn))) //nolint:gosec // A repeatable draw.
			yield(&diskState{
				number: drawn, mode: w.sync, after: fmt.Sprintf("operation %d, %s", i, strings.ReplaceAll(o.String(), w.home, "~")),
				tree: fs.Crash(rng), rng: rng, known: l.k,
			})
		}
	}
}

// learner records what the program has acknowledged to others.
type learner struct {
	w       *powerWork
	scratch string
	k       *knowledge
	// told are the records that are not acknowledged yet, in order; before is
	// how many of them there were when the delivery under way began.
	told   []written
	before int
}

type written struct{ log, record string }

func (l *learner) learn(t *testing.T, fs *powerfs.FS, o powerfs.Op) error {
	name := strings.TrimPrefix(o.Path, l.w.home+"/")
	mark := func(prefix string, kind powerfs.Kind) bool { return o.Kind == kind && strings.HasPrefix(name, prefix) }
	switch {
	case o.Kind == powerfs.Write && path.Base(name) == "events.json-seq":
		l.change(func(k *knowledge) { k.written[string(o.Data)] = true })
		l.told = append(l.told, written{name, string(o.Data)})
	case o.Kind == powerfs.Rename && path.Base(name) == "events.json-seq":
		// Every destination has what is in it.
		l.told = slices.DeleteFunc(l.told, func(w written) bool { return w.log == name })
		l.before = len(l.told)
		l.change(func(k *knowledge) { delete(k.lasting, name) })
	case l.w.sync == "always" && (mark(markAnswer, powerfs.Write) || mark(markExited, powerfs.Create)):
		l.promise(len(l.told))
	case mark(markBegins, powerfs.Create):
		l.before = len(l.told)
	case mark(markEnded, powerfs.Create) && l.w.sync != "never":
		l.promise(l.before)
	case o.Kind == powerfs.Rename && path.Base(o.To) == "delivery-store.json":
		return l.count(t, fs, o, "store")
	case o.Kind == powerfs.Rename && path.Base(o.To) == "delivery-file.json":
		return l.count(t, fs, o, "file")
	}
	return nil
}

func (l *learner) promise(n int) {
	l.change(func(k *knowledge) {
		for _, w := range l.told[:n] {
			k.lasting[w.log] = append(slices.Clip(k.lasting[w.log]), w.record)
		}
	})
	l.told, l.before = l.told[n:], max(0, l.before-n)
}

// change replaces the knowledge by a changed copy.
func (l *learner) change(f func(*knowledge)) {
	k := &knowledge{written: maps.Clone(l.k.written), lasting: maps.Clone(l.k.lasting), counted: maps.Clone(l.k.counted)}
	f(k)
	l.k = k
}

// count notes that what a destination has of a session now counts as delivered.
func (l *learner) count(t *testing.T, fs *powerfs.FS, o powerfs.Op, destination string) error {
	tree := fs.Live()
	var st struct{ Session string }
	if err := json.Unmarshal(tree[strings.TrimPrefix(o.To, l.w.home+"/")], &st); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(l.scratch) }()
	if err := materialise(l.scratch, tree); err != nil {
		return err
	}
	ids, err := countedSpans(t, l.scratch, destination, st.Session)
	if err != nil {
		return err
	}
	l.change(func(k *knowledge) {
		all := make(map[string]bool)
		maps.Copy(all, k.counted[destination])
		for id := range ids {
			all[id] = true
		}
		k.counted[destination] = all
	})
	return nil
}

func countedSpans(t *testing.T, home, destination, session string) (map[string]bool, error) {
	if destination == "store" {
		ids, _, err := storedSpans(t.Context(), filepath.Join(home, powerState, "traces.db"), session)
		return ids, err
	}
	return filedSpans(t, filepath.Join(home, powerFile), session)
}

// materialise makes the tree in a folder.
func materialise(dir string, tree powerfs.Tree) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		to := filepath.Join(dir, filepath.FromSlash(name))
		var err error
		if b := tree[name]; b == nil {
			err = os.Mkdir(to, 0o700)
		} else {
			err = os.WriteFile(to, b, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// powerNow is a moment after all that was recorded.
var powerNow = time.Now().Add(2 * time.Hour)
