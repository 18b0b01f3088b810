package second

import (
	"bufio"
	"context"
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
)

// Env is where agents' files are looked for.
type Env struct {
	Home   string
	Getenv func(string) string
}

// EnvOf returns an Env whose variables are none if getenv is nil.
func EnvOf(home string, getenv func(string) string) Env {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	return Env{home, getenv}
}

// Reading is what an agent's files say, the sessions by their ids.
type Reading struct {
	Sessions map[string]*Session
	// Unread is what is no row, in the order of the files.
	Unread []Unread
	// Lacks is what the files never have.
	Lacks Lacks
}

// Lacks is what an agent's hooks report and its files lack.
type Lacks struct {
	// UnnamedCalls are calls without an id, of which the files may lack one that did not end,
	// ScriptCalls those that a script makes.
	UnnamedCalls, ScriptCalls bool
	// FailureMarks are marks of calls that failed: some are told in words alone.
	FailureMarks bool
	// CutTurns are turns that are cut off before their first answer, or during a call.
	CutTurns bool
}

// LacksOf returns what the files of an agent lack.
func LacksOf(host string) Lacks { return forms[host].lacks }

// Session is what the files say of one session, and of its subagents.
type Session struct {
	Requests map[string]*Request
	Calls    map[string]*Call
	Prompts  []Prompt
	// Results are the ids of results without a call.
	Results map[string]bool
	// Turns are what the prompts and the host's own words began.
	Turns []*Turn
	// Files are those with rows of the session, Began and Ended are the times of the first
	// and the last of these.
	Files        []string
	Began, Ended time.Time

	prompts map[string]bool
	rank    [2]int
	// own reports a file of the session's own, copied that rows say that they are copies, and
	// holders are the sessions in whose files it is.
	own     bool
	copied  bool
	holders []string
}

// Fact is what requests, calls and prompts have in common: the file with it, and when it
// was written.
type Fact struct {
	File string
	At   time.Time
	// Held are the sessions in whose files it is as well.
	Held []string
	// Line is the number of the row, from 1.
	Line int
	// copied reports that the row says that it is a copy, sub that a subagent's file has it.
	copied, sub bool
}

// Request is a request to a model. Input includes what was read from the cache and
// written to it; Bare is the count as it stands where the file does not say whether it
// does, else the same.
type Request struct {
	Fact
	Model                                      string
	Input, Bare, Output, CacheRead, CacheWrite int64
}

// Call is a call of a tool.
type Call struct {
	Fact
	// Answered reports that there is a result, Failed that it is an error. Unnamed reports that
	// the id is not the agent's.
	Answered, Failed, Unnamed bool
	// Times counts the calls of one session that have this id, more than one where ids are
	// short and agents have their own.
	Times int
}

// Prompt is a prompt that a person typed.
type Prompt struct {
	Fact
	key string
}

// Turn is what a prompt began: whether an answer in text, or an error, ended it, and whether
// the user interrupted it after all answers.
type Turn struct {
	Fact
	Answered, Cut bool
	key           string
}

// Unread is a line, or a whole file if Line is zero, that was not read.
type Unread struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Reason string `json:"reason"`
	// Session is the session whose file it is, where that is known.
	Session string `json:"session,omitempty"`
}

// String names the place and the reason.
func (u Unread) String() string {
	if u.Line > 0 {
		return fmt.Sprintf("%s, line %d: %s", u.File, u.Line, u.Reason)
	}
	return u.File + ": " + u.Reason
}

// form is how one agent keeps its files.
type form struct {
	// folders lists the folders that hold its files.
	folders func(Env) []string
	// open prepares for a file and returns what takes a row of it.
	open func(*file) func(line []byte)
	// whole reads a file that is not lines; if nil, such a file is one row.
	whole func(context.Context, *file) error
	lacks Lacks
}

var forms = map[string]form{
	"claude-code": {folders: claudeFolders, open: openClaude},
	"codex":       {folders: codexFolders, open: openCodex, lacks: Lacks{ScriptCalls: true, FailureMarks: true}},
	"copilot-cli": {folders: copilotFolders, open: openCopilot},
	"gemini-cli":  {folders: geminiFolders, open: openGemini, lacks: Lacks{UnnamedCalls: true, FailureMarks: true, CutTurns: true}},
	"qwen-code":   {folders: qwenFolders, open: openQwen},
	"cline":       {folders: clineFolders, open: openCline, lacks: Lacks{UnnamedCalls: true, FailureMarks: true}},
	"opencode":    {folders: opencodeFolders, whole: readOpencode},
}

// Limits of what is read: of a row, and of a file that is one value.
const (
	maxLine  = 64 << 20
	maxWhole = 512 << 20
	// maxLines is the size of the largest file of rows, in bytes.
	maxLines = 1 << 30
	// maxWindow is the memory that a compressed file may ask for, maxRatio how many times as
	// long as the file its rows may be, after the first minUnpacked bytes.
	maxWindow, maxRatio, minUnpacked = 32 << 20, 200, 16 << 20
	// maxTries is how many places of a torn line are tried as the begin of a row.
	maxTries = 64
)

// Read reads all files of an agent. Files that cannot be read are among what was not.
// The error is the context's, or that the agent is not known.
func Read(ctx context.Context, host string, env Env) (*Reading, error) {
	f, ok := forms[host]
	if !ok {
		return nil, fmt.Errorf("the files of %q: want those of one of %s", host, strings.Join(slices.Sorted(maps.Keys(forms)), ", "))
	}
	var paths []string
	var unread []Unread
	for _, folder := range f.folders(env) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if real, err := filepath.EvalSymlinks(folder); err == nil && real != folder && len(paths) == 0 {
			folder = real
		}
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error { // what cannot be listed is in unread
			switch {
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				unread = append(unread, Unread{File: path, Reason: "cannot be listed"})
			case err == nil && d.Type().IsRegular() && takes(f, path):
				paths = append(paths, path)
			}
			return ctx.Err()
		})
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	files := make([]*file, len(paths))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			buffer := bufio.NewReaderSize(nil, 64<<10)
			for i := range next {
				files[i] = readFile(ctx, f, paths[i], buffer)
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	wg.Wait()
	out := &Reading{Sessions: make(map[string]*Session), Unread: unread, Lacks: f.lacks}
	for _, file := range files {
		out.add(file)
	}
	out.once()
	return out, ctx.Err()
}

// takes reports a file that may hold rows.
func takes(f form, path string) bool {
	name := filepath.Base(path)
	if f.whole != nil {
		return strings.HasPrefix(name, "opencode") && strings.HasSuffix(name, ".db") || filepath.Ext(name) == ".json"
	}
	return slices.Contains([]string{".jsonl", ".json", ".zst"}, filepath.Ext(name)) && !strings.HasSuffix(name, ".meta.json")
}

// below returns folders, each given as one of several bases and the rest of its path.
func below(bases []string, rest ...string) (folders []string) {
	for _, base := range bases {
		if base != "" {
			folders = append(folders, filepath.Join(append([]string{base}, rest...)...))
		}
	}
	return folders
}

// timeOf reads a time in RFC 3339.
func timeOf(text string) time.Time {
	at, _ := time.Parse(time.RFC3339, text) // zero without one
	return at
}

// exists reports that there is a file or folder.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
