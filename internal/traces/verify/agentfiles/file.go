package agentfiles

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/klauspost/compress/zstd"

	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/pattern"
)

// file is one file while it is read.
type file struct {
	path     string
	line     int
	sessions map[string]*Session
	unread   []Unread
	unknown  []Unknown
	// owner is the session whose file it is, where rows name another, and origins those of which
	// it has copies. session and at are those of the row that is read.
	owner   string
	origins []string
	session string
	at      time.Time
	agent   string // the subagent whose row it is
	// turn is that of the newest prompt. first is none: it has what comes before a prompt.
	turn  *Turn
	first Turn
	// sub reports a subagent's file, copied that the row is a copy of one of another file,
	// delegated a file with the call by which a subagent ends, bad that the line is no row.
	sub, copied, delegated, bad bool
	// torn are the lines from number tornAt on that may begin a row with raw line breaks.
	torn   []byte
	tornAt int
	// equal counts equal prompts, dirs are the folders that the agents work in.
	equal map[string]int
	dirs  map[string]string
	// taken are the rows that were read, by their ids and times.
	taken map[[2]string]bool
}

// repeats reports that a row is in the file again.
func (r *file) repeats(id, at string) bool {
	if id == "" {
		return false
	}
	row := [2]string{id, at}
	again := r.taken[row]
	if r.taken == nil {
		r.taken = make(map[[2]string]bool)
	}
	r.taken[row] = true
	return again
}

// lineBuffer is memory for the lines of files, long for one that the reader does not hold. The next
// file has it if it is not more than maxHeld bytes.
type lineBuffer struct {
	in   *bufio.Reader
	long []byte
}

const maxHeld = 4 << 20

func readFile(ctx context.Context, f form, path string, buffer *lineBuffer) *file {
	r := &file{path: path, sessions: make(map[string]*Session), equal: make(map[string]int), dirs: make(map[string]string)}
	r.turn = &r.first
	err := ctx.Err()
	if err == nil {
		err = r.read(ctx, f, buffer)
	}
	if err != nil {
		r.skip(0, "it cannot be read: "+err.Error(), false)
	}
	return r
}

func (r *file) read(ctx context.Context, f form, lines *lineBuffer) error {
	if f.whole != nil {
		return f.whole(ctx, r)
	}
	opened, info, err := regular.Open(r.path, regular.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }() // read only
	whole, limit := strings.HasSuffix(r.path, ".json"), int64(maxLines)
	if whole {
		limit = maxWhole
	}
	if info.Size() > limit {
		return fmt.Errorf("found %d bytes, want at most %d", info.Size(), limit)
	}
	var in io.Reader = opened
	if strings.HasSuffix(r.path, ".zst") {
		unpacked, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
		defer unpacked.Close()
		in = &bounded{unpacked, min(maxLines, minUnpacked+maxRatio*info.Size())}
	}
	take := f.open(r)
	if whole {
		text, err := io.ReadAll(in)
		text = bytes.TrimPrefix(text, mark)
		if err == nil && !jsontext.Value(text).IsValid(lenient) {
			r.skip(0, "it is no JSON value", false)
			return nil
		}
		take(text)
		return err
	}
	lines.in.Reset(in)
	lines.long = lines.long[:0]
	if cap(lines.long) > maxHeld {
		lines.long = nil
	}
	for {
		line, err := lines.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if len(lines.long) <= maxLine {
				lines.long = append(lines.long, line...)
			}
			continue
		}
		if len(lines.long) > 0 {
			line = append(lines.long, line...)
			lines.long = line[:0]
		}
		r.line++
		switch line = bytes.TrimSpace(line); {
		case len(line) > maxLine:
			r.skip(r.line, "it is longer than 64 MiB", false)
		case len(line) > 0:
			r.bad = false
			if take(line); r.bad {
				r.mend(line, take)
			} else {
				r.tear()
			}
		}
		if err != nil {
			r.tear()
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

// bounded is a reader that fails after left bytes.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("it unpacks to more than %d times its size, or than %d bytes", maxRatio, maxLines)
	}
	return n, err
}

// lenient finds members whose names are those of fields but for case, underscores and dashes;
// mismatched also reads what is beside a member of another type than the field's.
var (
	lenient    = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), json.MatchCaseInsensitiveNames(true))
	mismatched = json.JoinOptions(lenient, jsonv1.ReportErrorsWithLegacySemantics(true))
)

// mark begins some files, and rows of files that were joined.
var mark = []byte("\ufeff")

// parse reads a row into v, which must be zero, without members of other types than expected.
func (r *file) parse(line []byte, v any) bool {
	if json.Unmarshal(line, v, lenient) == nil {
		return true
	}
	if line[0] == '{' && jsontext.Value(line).IsValid(lenient) {
		_ = json.Unmarshal(line, v, mismatched)
		return true
	}
	r.bad = true
	return false
}

// value reads a part of a row, leniently.
func value[T any](raw []byte) (v T) {
	if len(raw) > 0 && json.Unmarshal(raw, &v, lenient) != nil {
		var again T
		_ = json.Unmarshal(raw, &again, mismatched)
		return again
	}
	return v
}

// skip notes what is no row, or a part that was not all of one.
func (r *file) skip(line int, reason string, part bool) {
	r.unread = append(r.unread, Unread{File: r.path, Line: line, Reason: reason, Part: part, Session: r.session})
}

// of returns the session of the row that is read.
func (r *file) of() *Session {
	s := r.sessions[r.session]
	if s == nil {
		s = newSession()
		s.Files, r.sessions[r.session] = []string{r.path}, s
	}
	if r.copied {
		s.copied = true
		return s
	}
	if !r.at.IsZero() && (s.Began.IsZero() || r.at.Before(s.Began)) {
		s.Began = r.at
	}
	s.Ended = later(s.Ended, r.at)
	return s
}

// in notes the folder that a row names.
func (r *file) in(dir string) {
	if dir != "" && dir != r.dirs[r.agent] { // else one in memory is enough
		r.dirs[r.agent] = dir
	}
}

// dir is the folder that the agent of the row works in.
func (r *file) dir() string { return cmp.Or(r.dirs[r.agent], r.dirs[""]) }

func (r *file) fact() Fact {
	return Fact{File: r.path, At: r.at, Line: r.line, Agent: r.agent, Dir: r.dir(), copied: r.copied, sub: r.sub}
}

// request adds a request, or what a later row says of it. Where rows of several kinds
// record the same requests, only those of the highest rank in a session count.
func (r *file) request(rank int, id, model string, q Request) *Request {
	r.works()
	q.Fact, q.Model = r.fact(), model
	q.ID = cmp.Or(id, fmt.Sprintf("%s:%d", filepath.Base(r.path), r.line))
	r.of().addRequest(rank, &q)
	return &q
}

func (s *Session) addRequest(rank int, q *Request) {
	if rank > s.rank[0] {
		s.rank[0] = rank
		maps.DeleteFunc(s.Requests, func(_ string, q *Request) bool { return !q.lost() })
	}
	if rank < s.rank[0] && !q.lost() {
		return
	}
	old := s.Requests[q.ID]
	if old == nil {
		s.Requests[q.ID] = q
		return
	}
	old.shared(q.Agent)
	old.Model, old.Failed, old.Cost = cmp.Or(q.Model, old.Model), old.Failed || q.Failed, cmp.Or(q.Cost, old.Cost)
	switch {
	case old.final && !q.final:
		return
	case q.final && !old.final:
		old.final, old.Input, old.Bare, old.Output, old.CacheRead, old.CacheWrite = true, 0, 0, 0, 0, 0
	}
	old.Input, old.Bare, old.Output = max(old.Input, q.Input), max(old.Bare, q.Bare), max(old.Output, q.Output)
	old.CacheRead, old.CacheWrite = max(old.CacheRead, q.CacheRead), max(old.CacheWrite, q.CacheWrite)
}

// lost reports a request that failed without tokens, which only one kind of row records.
func (q *Request) lost() bool { return q.Failed && q.Input+q.Output == 0 }

// failure adds a request that failed.
func (r *file) failure(id string) {
	q := &Request{Fact: r.fact(), Failed: true}
	q.ID = id
	r.of().addRequest(r.of().rank[0], q)
}

// works notes a request or a call: of the main agent, it belongs to the turn.
func (r *file) works() {
	if r.agent != "" || r.sub {
		return
	}
	r.turn.Work++
	if r.turn.ended {
		r.turn.Breaks, r.turn.ended = append(r.turn.Breaks, Break{r.turn.Last, r.at}), false
	}
	r.lasts()
}

// lasts notes that the turn has lasted up to the row that is read.
func (r *file) lasts() {
	if r.agent == "" && !r.sub && r.at.After(r.turn.Last) {
		r.turn.Last, r.turn.EndDir = r.at, r.dir()
	}
}

// prompt notes a prompt; key is its id, the same in each copy.
func (r *file) prompt(rank int, key, text string) {
	r.begin(key)
	r.typed(rank, key, text)
}

// maxPrompt bounds the text that is kept of a prompt, in bytes.
const maxPrompt = 400

// typedIn returns what was typed, which the host may have put into an element.
func typedIn(text string) string {
	if strings.Contains(text, "<user_input") {
		text, _ = element(text, "user_input")
	}
	return text
}

// element returns what is in the first element whose name begins so, and what follows that.
func element(text, name string) (inner, rest string) {
	_, rest, _ = strings.Cut(text, "<"+name)
	_, rest, _ = strings.Cut(rest, ">")
	inner, rest, _ = strings.Cut(rest, "</"+name)
	_, rest, _ = strings.Cut(rest, ">")
	return inner, rest
}

// begins reports a text with one of the beginnings.
func begins(text string, with []string) bool {
	return slices.ContainsFunc(with, func(start string) bool { return strings.HasPrefix(text, start) })
}

// typed notes a prompt that begins no turn.
func (r *file) typed(rank int, key, text string) {
	r.of().addPrompt(rank, &Prompt{r.fact(), strings.Clone(text[:min(len(text), maxPrompt)]), key})
}

// kind counts a row, an item or a part of a kind that is not among those of a place.
func (r *file) kind(place, kind string, raw []byte) {
	if kind == "" || kinds()[[2]string{place, kind}] {
		return
	}
	if _, part, found := strings.Cut(place, " "); found {
		kind = part + "/" + kind
	}
	r.unknown = append(r.unknown, Unknown{kind, 1, weighty().Match(raw), r.path})
}

// weighty finds what shows that a row of an unknown kind may be work.
var weighty = pattern.Of(`(?i)"(usage|tokens?|tokens_?count|role|tool_?use_?id|tool_?call_?id|call_?id)"\s*:`)

// ordinal begins the keys of prompts without an id, which are those of one session alone.
const ordinal = "#"

// nth is such a key: the number among the file's equal ones.
func (r *file) nth(rank int, text string) string {
	key := hashed(fmt.Sprint(rank), text)
	r.equal[key]++
	return fmt.Sprintf("%s%s/%d", ordinal, key, r.equal[key])
}

// hashed is a short key of a prompt: of its text, and its time or rank.
func hashed(what, text string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, what+"/"+text) // never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

func (s *Session) addPrompt(rank int, p *Prompt) {
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

// begin begins a turn, which has a key if a person typed its prompt.
func (r *file) begin(key string) {
	r.turn = &Turn{Fact: r.fact(), Last: r.at, key: key}
	r.turn.EndDir = r.dir()
	s := r.of()
	s.Turns = append(s.Turns, r.turn)
}

// says notes an answer or an error: one that asks for nothing more may end the turn.
func (r *file) says(done, failed bool) {
	r.turn.Answered, r.turn.Failed = done, failed
	r.lasts()
}

// within begins a turn for a file that begins within one.
func (r *file) within() {
	if r.turn == &r.first {
		r.begin("")
	}
}

// rows takes the rows of a file, each parsed.
func rows[T any](r *file, take func(row *T, line []byte)) func([]byte) {
	row, zero := new(T), *new(T)
	return func(line []byte) {
		*row = zero
		if r.parse(line, row) {
			take(row, line)
		}
	}
}

// interrupt notes that the user interrupted the turn.
func (r *file) interrupt() {
	r.turn.Cut, r.turn.ended = true, true
	r.says(false, false)
}

// finish notes an end of the turn: an answer, or an error.
func (r *file) finish(failed bool) {
	r.turn.ended = true
	r.says(true, failed)
}

// hostText reports words of the host where a prompt is, as <task-notification> and marks in brackets.
func hostText(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || interruption(text) {
		return true
	}
	name, _, closed := strings.Cut(strings.TrimPrefix(text, "<"), ">")
	return text[0] == '<' && closed && strings.ContainsAny(name, "-_") && !strings.ContainsAny(name, "\n<")
}

// interruption reports the mark of one, after which no words follow.
func interruption(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "[Request interrupted") && strings.IndexByte(text, ']') == len(text)-1
}
