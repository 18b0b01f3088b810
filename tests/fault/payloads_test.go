package fault_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// payloadRows give the hooks payloads that no agent should send.
var payloadRows = []proof.Row{
	{
		Name:  "payloads of 1, 10 and 100 MB (1 GB in the long run), of many forms",
		Rule:  fmt.Sprintf("neutral answer, exit code 0, at most %d MiB of memory; what is stored is JSON wherever the payload is", mostMemory>>10),
		Short: 9*2*2 + 4, Long: 9*2*3 + 3,
		Rest: true,
		Run:  largePayloads,
	},
	{
		Name: "payloads that are odd: deep, empty, cut off at each byte, no UTF-8, twins of keys, numbers beyond any type",
		Rule: "neutral answer, exit code 0; each is stored byte for byte; a delivery continues past them",
		Rest: true,
		Run:  oddPayloads,
	},
	{
		Name:  "compressed session files of Codex that unpack to 200 MB: one line, many rows, a large window; one that is torn",
		Rule:  fmt.Sprintf("an import names each, imports the session beside it, and takes at most %d MiB of memory", mostUnpacking>>10),
		Short: 4,
		Rest:  true,
		Run:   compressedSessions,
	},
}

// mostUnpacking is the peak in KiB that an import may have.
const mostUnpacking = 192 << 10

// mostMemory is the peak in KiB that a hook may have.
const mostMemory = 32 << 10

const mega = 1 << 20

// shapes are forms of large payloads; each makes about n bytes.
var shapes = []struct {
	name string
	// json says that it is valid JSON.
	json bool
	make func(n int) io.Reader
}{
	{"one string", true, func(n int) io.Reader { return around(`{"taskId":"big","session_id":"big","x":"`, "x", n, `"}`) }},
	{"many tiny members", true, func(n int) io.Reader {
		return around(`{"taskId":"big","session_id":"big","x":{"a":1`, `,"b":2`, n, `}}`)
	}},
	{"no JSON", false, func(n int) io.Reader { return around("", "\xff\x00 garbage ", n, "") }},
	{"open brackets", false, func(n int) io.Reader { return around("", "[", n, "") }},
	{"members of the outermost object", true, func(n int) io.Reader {
		return around(`{"taskId":"big","session_id":"big"`, `,"b":"c"`, n, `}`)
	}},
	{"a list of short strings", true, func(n int) io.Reader {
		return around(`{"taskId":"big","session_id":"big","x":["a"`, `,"\u00e4\n"`, n, `]}`)
	}},
	{"escapes", true, func(n int) io.Reader {
		return around(`{"taskId":"big","session_id":"big","x":"`, `\u0000\ud83d\ude00\\`, n, `"}`)
	}},
	{"one number", true, func(n int) io.Reader { return around(`{"taskId":"big","session_id":"big","x":1`, "7", n, `}`) }},
	{"blanks", false, func(n int) io.Reader { return around("", " \n", n, "") }},
}

// around is a head, a body repeated up to n bytes, and a tail.
func around(head, body string, n int, tail string) io.Reader {
	times := max(1, (n-len(head)-len(tail))/len(body))
	chunk := max(1, min(times, 256<<10/len(body)))
	block := strings.Repeat(body, chunk)
	return io.MultiReader(strings.NewReader(head), io.LimitReader(&repeated{text: block}, int64(times*len(body))), strings.NewReader(tail))
}

// repeated is a text again and again.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(b []byte) (n int, err error) {
	for n < len(b) {
		c := copy(b[n:], r.text[r.at:])
		n += c
		r.at = (r.at + c) % len(r.text)
	}
	return n, nil
}

func largePayloads(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	var peak int64
	most := ""
	try := func(shape, size int, a *agent) {
		s.quiet()
		what := fmt.Sprintf("%d MB of %s", size/mega, shapes[shape].name)
		before, _, err := s.Salvage()
		s.ok(err)
		began := time.Now()
		o, kib, err := s.Peak(lab.Call{Program: a.program, Args: []string{"PreToolUse"}, Stdin: shapes[shape].make(size)})
		took := time.Since(began)
		r.Trial(1)
		if err := errorsOf(o.Neutral(a.answer), err); err != nil {
			r.Break("%s: %s: %v", what, a.program, err)
			return
		}
		if kib > mostMemory {
			r.Break("%s: %s: a peak of %d KiB, want at most %d", what, a.program, kib, mostMemory)
		}
		if kib > peak {
			peak, most = kib, what
		}
		if size >= 100*mega {
			t.Logf("%s: %s: %d KiB, %s", what, a.program, kib, took.Round(time.Millisecond))
		}
		all, _, err := s.Salvage()
		s.ok(err)
		if len(all) != len(before)+1 {
			r.Break("%s: %s: %d events were stored, want one%s", what, a.program, len(all)-len(before), s.said())
		}
		// Records come by session: the whole of them is looked at.
		for _, rec := range all {
			if !rec.Raw && !json.Valid(rec.Payload) {
				r.Break("%s: %s: what is stored is no JSON: %.100q", what, a.program, rec.Payload)
			}
		}
		if shapes[shape].json && all[len(all)-1].Session == "" {
			r.Break("%s: %s: the session got lost", what, a.program)
		}
		// A next one is looked at by itself.
		s.ok(os.RemoveAll(s.spoolDir()))
	}
	for shape := range shapes {
		for i := range agents {
			try(shape, mega, &agents[i])
			try(shape, 10*mega, &agents[i])
			if proof.Soak() {
				try(shape, 100*mega, &agents[i])
			}
		}
	}
	if proof.Soak() {
		for shape := range 3 {
			try(shape, 200*mega, &agents[0])
		}
	} else {
		for shape := range 4 {
			try(shape, 100*mega, &agents[shape%2])
		}
	}
	r.Note("peak memory %.1f MiB (%s)", float64(peak)/1024, most)
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// odd are payloads up to the size that is kept whole.
func odd(t *testing.T) (all []string) {
	t.Helper()
	deep := func(open, inner, shut string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
	}
	all = []string{
		"", " ", "\n\n\t ", "\x00", "\xff", "\xef\xbb\xbf", "null", "true", "1", `"text"`, "[]", "{}", "{", "}", "[", `"`, "\x1e", "{}\x1e{}", "nul",
		deep("[", "", "]", 9_999), deep("[", "", "]", 10_001), deep("[", "1", "]", 250_000), deep(`{"a":`, "1", "}", 9_999),
		deep(`{"a":`, "1", "}", 80_000), `{"taskId":"odd","x":` + deep("[", "", "]", 400_000) + "}",
		`{"taskId":"odd","preToolUse":{"toolName":"t","parameters":` + deep(`{"a":`, "1", "}", 9_000) + `}}`,
		`{"session_id":"odd","hook_event_name":"PreToolUse","tool_name":"t","tool_input":` + deep(`{"a":`, "1", "}", 9_000) + `}`,
	}
	for _, id := range []string{
		`""`, `null`, `17`, `1e999999`, `true`, `[]`, `{}`, `["a"]`, `"\u0000"`, `"\ud800"`, `"\udc00\ud800"`, `"` + "\xff\xfe" + `"`, `"` + strings.Repeat("i", 100_000) + `"`,
		`"../../../../etc/passwd"`, `"\u001e"`, `"` + "\x1e" + `"`, `"\ufeff"`, `"\u202e"`, `-0`, `0.` + strings.Repeat("0", 1000) + `1`, strings.Repeat("9", 100_000),
	} {
		for _, form := range []string{
			`{"taskId":%s,"hookName":"PreToolUse","timestamp":"1795175957341","preToolUse":{"toolName":"read_file","parameters":{"path":"x"}}}`,
			`{"session_id":%s,"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"x"},"tool_use_id":"t"}`,
			`{"taskId":"odd","hookName":%s,"preToolUse":{}}`, `{"taskId":"odd","hookName":"PreToolUse","timestamp":%s,"preToolUse":{"toolName":"t"}}`,
			`{"taskId":"odd","hookName":"PreToolUse","preToolUse":%s}`, `{"taskId":"odd","hookName":"PreToolUse","preToolUse":{"toolName":%[1]s,"parameters":%[1]s}}`,
			`{"taskId":"odd","hookName":"PostToolUse","postToolUse":{"toolName":%[1]s,"parameters":%[1]s,"result":%[1]s,"success":%[1]s,"executionTimeMs":%[1]s}}`,
			`{"session_id":"odd","hook_event_name":"PostToolUse","tool_name":%[1]s,"tool_input":%[1]s,"tool_response":%[1]s,"tool_use_id":%[1]s,"prompt_id":%[1]s}`,
			`{"taskId":"a","taskId":%[1]s,"TASKID":"b","taskid":%[1]s,"task\u0049d":%[1]s,"session_id":"c","Session_ID":%[1]s,"hook_event_name":"Stop","hook_event_name":%[1]s}`,
		} {
			all = append(all, fmt.Sprintf(form, id))
		}
	}
	// Recorded ones that break off.
	stride := 23
	if proof.Soak() {
		stride = 1
	}
	for _, pattern := range []string{"internal/demo/session/*PostToolUse*.json", "hook/claude/testdata/events/PostToolUse.Bash.json"} {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("no recorded payload %s: %v", pattern, err)
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		for cut := 1; cut < len(b); cut += stride {
			all = append(all, string(b[:cut]))
		}
	}
	return all
}

// sumStored is the sum of what is stored of a payload: the byte order mark of an agent for Windows
// is taken off.
func sumStored(payload string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.TrimPrefix(payload, "\ufeff")))
}

func oddPayloads(t *testing.T, r *proof.Result) {
	s := newSite(t, r, "HOOKSPAN_MAX_EVENT_BYTES=4MiB")
	want := make(map[[sha256.Size]byte]int)
	payloads := odd(t)
	for n, p := range payloads {
		if n%200 == 0 {
			s.quiet()
		}
		// Both agents get each of the first, then they take turns.
		for i := range agents {
			if n > 300 && n%2 != i {
				continue
			}
			a := &agents[i]
			c := lab.Call{Program: a.program, Args: []string{"PreToolUse"}, Stdin: strings.NewReader(p)}
			s.try(fmt.Sprintf("payload %.200q", p), a, c)
			want[sumStored(p)]++
		}
	}
	recs, damaged, err := s.Salvage()
	s.ok(err)
	if damaged > 0 {
		r.Break("%d damaged places in the logs", damaged)
	}
	got := make(map[[sha256.Size]byte]int)
	for _, rec := range recs {
		got[sha256.Sum256(rec.Payload)]++
	}
	for _, p := range payloads {
		sum := sumStored(p)
		if got[sum] != want[sum] {
			r.Break("payload %.200q is stored %d times, want %d", p, got[sum], want[sum])
		}
	}
	for _, args := range [][]string{{"doctor"}, {"status"}, {"list"}, {"flush", "--wait"}} {
		if o := s.Call(lab.Call{Program: "hookspan", Args: args}); o.Code < 0 || o.Code > 1 || bytes.Contains([]byte(o.Err), []byte("internal error")) {
			r.Break("hookspan %v: %s, said %.1000q", args, o.State, o.Err)
		}
	}
	s.session = "good"
	s.finish("odd payloads")
}

func compressedSessions(t *testing.T, r *proof.Result) {
	w := lab.New(t, "HOOKSPAN_EXPORTERS=store")
	const row = `{"timestamp":"2026-11-10T10:00:01Z","type":"event_msg","payload":{"type":"user_message","message":"go"}}` + "\n"
	pack := func(text io.Reader, options ...zstd.EOption) string {
		var b strings.Builder
		enc, err := zstd.NewWriter(&b, options...)
		if err == nil {
			_, err = io.Copy(enc, text)
		}
		if err = errorsOf(err, enc.Close()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const folder = ".codex/sessions/2026/11/10/rollout-2026-11-10T10-00-00-01a20018-0000-7000-8000-00000000000"
	w.Write(folder+"0.jsonl", row+`{"timestamp":"2026-11-10T10:00:02Z","type":"event_msg","payload":{"type":"task_complete"}}`)
	bombs := []string{
		pack(around("", "\x00", 200*mega, "")),
		pack(around("", row, 200*mega, "")),
		pack(around("", row, 100*mega, ""), zstd.WithWindowSize(64<<20)),
		pack(around("", row, mega, ""))[:60],
	}
	for i, bomb := range bombs {
		w.Write(fmt.Sprintf("%s%d.jsonl.zst", folder, i+1), bomb)
	}
	o, kib, err := w.Peak(lab.Call{Program: "hookspan", Args: []string{"import", "codex"}})
	r.Trial(len(bombs))
	if err != nil || o.Code == 0 {
		r.Break("import: code %d, %v", o.Code, err)
	}
	for i := range bombs {
		if name := fmt.Sprintf("00000000000%d", i+1); !strings.Contains(o.Out+o.Err, name) {
			r.Break("import does not name session %s: %s%s", name, o.Out, o.Err)
		}
	}
	if spans := w.Stored(); len(spans) != 1 {
		r.Break("%d spans of the session beside them, want 1", len(spans))
	}
	if kib > mostUnpacking {
		r.Break("a peak of %d KiB, want at most %d", kib, mostUnpacking)
	}
	r.Note("the most memory was %d MiB", kib>>10)
}
