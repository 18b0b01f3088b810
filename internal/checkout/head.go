package checkout

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// tick is how much later than the file system's time something may have happened.
const tick = 10 * time.Millisecond

// maxLog is how much of the end of a log of HEAD is read, in bytes.
const maxLog = 64 << 10

// Look is what the files of a worktree say at one moment.
type Look struct {
	Repository hook.Repository
	// Unknown reports that the branch is not known: the folder is gone, as that of a worktree
	// that was removed, or its files of git cannot be read or name nothing that is a branch.
	Unknown bool
	// Git is the worktree's folder of git, which names the worktree; empty without one.
	Git string
	// Moved is when HEAD was written, which happens when it gets another branch, and Logged
	// when the newest entry was added to its log. Both are the file system's times: people and
	// programs give the entries any time.
	Moved, Logged time.Time
	// Log is the end of the log of HEAD, and Size how long the log is.
	Log  string
	Size int64
}

// Note is what is kept of a look, so that the next one can say what happened in between.
type Note struct {
	Git    string    `json:"git"`
	Branch string    `json:"branch,omitempty"`
	Moved  time.Time `json:"moved"`
	// Size is the length of the log, Line a checksum of its last entry.
	Size int64  `json:"size,omitempty"`
	Line string `json:"line,omitempty"`
}

// Call is a command that an agent ran, and that has succeeded.
type Call struct {
	Begun, Ended time.Time
	Command      string
	// Printed are the commits, by the beginnings of their ids, that it says it has made.
	Printed []string
}

// At looks at the worktree that a folder belongs to.
func At(dir string) *Look {
	l := &Look{Unknown: true}
	if !local(dir) {
		return l
	}
	dir = filepath.Clean(dir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return l // a repository around it is another one
	}
	top, git := find(dir)
	l.Unknown = top != ""
	if git == "" {
		return l
	}
	common, main := shared(git)
	top = cmp.Or(main, top)
	if !local(common) || common != git && !ours(common) {
		return l
	}
	head, info, err := regular.ReadStat(filepath.Join(git, "HEAD"), regular.Options{Max: maxHead, NoLink: true})
	if err != nil {
		return l
	}
	config, err := regular.Read(filepath.Join(common, "config"), regular.Options{Max: maxConfig, NoLink: true})
	text := strings.TrimSpace(string(head))
	if text == "" || err != nil {
		return l
	}
	l.Git, l.Moved = git, changed(info)
	ref, named := strings.CutPrefix(text, "ref: ")
	if !named {
		l.Repository.Revision = commit(text)
		ref = cmp.Or(line(filepath.Join(git, "rebase-merge", "head-name")), line(filepath.Join(git, "rebase-apply", "head-name"))) // which the rebase will move
	}
	l.Repository.Branch = branch(ref)
	if named && l.Repository.Branch != "" {
		l.Repository.Revision = revision(common, ref)
	}
	l.Unknown = l.Repository.Branch == "" && l.Repository.Revision == ""
	l.Repository.Name, l.Repository.URL = hook.RepositoryAt(remote(string(config)))
	if l.Repository.Name == "" {
		l.Repository.Name = hook.PlainWord(strings.TrimSuffix(filepath.Base(top), ".git"))
	}
	l.readLog(filepath.Join(git, "logs", "HEAD"))
	return l
}

// readLog reads the end of the log of HEAD. Without one, nothing is known of what was before.
func (l *Look) readLog(path string) {
	f, info, err := regular.Open(path, regular.Options{NoLink: true})
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	end := make([]byte, min(info.Size(), maxLog))
	if _, err := f.ReadAt(end, info.Size()-int64(len(end))); err != nil && err != io.EOF {
		return
	}
	l.Log, l.Size, l.Logged = string(end), info.Size(), changed(info)
}

// branch returns the branch that a reference names, "" if git allows no such name, as of the stub
// that HEAD is where the references are in a table. A name cannot lead out of the folder.
func branch(ref string) string {
	name, ok := strings.CutPrefix(ref, "refs/heads/")
	for part := range strings.SplitSeq(name, "/") {
		ok = ok && part != "" && part[0] != '.' && !strings.HasSuffix(part, ".lock")
	}
	if !ok || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") || strings.ContainsAny(name, " ~^:?*[\\") {
		return ""
	}
	return hook.PlainWord(name)
}

// revision returns the commit that a reference names, "" if that is not in a file.
func revision(common, ref string) string {
	if sum := commit(line(filepath.Join(common, filepath.FromSlash(ref)))); sum != "" {
		return sum
	}
	packed, err := regular.Read(filepath.Join(common, "packed-refs"), regular.Options{Max: maxPacked, NoLink: true})
	if err != nil {
		return ""
	}
	for text := range strings.Lines(string(packed)) {
		if sum, name, _ := strings.Cut(strings.TrimSpace(text), " "); name == ref {
			return commit(sum)
		}
	}
	return ""
}

// maxPacked is the largest file of packed references that is read, in bytes.
const maxPacked = 4 << 20

// commit returns the id of a commit, "" for any other text.
func commit(text string) string {
	if (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == "" {
		return text
	}
	return ""
}

// Note returns what is kept of the look.
func (l *Look) Note() Note { return Note{l.Git, l.Repository.Branch, l.Moved, l.Size, lastLine(l.Log)} }

// lastOf returns the last line of a text, and lastLine a checksum of it.
func lastOf(text string) string {
	text = strings.TrimSuffix(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func lastLine(text string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(lastOf(text))))
}

// stays matches entries that move no branch, by the names of git's commands.
var stays = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(commit|merge|reset|pull|cherry-pick|revert|am|clone|rebase|branch)\b[^:]*:|^$`)
})

// move is an entry of the log that left a branch and reached another, as the entry names it. from
// is empty if no branch was checked out.
type move struct {
	from, to string
	// back reports that the move is to what was checked out before from.
	back bool
	// verbs are the commands of git that make it.
	verbs []string
}

// since returns the moves since a note was taken, or since the repository was made if n is nil.
// A rebase leaves its branch and returns to it. ok is false if the log does not show how the
// present branch was reached.
func (l *Look) since(n *Note) (moves []move, ok bool) {
	const unnamed = "*" // branch that no entry has named yet
	text, branch, last := l.Log, unnamed, ""
	switch start := l.Size - int64(len(text)); {
	case n == nil:
		if start > 0 || !strings.HasPrefix(text, noCommit) {
			return nil, false
		}
	case n.Git != l.Git || n.Size < start || n.Size > l.Size || lastLine(text[:n.Size-start]) != n.Line:
		return nil, false
	default:
		text, branch = text[n.Size-start:], n.Branch
	}
	earlier := l.Log[:len(l.Log)-len(text)]
	_, before, _ := strings.Cut(lastOf(earlier), " ")
	_, left, _ := strings.Cut(earlier[max(0, strings.LastIndex(earlier, moving)):], moving)
	left, _, _ = strings.Cut(left, " ")
	for entry := range strings.Lines(text) {
		was, to, _ := strings.Cut(entry, " ")
		if before != "" && !strings.HasPrefix(before, was+" ") {
			return nil, false // HEAD was written, and its log was not
		}
		before = to
		_, message, _ := strings.Cut(strings.TrimSuffix(entry, "\n"), "\t")
		m, ok := move{}, true
		if what, moved := strings.CutPrefix(message, moving); moved {
			m.from, m.to, ok = strings.Cut(what, " to ")
			m.verbs, m.back, left = []string{"checkout", "switch"}, m.to == left, m.from
		} else if what, renamed := strings.CutPrefix(message, "Branch: renamed refs/heads/"); renamed {
			m.verbs = []string{"branch"}
			m.from, m.to, ok = strings.Cut(what, " to refs/heads/")
			if strings.HasPrefix(entry, noCommit) {
				continue // a renaming has two entries
			}
		} else if _, returned, is := strings.Cut(message, "): returning to refs/heads/"); is {
			m = move{from: returned, to: returned, verbs: []string{"rebase"}}
		} else if stays().MatchString(message) {
			continue
		} else {
			return nil, false
		}
		switch {
		case !ok:
			return nil, false
		case commit(m.from) != "":
			m.from = "" // branch is how the commit was named
		case branch != unnamed && branch != m.from:
			return nil, false
		}
		moves, branch, last = append(moves, m), m.to, entry
	}
	if l.Repository.Branch == "" && !strings.HasSuffix(text, last) {
		return nil, false // HEAD has been written again since
	}
	return moves, branch == l.Repository.Branch || branch == unnamed || l.Repository.Branch == ""
}

// moving begins the message of an entry that a checkout made.
const moving = "checkout: moving from "

// noCommit begins the first entry of a log.
const noCommit = "0000000000000000000000000000000000000000 "

// During returns what was checked out from one time to another before the look, with what an
// earlier note of the worktree, which may be nil, and the commands of that time say. What is in
// doubt is unknown: the order of the log decides, and the times of files, but never those that
// its entries have.
func (l *Look) During(n *Note, begin, end time.Time, calls []Call) (out hook.Checkouts) {
	add := func(at time.Time, branch string, known bool) {
		out = append(out, hook.Checkout{At: at, Repository: hook.Repository{Name: l.Repository.Name, URL: l.Repository.URL, Branch: branch}, Unknown: !known})
	}
	if n != nil && n.Git == l.Git && n.Moved.Before(end) && n.Moved.Add(tick).After(begin) {
		// The branch of the note was reached after the beginning.
		add(begin, "", false)
		begin = n.Moved.Add(tick)
	}
	unmoved := !l.Moved.Add(tick).After(begin)
	var moves []move
	var made []*Call
	if !unmoved {
		moves, made, unmoved = l.moves(n, begin, calls)
	}
	ok := len(moves) > 0
	switch {
	case l.Git == "" || l.Unknown:
		return hook.Checkouts{{At: begin, Repository: l.Repository, Unknown: l.Unknown}}
	case unmoved:
		add(begin, l.Repository.Branch, true)
	case l.Moved.After(end):
		if ok && len(moves) == 1 {
			add(begin, moves[0].from, true)
		} else {
			add(begin, "", false)
		}
		return out
	default:
		if !ok || !l.Moved.After(begin) {
			moves = nil
			add(begin, "", false)
		}
		for i, m := range moves {
			switch {
			case i == 0:
				add(begin, m.from, true)
			case made[i-1] != made[i]:
				add(made[i-1].Begun, "", false)
				add(made[i-1].Ended, m.from, true)
			}
		}
		if len(moves) > 1 {
			add(made[len(moves)-1].Begun, "", false)
		}
		add(l.Moved, "", false)
		add(l.Moved.Add(tick), l.Repository.Branch, true)
	}
	if last := &out[len(out)-1]; !l.Logged.IsZero() && !l.Logged.After(end) && l.Repository.Revision != "" {
		if l.Logged.After(last.At) {
			out = append(out, *last)
			last = &out[len(out)-1]
			last.At = l.Logged
		}
		last.Repository.Revision = l.Repository.Revision
	}
	return out
}

// moves returns the moves since a note, and for each of several the call that made it; none if
// that is in doubt. stayed reports that there are none though HEAD was written, as commits do
// where no branch is checked out.
func (l *Look) moves(n *Note, begin time.Time, calls []Call) (moves []move, made []*Call, stayed bool) {
	moves, ok := l.since(n)
	// If HEAD was written and its log was not, its time is not that of the last move.
	ok = ok && !l.Logged.Add(tick).Before(l.Moved)
	if ok && len(moves) > 1 {
		made, ok = by(slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Begun.Before(begin) }), moves, l.Moved)
	}
	if !ok {
		return nil, nil, false
	}
	return moves, made, len(moves) == 0 && n != nil && n.Branch == "" && l.Repository.Branch == ""
}

// by returns for each move the call that made it. Each must be named by a command of a call, in
// order, and the last be within its call's time: else another program may have made one. ok is
// then false. A command that can fail while its call succeeds has made none.
func by(calls []Call, moves []move, last time.Time) (made []*Call, ok bool) {
	for i := range calls {
		c := &calls[i]
		if strings.ContainsAny(c.Command, "|;\n") {
			continue
		}
		for command := range strings.FieldsFuncSeq(c.Command, func(r rune) bool { return strings.ContainsRune("&()", r) }) {
			if words := strings.Fields(command); len(made) < len(moves) && moves[len(made)].named(words) {
				made = append(made, c)
			}
		}
	}
	if len(made) < len(moves) {
		return nil, false
	}
	c := made[len(made)-1]
	return made, !last.Add(tick).Before(c.Begun) && !last.After(c.Ended)
}

// named reports that the words of a command make the move.
func (m *move) named(words []string) bool {
	return slices.ContainsFunc(m.verbs, func(verb string) bool {
		i := slices.Index(words, verb)
		return i > 0 && (verb == "rebase" || slices.Contains(words[i:], m.to) || m.back && slices.Contains(words[i:], "-"))
	})
}
