package second

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"github.com/hookspan/hookspan/internal/regular"
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
	// Empty are the files without any fact of a session.
	Empty []string
	// Lacks is what the files never have.
	Lacks Lacks
}

// Lacks is what an agent's hooks report and its files lack.
type Lacks struct {
	// UnnamedCalls are calls without an id, of which the files may lack one that did not end,
	// ScriptCalls those that a script makes.
	UnnamedCalls, ScriptCalls bool
	// CutTurns are turns that are cut off before their first answer.
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
	// Broken counts the prompts that no answer in text ended.
	Broken int
	// Files are those with rows of the session, Began and Ended are the times of the first
	// and the last of these.
	Files        []string
	Began, Ended time.Time

	prompts map[string]bool
	rank    [2]int
	// own reports a file of the session's own, copied the session in whose file it is copied.
	own    bool
	copied string
}

// Fact is what requests, calls and prompts have in common: the file with it, and when it
// was written.
type Fact struct {
	File string
	At   time.Time
	// Held are the sessions in whose files it is as well.
	Held []string
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
	Line int
	key  string
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
	"codex":       {folders: codexFolders, open: openCodex, lacks: Lacks{ScriptCalls: true}},
	"copilot-cli": {folders: copilotFolders, open: openCopilot},
	"gemini-cli":  {folders: geminiFolders, open: openGemini, lacks: Lacks{UnnamedCalls: true, CutTurns: true}},
	"qwen-code":   {folders: qwenFolders, open: openQwen},
	"cline":       {folders: clineFolders, open: openCline, lacks: Lacks{UnnamedCalls: true}},
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

// file is one file while it is read.
type file struct {
	path     string
	line     int
	sessions map[string]*Session
	unread   []Unread
	// own is the session whose file it is, where rows name another. session and at are those
	// of the row that is read.
	own     string
	session string
	at      time.Time
	// open and answered are about the newest prompt.
	open, answered bool
	// equal counts equal prompts.
	equal map[string]int
}

func readFile(ctx context.Context, f form, path string, buffer *bufio.Reader) *file {
	r := &file{path: path, sessions: make(map[string]*Session), equal: make(map[string]int)}
	if ctx.Err() != nil {
		return r
	}
	err := r.read(ctx, f, buffer)
	if err != nil {
		r.skip(0, "it cannot be read: "+err.Error())
	}
	r.end()
	return r
}

func (r *file) read(ctx context.Context, f form, lines *bufio.Reader) error {
	if f.whole != nil {
		return f.whole(ctx, r)
	}
	opened, info, err := regular.Open(r.path, regular.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }() // read only
	if info.Size() > maxLines {
		return fmt.Errorf("found %d bytes, want at most %d", info.Size(), int64(maxLines))
	}
	var in io.Reader = opened
	if strings.HasSuffix(r.path, ".zst") {
		unpacked, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
		defer unpacked.Close()
		in = io.LimitReader(unpacked, min(maxLines, minUnpacked+maxRatio*info.Size()))
	}
	take := f.open(r)
	if strings.HasSuffix(r.path, ".json") {
		if info.Size() > maxWhole {
			return fmt.Errorf("found %d bytes, want at most %d", info.Size(), maxWhole)
		}
		text, err := io.ReadAll(in)
		if err == nil && !jsontext.Value(text).IsValid(lenient) {
			r.skip(0, "it is no JSON value")
			return nil
		}
		take(text)
		return err
	}
	lines.Reset(in)
	var long []byte
	for {
		part, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) && len(long) <= maxLine {
			long = append(long, part...)
			continue
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		line := part
		if long != nil {
			line, long = append(long, part...), nil
		}
		r.line++
		switch line = bytes.TrimSpace(line); {
		case len(line) > maxLine:
			r.skip(r.line, "it is longer than 64 MiB")
		case len(line) > 0:
			take(line)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		if r.line&1023 == 0 && ctx.Err() != nil {
			return nil
		}
	}
}

var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// parse reads a row into v, which must be zero. A member of another type than expected is
// left out. A line that is no object is noted; it may end with a whole row.
func (r *file) parse(line []byte, v any) bool {
	line = bytes.TrimPrefix(line, []byte("\ufeff"))
	if json.Unmarshal(line, v, lenient) == nil {
		return true
	}
	for tries := range maxTries {
		if len(line) > 0 && line[0] == '{' && jsontext.Value(line).IsValid(lenient) {
			_ = stdjson.Unmarshal(line, v) // a mismatch: the rest is read
			return true
		}
		if tries == 0 {
			r.skip(r.line, "it is no JSON object")
		}
		next := bytes.Index(line[min(1, len(line)):], []byte(`{"`))
		if next < 0 {
			break
		}
		line = line[next+1:]
	}
	return false
}

// value reads a part of a row, leniently.
func value[T any](raw []byte) (v T) {
	if len(raw) > 0 && json.Unmarshal(raw, &v, lenient) != nil {
		var again T
		_ = stdjson.Unmarshal(raw, &again)
		return again
	}
	return v
}

func (r *file) skip(line int, reason string) {
	r.unread = append(r.unread, Unread{File: r.path, Line: line, Reason: reason, Session: r.session})
}

// of returns the session of the row that is read.
func (r *file) of() *Session {
	s := r.sessions[r.session]
	if s == nil {
		s = &Session{Requests: make(map[string]*Request), Calls: make(map[string]*Call), Files: []string{r.path}, prompts: make(map[string]bool)}
		r.sessions[r.session] = s
	}
	s.own = s.own || r.own == "" || r.own == r.session
	if !r.at.IsZero() && (s.Began.IsZero() || r.at.Before(s.Began)) {
		s.Began = r.at
	}
	if r.at.After(s.Ended) {
		s.Ended = r.at
	}
	return s
}

func (r *file) fact() Fact {
	f := Fact{File: r.path, At: r.at}
	if r.own != "" && r.own != r.session {
		f.Held = []string{r.own}
	}
	return f
}

// request adds a request, or what a later row says of it. The rank decides which of
// several records of the same requests counts in a session: the highest that it has.
func (r *file) request(rank int, id, model string, q Request) {
	s := r.of()
	q.Fact, q.Model = r.fact(), model
	s.addRequest(rank, cmp.Or(id, fmt.Sprintf("%s:%d", filepath.Base(r.path), r.line)), &q)
}

func (s *Session) addRequest(rank int, id string, q *Request) {
	if rank > s.rank[0] {
		s.rank[0] = rank
		clear(s.Requests)
	}
	if rank < s.rank[0] {
		return
	}
	old := s.Requests[id]
	if old == nil {
		s.Requests[id] = q
		return
	}
	old.Model = cmp.Or(q.Model, old.Model)
	old.Input, old.Bare, old.Output = max(old.Input, q.Input), max(old.Bare, q.Bare), max(old.Output, q.Output)
	old.CacheRead, old.CacheWrite = max(old.CacheRead, q.CacheRead), max(old.CacheWrite, q.CacheWrite)
}

func (r *file) call(id string) *Call {
	s := r.of()
	c := s.Calls[id]
	if c == nil {
		c = &Call{Fact: r.fact(), Times: 1}
		s.Calls[id] = c
	}
	return c
}

// result notes a result, of a call that the session's files have.
func (r *file) result(id string, failed bool) {
	c := r.of().Calls[id]
	if c == nil {
		c = r.call(id)
		c.File = "" // a result alone is no call
	}
	c.Answered = true
	c.Failed = c.Failed || failed
}

// prompt notes a prompt; key is its id, the same in each copy.
func (r *file) prompt(rank int, key string) {
	r.begin()
	r.typed(rank, key)
}

// typed notes a prompt that begins no turn.
func (r *file) typed(rank int, key string) {
	r.of().addPrompt(rank, Prompt{r.fact(), r.line, key})
}

// nth is the key of a prompt without an id: the number among the file's equal ones.
func (r *file) nth(rank int, text string) string {
	key := hashed(fmt.Sprint(rank), text)
	r.equal[key]++
	return fmt.Sprintf("%s%s/%d", ordinal, key, r.equal[key])
}

// ordinal begins keys that are those of one session alone.
const ordinal = "#"

// hashed is a short key of a prompt that is given by its time or rank, and its text.
func hashed(what, text string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, what+"/"+text) // never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

func (s *Session) addPrompt(rank int, p Prompt) {
	if rank > s.rank[1] {
		s.rank[1], s.Prompts = rank, nil
		clear(s.prompts)
	}
	if rank < s.rank[1] || p.key != "" && s.prompts[p.key] {
		return
	}
	s.prompts[p.key] = true
	s.Prompts = append(s.Prompts, p)
}

// begin begins a turn, and end ends the last one of the file.
func (r *file) begin() {
	r.end()
	r.open, r.answered = true, false
}

func (r *file) end() {
	if r.open && !r.answered {
		r.of().Broken++
	}
	r.open = false
}

// hostText reports words that the host puts where a prompt is: elements such as
// <task-notification> and marks in brackets.
func hostText(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasPrefix(text, "[Request interrupted") {
		return true
	}
	name, _, closed := strings.Cut(strings.TrimPrefix(text, "<"), ">")
	return text[0] == '<' && closed && strings.ContainsAny(name, "-_") && !strings.ContainsAny(name, "\n<")
}

// add takes in what a file says.
func (out *Reading) add(r *file) {
	if r == nil {
		return
	}
	out.Unread = append(out.Unread, r.unread...)
	if len(r.sessions) == 0 {
		out.Empty = append(out.Empty, r.path)
	}
	for id, s := range r.sessions {
		out.merge(id, s)
	}
}

// merge takes in what a file, or a session without one, says of a session.
func (out *Reading) merge(id string, s *Session) {
	old := out.Sessions[id]
	if old == nil {
		out.Sessions[id] = s
		return
	}
	for id, q := range s.Requests {
		old.addRequest(s.rank[0], id, q)
	}
	for id, c := range s.Calls {
		if have := old.Calls[id]; have != nil {
			if c.File != "" && have.File != "" && !c.copies(id, have) {
				have.Times++
			}
			have.Answered, have.Failed, have.File = have.Answered || c.Answered, have.Failed || c.Failed, cmp.Or(have.File, c.File)
			continue
		}
		old.Calls[id] = c
	}
	for _, p := range s.Prompts {
		old.addPrompt(s.rank[1], p)
	}
	old.Files, old.Broken = append(old.Files, s.Files...), old.Broken+s.Broken
	old.own, old.copied = old.own || s.own, cmp.Or(old.copied, s.copied)
	if old.Began.IsZero() || !s.Began.IsZero() && s.Began.Before(old.Began) {
		old.Began = s.Began
	}
	if s.Ended.After(old.Ended) {
		old.Ended = s.Ended
	}
}

// shortID is the length up to which ids are taken to be those of one session or agent alone.
const shortID = 12

// copies reports that two calls with one id are the same.
func (c *Call) copies(id string, other *Call) bool { return len(id) > shortID || c.At.Equal(other.At) }

// once leaves what several sessions have to the one that began first. A session whose own
// file is gone is part of the one with a copy of it.
func (out *Reading) once() {
	for _, id := range slices.Sorted(maps.Keys(out.Sessions)) {
		if s := out.Sessions[id]; !s.own && s.copied != "" {
			delete(out.Sessions, id)
			out.merge(s.copied, s)
		}
	}
	order := slices.SortedFunc(maps.Keys(out.Sessions), func(x, y string) int {
		return cmp.Or(out.Sessions[x].Began.Compare(out.Sessions[y].Began), cmp.Compare(x, y))
	})
	requests, calls := make(map[string]*Request), make(map[string]*Call)
	prompts := make(map[string]bool)
	for _, id := range order {
		s := out.Sessions[id]
		maps.DeleteFunc(s.Requests, func(key string, q *Request) bool {
			first := requests[key]
			if first == nil {
				requests[key] = q
				return false
			}
			first.Held = append(append(first.Held, id), q.Held...)
			return true
		})
		maps.DeleteFunc(s.Calls, func(key string, c *Call) bool {
			if c.File == "" {
				if s.Results == nil {
					s.Results = make(map[string]bool)
				}
				s.Results[key] = true
				return true
			}
			first := calls[key]
			if first == nil || !c.copies(key, first) {
				calls[key] = c
				return false
			}
			first.Held = append(append(first.Held, id), c.Held...)
			return true
		})
		s.Prompts = slices.DeleteFunc(s.Prompts, func(p Prompt) bool {
			first := !prompts[p.key] || p.key == "" || strings.HasPrefix(p.key, ordinal)
			prompts[p.key] = true
			return !first
		})
	}
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
