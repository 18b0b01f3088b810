package agentfiles

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// Env is where agents' files are looked for. If Getenv is nil, there are no variables.
type Env struct {
	Home   string
	Getenv func(string) string
}

// Reading is what an agent's files say, the sessions by their ids.
type Reading struct {
	Sessions map[string]*Session
	// Unread is what is no row, in the order of the files.
	Unread []Unread
	// Unknown are the rows, items and parts of kinds that are not known, by their kinds.
	Unknown []Unknown
	// About are the sessions and threads that the files that were read are about, notes those of each.
	About map[string]bool
	notes Notes
}

// Lacks is what an agent's hooks report and its files lack.
type Lacks struct {
	// UnnamedCalls are calls without an id that did not end, ScriptCalls those that a script makes,
	// CutTurns turns that are cut off before their first answer, or during a call. EarlyFailures
	// are those of turns before their first request, RemovedFailures the last requests of turns that failed,
	// without a text or a call, once the user went on.
	UnnamedCalls, ScriptCalls, CutTurns, EarlyFailures, RemovedFailures bool
}

// LacksOf returns what the files of an agent lack.
func LacksOf(host string) Lacks { return forms[host].lacks }

// Session is what the files say of one session, and of its subagents.
type Session struct {
	Requests map[string]*Request
	// Calls may have an id several times: some models count those of each answer anew.
	Calls   []*Call
	Prompts []*Prompt
	// Results are the ids of results without a call.
	Results map[string]bool
	// Turns are what the prompts and the host's own words began.
	Turns []*Turn
	// Files are those with rows of it, Began and Ended the times of the first and the last row.
	Files        []string
	Began, Ended time.Time
	// Unsummed reports that the files say less in sum than by their answers, so that tokens are
	// not compared, Left that something of it was left to another session.
	Unsummed, Left bool

	// prompts are the keys of these, calls are by their ids, rank is the highest of the rows with
	// requests and of those with prompts, and copied reports rows that say that they are copies.
	prompts map[string]bool
	calls   map[string][]*Call
	rank    [2]int
	copied  bool
}

// Fact is what requests, calls, prompts and turns have in common. Requests and calls have an ID.
type Fact struct {
	ID, File string
	At       time.Time
	// Line is the number of the row, from 1.
	Line int
	// Agent is the id of the subagent whose it is, empty for the main agent. Dir is the folder
	// that it worked in, EndDir that of the result of a call or of a turn's last row, both empty
	// where rows do not say.
	Agent, Dir, EndDir string
	// copied reports that the row says that it is a copy, sub that a subagent's file has it, and short
	// that its id may be that of other calls. of is the session that it is left to.
	copied, sub, short bool
	of                 string
}

// Request is a request to a model. Input includes what was read from the cache and written to it;
// Bare is the input as the file has it, if it does not say whether the cache is included, else the same. Failed
// reports an answer that is an error. Cost is in US dollars, nil where the files have none. Given is the
// id of an answer to which the model gave that of another, as some do that draw them at random.
type Request struct {
	Fact
	Model, Given                               string
	Input, Bare, Output, CacheRead, CacheWrite int64
	Cost                                       *float64
	// final reports that the counts are of the whole response; those of its first rows may be guessed.
	Failed, final bool
}

// Call is a call of a tool, which Name names as the model does. Unnamed reports that the id is not
// the agent's. If it is Answered, Status is what the result says and Done the time of that; it is
// Hidden if nothing is recorded in its folder.
type Call struct {
	Fact
	nth                       int // of those with its id
	Name                      string
	Answered, Unnamed, Hidden bool
	Status                    Status
	Done                      time.Time
}

// Status is what a result says of its call. Of two results of a call the greater counts.
type Status uint8

// The statuses: Bad is that of a call that failed or was denied, where the files do not say which,
// Unstated that of one of which words alone may say it.
const (
	Unstated Status = iota
	OK
	Bad
	Failed
	Denied
)

// statusIf is OK, or that of a call that failed.
func statusIf(failed bool) Status {
	if failed {
		return Failed
	}
	return OK
}

// Prompt is a prompt that a person typed, of which Text may be a part.
type Prompt struct {
	Fact
	Text, key string
}

// Turn is what a prompt, or the host itself, began. Answered reports that an answer in text, or an
// error, ended it, and Failed that this is an error. Of one without such an end, Cut reports that
// the user interrupted it, and Unclear that the files do not say how it ended. Last is the time of
// its last row, Work the number of its requests and calls.
type Turn struct {
	Fact
	Answered, Failed, Cut, Unclear bool
	Last                           time.Time
	key                            string
	Work                           int
	Breaks                         []Break
	ended                          bool // by a row that says so
}

// Break is the time between an end of a turn and the row with which it continued.
type Break struct{ From, To time.Time }

// Asked reports that a prompt of a person began it.
func (t *Turn) Asked() bool { return t.key != "" }

// Unknown is a kind of row, item or part that the reading does not know.
type Unknown struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	// Counts reports that one has tokens, the id of a call or a role: it may be work.
	Counts bool `json:"counts,omitempty"`
	// File is the first with one.
	File string `json:"file"`
}

func (u Unknown) String() string {
	text := fmt.Sprintf("%d of the unknown kind %s, first in %s", u.Count, u.Kind, filepath.Base(u.File))
	if u.Counts {
		text += ", which may be work"
	}
	return text
}

// Unread is a line, or a whole file if Line is zero, that was not read.
type Unread struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Reason string `json:"reason"`
	// Part reports that no whole row was lost but what a killed writer had begun, that the line is
	// JSON of another kind, or that it is a single value of a database.
	Part bool `json:"part,omitempty"`
	// Session is the session whose file it is, where that is known.
	Session string `json:"session,omitempty"`
}

func (u Unread) String() string {
	if u.Line > 0 {
		return fmt.Sprintf("%s, line %d: %s", u.File, u.Line, u.Reason)
	}
	return u.File + ": " + u.Reason
}

// form is how one agent keeps its files.
type form struct {
	// folders are the patterns of the folders that hold its files, each below a home or a variable,
	// which may also end in the value of one.
	folders string
	// open prepares for a file and returns what takes a row of it.
	open func(*file) func(line []byte)
	// whole reads a file that is not lines; if nil, such a file is one row.
	whole func(context.Context, *file) error
	lacks Lacks
}

var forms = map[string]form{
	hook.HostClaude: {folders: "$CLAUDE_CONFIG_DIR/projects ~/.claude/projects ~/.config/claude/projects", open: openClaude},
	hook.HostCodex: {
		folders: "$CODEX_HOME/sessions ~/.codex/sessions $CODEX_HOME/archived_sessions ~/.codex/archived_sessions",
		open:    openCodex, lacks: Lacks{ScriptCalls: true},
	},
	hook.HostCopilot: {folders: "$COPILOT_HOME/session-state ~/.copilot/session-state", open: openCopilot},
	hook.HostGemini:  {folders: "$GEMINI_CLI_HOME/.gemini/tmp ~/.gemini/tmp", open: openGemini, lacks: Lacks{UnnamedCalls: true, CutTurns: true}},
	hook.HostKimi:    {folders: "$KIMI_CODE_HOME/sessions ~/.kimi-code/sessions", open: openKimi},
	hook.HostQwen: {
		folders: "$QWEN_RUNTIME_DIR/projects $QWEN_HOME/projects ~/.qwen/projects $QWEN_RUNTIME_DIR/tmp $QWEN_HOME/tmp ~/.qwen/tmp",
		open:    openQwen,
	},
	hook.HostCline: { // its own, and those of each editor and of each server of an editor
		folders: "$CLINE_DIR/data/tasks ~/.cline/data/tasks $CLINE_DIR/data/sessions ~/.cline/data/sessions $CLINE_SESSION_DATA_DIR $CLINE_DATA_DIR/sessions " +
			editors("$XDG_CONFIG_HOME/*", "$APPDATA/*", "~/.config/*", "~/Library/Application?Support/*", "~/AppData/Roaming/*", "~/.var/app/*/config/*",
				"$VSCODE_PORTABLE/user-data", "$VSCODE_AGENT_FOLDER/data", "~/.*-server*/data", "~/.local/share/code-server", "$XDG_DATA_HOME/code-server"),
		open: openCline, lacks: Lacks{UnnamedCalls: true},
	},
	hook.HostOpencode: {folders: "$XDG_DATA_HOME/opencode ~/.local/share/opencode $OPENCODE_DB $XDG_DATA_HOME/opencode/$OPENCODE_DB ~/.local/share/opencode/$OPENCODE_DB", whole: readOpencode, lacks: Lacks{EarlyFailures: true}},
	hook.HostPi:       {folders: "$PI_CODING_AGENT_SESSION_DIR $PI_CODING_AGENT_DIR/sessions ~/.pi/agent/sessions", open: openPi},
	hook.HostKilo:     {folders: "$XDG_DATA_HOME/kilo ~/.local/share/kilo $KILO_DB $XDG_DATA_HOME/kilo/$KILO_DB ~/.local/share/kilo/$KILO_DB", whole: readOpencode, lacks: Lacks{RemovedFailures: true}},
}

// editors are the patterns of the tasks of Cline in the storage of editors.
func editors(folders ...string) string {
	const tasks = "/User/globalStorage/saoudrizwan.c*/tasks "
	return strings.Join(folders, tasks) + tasks
}

//go:embed kinds.txt
var kindList string

// kinds are those of the list, each with its place.
var kinds = sync.OnceValue(func() map[[2]string]bool {
	known, place := make(map[[2]string]bool), ""
	for line := range strings.Lines(kindList) {
		if name, rest, found := strings.Cut(line, ":"); found {
			place, line = name, rest
		}
		for kind := range strings.FieldsSeq(line) {
			known[[2]string{place, kind}] = true
		}
	}
	return known
})

// places lists the folders of patterns.
func (e Env) places(patterns string) (folders []string) {
	value := func(name string) string {
		switch {
		case name == "~":
			return e.Home
		case e.Getenv != nil:
			return e.Getenv(name[1:])
		}
		return ""
	}
	for pattern := range strings.FieldsSeq(patterns) {
		name, rest, _ := strings.Cut(pattern, "/")
		base := value(name)
		if folder, variable, ok := strings.Cut(rest, "$"); ok {
			rest = folder + value("$"+variable)
		}
		found := []string{rest}
		if strings.ContainsAny(rest, "*?") {
			found, _ = fs.Glob(os.DirFS(base), rest) // the pattern is good
		}
		for _, path := range found {
			if base != "" {
				folders = append(folders, filepath.Join(base, filepath.FromSlash(path)))
			}
		}
	}
	return folders
}

// Reads reports that the files of an agent can be read.
func Reads(host string) bool { return forms[host].folders != "" }

// Limits of what is read, in bytes: of a row, of a file that is one value, and of one of rows.
const (
	maxLine, maxWhole, maxLines = 64 << 20, 512 << 20, 1 << 30
	// maxWindow is the memory that a compressed file may ask for, maxRatio how many times as
	// long as the file its rows may be, after the first minUnpacked bytes.
	maxWindow, maxRatio, minUnpacked = 32 << 20, 200, 16 << 20
)

// Files are the files of an agent, as they were found.
type Files struct {
	form
	all []found
	// unread is what cannot be listed.
	unread []Unread
}

type found struct {
	path string
	size int64
	at   time.Time
}

// Find lists the files of an agent. The error is that the agent is not known.
func Find(ctx context.Context, host string, env Env) (*Files, error) {
	f, ok := forms[host]
	if !ok {
		return nil, fmt.Errorf("the files of %q: want those of one of %s", host, strings.Join(slices.Sorted(maps.Keys(forms)), ", "))
	}
	out := &Files{form: f}
	seen := make(map[string]bool) // folders and files, by what links lead to
	var walk func(path string, mode fs.FileMode, named bool)
	walk = func(path string, mode fs.FileMode, named bool) {
		real := path
		if mode&fs.ModeSymlink != 0 {
			real, _ = filepath.EvalSymlinks(path) // empty for a link that leads nowhere
		}
		switch {
		case real == "" || seen[real] || ctx.Err() != nil:
		case mode.IsDir() || mode&fs.ModeSymlink != 0 && is(real, true):
			seen[real] = true
			entries, err := os.ReadDir(real)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				out.unread = append(out.unread, Unread{File: real, Reason: "cannot be listed"})
			}
			for _, e := range entries {
				walk(filepath.Join(real, e.Name()), e.Type(), false)
			}
		case named || mode&^fs.ModeSymlink == 0 && takes(f, path):
			seen[real] = true
			size, when := written(path)
			out.all = append(out.all, found{path, size, when})
		}
	}
	for _, folder := range env.places(f.folders) {
		real, err := filepath.EvalSymlinks(folder)
		if err == nil && filepath.IsAbs(folder) {
			walk(real, map[bool]fs.FileMode{true: fs.ModeDir}[is(real, true)], true)
		}
	}
	slices.SortFunc(out.all, func(x, y found) int { return cmp.Compare(x.path, y.path) })
	return out, nil
}

// written returns the size and the time of a file, and of a log that a database has beside it.
func written(path string) (size int64, at time.Time) {
	places := []string{path}
	if strings.HasSuffix(path, ".db") {
		places = append(places, logOf(path))
	}
	for _, p := range places {
		if info, err := os.Stat(p); err == nil {
			size += info.Size()
			if info.ModTime().After(at) {
				at = info.ModTime()
			}
		}
	}
	return size, at
}

// Read reads all files of an agent.
func Read(ctx context.Context, host string, env Env) (*Reading, error) {
	files, err := Find(ctx, host, env)
	if err != nil {
		return nil, err
	}
	return files.Read(ctx, nil, time.Time{}, nil)
}

// Read reads the files that have changed since they were noted, those of some sessions, and those
// that may have something of the same sessions: all without notes. Files without a note that
// were written before a time are left out. Files that cannot be read are among what was not.
// The error is the context's.
func (l *Files) Read(ctx context.Context, notes Notes, since time.Time, sessions []string) (*Reading, error) {
	out := &Reading{Sessions: make(map[string]*Session), Unread: slices.Clone(l.unread), About: make(map[string]bool), notes: make(Notes)}
	var chosen []found
	of := make(map[string][]found) // files by the sessions that they were noted to be of
	changed := maps.Clone(notes)   // or removed
	for _, f := range l.all {
		held := notes.hold(f)
		if !held && !f.at.Before(since) || notes[f.path].Again {
			chosen = append(chosen, f)
		}
		if held {
			delete(changed, f.path)
		}
		for _, id := range notes[f.path].Of {
			of[id] = append(of[id], f)
		}
	}
	for _, n := range changed {
		sessions = append(sessions, n.Of...)
	}
	var files []*file
	for len(chosen)+len(sessions) > 0 {
		for _, id := range sessions {
			chosen = append(chosen, of[id]...)
			delete(of, id)
		}
		sessions = nil
		for _, r := range l.read(ctx, out.notes, chosen) {
			note := r.note()
			files, out.notes[r.path] = append(files, r), note
			for _, id := range note.Of {
				if !out.About[id] {
					out.About[id], sessions = true, append(sessions, id)
				}
			}
		}
		chosen = nil
	}
	slices.SortFunc(files, func(x, y *file) int { return cmp.Compare(x.path, y.path) })
	out.join(files)
	return out, ctx.Err()
}

// read reads files, each once and those not that were read.
func (l *Files) read(ctx context.Context, read Notes, all []found) []*file {
	slices.SortFunc(all, func(x, y found) int { return cmp.Compare(x.path, y.path) })
	all = slices.DeleteFunc(slices.Compact(all), func(f found) bool {
		_, known := read[f.path]
		return known
	})
	files := make([]*file, len(all))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			buffer := &lineBuffer{in: bufio.NewReaderSize(nil, 256<<10)}
			for i := range next {
				files[i] = readFile(ctx, l.form, all[i].path, buffer)
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wg.Wait()
	return files
}

// join takes what files say together.
func (out *Reading) join(files []*file) {
	kinds := make(map[string]Unknown)
	adopt(files)
	for _, file := range files {
		out.Unread = append(out.Unread, file.unread...)
		for _, u := range file.unknown {
			have := kinds[u.Kind]
			kinds[u.Kind] = Unknown{u.Kind, have.Count + 1, have.Counts || u.Counts, cmp.Or(have.File, u.File)}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		out.Unknown = append(out.Unknown, kinds[kind])
	}
	out.gather(files)
}

// takes reports a file that may hold rows.
func takes(f form, path string) bool {
	name := filepath.Base(path)
	if f.whole != nil {
		database := strings.HasPrefix(name, "opencode") || strings.HasPrefix(name, "kilo")
		return database && filepath.Ext(name) == ".db" || filepath.Ext(name) == ".json"
	}
	return slices.Contains([]string{".jsonl", ".json", ".zst"}, filepath.Ext(name)) && !strings.HasSuffix(name, ".meta.json")
}

// fileName is the name of a file up to its first dot.
func fileName(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

// timeOf reads a time in RFC 3339.
func timeOf(text string) time.Time {
	at, _ := time.Parse(time.RFC3339, text) // zero without one
	return at
}

// is reports that there is a folder, or that there is a file.
func is(path string, folder bool) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() == folder
}
