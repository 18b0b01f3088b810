package codex

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// shelf is what the files of all threads are of. Each part is found when it is first asked
// for, and once for all sessions if the files remember.
type shelf struct {
	ctx context.Context //nolint:containedctx // of the readings below
	f   *transcript.Files
	// paths are the files of each thread.
	paths map[string][]string
	// heads are the beginnings of all files.
	heads func() heads
	// read are the turns of a file, copies the first copies of a thread's turns.
	read   map[string]map[string]bool
	copies map[string]map[string]thread
}

// heads are the beginnings of files: of the threads that each thread started or is the session
// of, and of those that have its rows.
type heads struct {
	started, forks map[string][]head
	// parents are the parents of the files' threads, infos the files, by path.
	parents map[string]string
	infos   map[string]os.FileInfo
}

// head is the beginning of a file.
type head struct {
	path string
	history
}

// What a shelf recalls.
type (
	filesOf    string
	allPaths   struct{}
	allHeads   struct{}
	turnsIn    string
	copiesFrom string
)

func shelfOf(ctx context.Context, f *transcript.Files) *shelf {
	s := &shelf{ctx: context.WithoutCancel(ctx), f: f, read: make(map[string]map[string]bool), copies: make(map[string]map[string]thread)}
	s.paths = transcript.Recall(f, allPaths{}, func(f *transcript.Files) map[string][]string {
		paths := make(map[string][]string)
		for _, dir := range days(f.Roots(hook.HostCodex)) {
			for id, files := range byThread(dir) {
				paths[id] = append(paths[id], files...)
			}
		}
		return paths
	})
	s.heads = sync.OnceValue(func() heads { return transcript.Recall(f, allHeads{}, s.readHeads) })
	return s
}

func (s *shelf) readHeads(f *transcript.Files) heads {
	all := heads{make(map[string][]head), make(map[string][]head), make(map[string]string), make(map[string]os.FileInfo)}
	for id, paths := range s.paths {
		for _, path := range paths {
			says, info := f.Fact(path, func() ([]string, error) {
				h, err := headOf(s.ctx, f, path, false) // a file that cannot be read is reported when it is imported
				return h.fact(), err
			})
			h := historyOf(says)
			all.parents[path], all.infos[path] = h.parent, info
			for i, by := range [...]string{h.spawner, h.parent} {
				if by != "" && by != id && (i == 0 || by != h.spawner) {
					all.started[by] = append(all.started[by], head{path, h})
				}
			}
			for _, t := range h.from {
				all.forks[t.id] = append(all.forks[t.id], head{path, h})
			}
		}
	}
	return all
}

// related are the files that may say something of a file's session, by path: those of all threads
// that are joined by starts and copies.
func (s *shelf) related() map[string][]string {
	first := make(map[string]string) // of each thread, one that it is joined with
	of := func(id string) string {
		for first[id] != "" {
			id = first[id]
		}
		return id
	}
	join := func(x, y string) {
		if x, y = of(x), of(y); x != y && x != "" && y != "" {
			first[x] = y
		}
	}
	for _, joined := range [...]map[string][]head{s.heads().started, s.heads().forks} {
		for id, heads := range joined {
			for _, h := range heads {
				name, _ := idOf(filepath.Base(h.path))
				join(h.self.id, name)
				join(id, name)
			}
		}
	}
	groups := make(map[string][]string)
	for id, paths := range s.paths {
		groups[of(id)] = append(groups[of(id)], paths...)
	}
	related := make(map[string][]string)
	for _, paths := range groups {
		slices.Sort(paths)
		for _, path := range paths {
			related[path] = paths
		}
	}
	return related
}

// subagents are those that a thread started, or of which it is the session, in the order of
// their births.
func (s *shelf) subagents(thread string) []head {
	return slices.SortedFunc(slices.Values(s.heads().started[thread]), func(a, b head) int {
		if a.self.before(b.self) {
			return -1
		}
		return 1
	})
}

// turns are the turns of which a file has the begin.
func (s *shelf) turns(path string) map[string]bool {
	found := s.read[path]
	if found == nil {
		found = transcript.Recall(s.f, turnsIn(path), func(f *transcript.Files) map[string]bool {
			var r row
			all := make(map[string]bool)
			_ = eachRow(s.ctx, f, path, transcript.LinesOf(&r), 0, func(line []byte) bool { // as for heads
				if bytes.Contains(line, []byte(taskStarted)) && r.Parse(line) && r.Opens() {
					all[r.payload.Text("turn_id")] = true
				}
				return true
			})
			return all
		})
		s.read[path] = found
	}
	return found
}

// firstCopy is the first thread that has a copy of a thread's turn, of any if the turn is empty.
func (s *shelf) firstCopy(of, turn string) (first thread, ok bool) {
	found := s.copies[of]
	if found == nil {
		found = transcript.Recall(s.f, copiesFrom(of), func(*transcript.Files) map[string]thread {
			all := make(map[string]thread)
			see := func(turn string, t thread) {
				if first, known := all[turn]; !known || t.before(first) {
					all[turn] = t
				}
			}
			for _, h := range s.heads().forks[of] {
				see("", h.self)
				for turn := range s.turns(h.path) {
					see(turn, h.self)
				}
			}
			return all
		})
		s.copies[of] = found
	}
	first, ok = found[turn]
	return first, ok
}

// byThread lists the files in a folder.
func byThread(dir string) map[string][]string {
	files := make(map[string][]string)
	for _, name := range rollouts(dir) {
		id, _ := idOf(name)
		files[id] = append(files[id], filepath.Join(dir, name))
	}
	return files
}
