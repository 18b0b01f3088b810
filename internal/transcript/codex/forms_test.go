package codex

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/hookspan/hookspan/internal/transcript"
)

func pack(t *testing.T, text io.Reader, options ...zstd.EOption) string {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, options...)
	if err == nil {
		_, err = io.Copy(w, text)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPlacesOfSessions has the files of one turn each in all places and forms, and one in
// two of them.
func TestPlacesOfSessions(t *testing.T) {
	f := finder(t, "")
	rows := func(id int) string {
		return rowsOf(
			strings.ReplaceAll(oldMeta, oldSession, fmt.Sprintf("019b0000-0000-7000-8000-%012d", id)),
			typed("1", "go"), answer("2", "one"), counted("2", 10, 10),
		)
	}
	for name, text := range map[string]string{
		"sessions/2025/11/06/rollout-2025-11-06T10-00-00-019b0000-0000-7000-8000-000000000001.jsonl":     rows(1),
		"sessions/2025/11/06/rollout-2025-11-06T10-00-00-019b0000-0000-7000-8000-000000000001.jsonl.zst": "torn",
		"sessions/2025/11/06/rollout-2025-11-06T10-00-00-019b0000-0000-7000-8000-000000000002.jsonl.zst": pack(t, strings.NewReader(rows(2))),
		"sessions/rollout-2025-11-06T10-00-00-019b0000-0000-7000-8000-000000000003.jsonl":                rows(3),
		"archived_sessions/rollout-2025-11-06T10-00-00-019b0000-0000-7000-8000-000000000001.jsonl":       rows(1),
		"archived_sessions/rollout-2025-11-06T10-00-00-019b0000-0000-7000-8000-000000000004.jsonl":       rows(4),
		"archived_sessions/rollout-2025-11-06T10-00-00-019b0000-0000-7000-8000-000000000005.jsonl.zst":   pack(t, strings.NewReader(rows(5))),
		"archived_sessions/rollout-2025-11-06T10-00-00-019b0000-0000-7000-8000-000000000006.jsonl.tmp":   rows(6),
	} {
		place(t, f, name, text)
	}
	list, err := f.Sessions(t.Context(), Agent)
	if err != nil || len(list) != 5 {
		t.Fatalf("sessions %+v, %v; want 5", list, err)
	}
	want := []string{"1 prompt go", `1 request 10 "one" []`, `1 run_complete "one"`}
	for _, s := range list {
		if diff := cmp.Diff(want, told(readSession(t, f, s.ID))); diff != "" {
			t.Errorf("session %s (-want +got):\n%s", s.ID, diff)
		}
	}
}

// TestCompressedFilesNameWhatIsNotRead has a line that is no row, and a last one that is
// torn.
func TestCompressedFilesNameWhatIsNotRead(t *testing.T) {
	f := finder(t, "")
	text := rowsOf(oldMeta) + "no row\n" + rowsOf(typed("1", "go"), answer("2", "one")) + `{"timestamp":"20`
	place(t, f, nameOf(oldSession)+".zst", pack(t, strings.NewReader(text)))
	var lines []int
	for _, u := range readSession(t, f, oldSession).Unread {
		lines = append(lines, u.Line)
	}
	if diff := cmp.Diff([]int{2, 5}, lines); diff != "" {
		t.Errorf("lines that were not read (-want +got):\n%s", diff)
	}
}

// zeros is an endless file without a line.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestCompressedFilesAreBounded has files that ask for more than their size allows.
func TestCompressedFilesAreBounded(t *testing.T) {
	row := rowsOf(oldMeta)
	for name, text := range map[string]string{
		"no rows":         pack(t, io.LimitReader(zeros{}, 64<<20)),
		"after a row":     pack(t, io.MultiReader(strings.NewReader(row), io.LimitReader(zeros{}, 64<<20))),
		"a large window":  pack(t, io.LimitReader(zeros{}, 65<<20), zstd.WithWindowSize(64<<20)),
		"torn":            pack(t, strings.NewReader(strings.Repeat(row, 1000)))[:100],
		"no such format":  "not compressed",
		"many same lines": pack(t, strings.NewReader(strings.Repeat(row, 300_000))),
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, "")
			place(t, f, nameOf(oldSession)+".zst", text)
			if _, err := f.Read(t.Context(), Agent, transcript.Query{Session: oldSession}); err == nil || !strings.Contains(err.Error(), oldSession) {
				t.Errorf("error %v, want one that names the file", err)
			}
			// A later session is listed all the same.
			if list, err := f.Sessions(t.Context(), Agent); err != nil || len(list) != 1 {
				t.Errorf("sessions %+v, %v", list, err)
			}
		})
	}
}

// TestRowsWithoutPayloads has the forms of 2025 before September: items without times, and
// one object.
func TestRowsWithoutPayloads(t *testing.T) {
	items := []string{
		`{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"<environment_context>\nCurrent working directory: /home/dev/shop\n</environment_context>"}]}`,
		`{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"Add a search"}]}`,
		`{"type":"reasoning","id":"rs_1","summary":[]}`,
		`{"type":"function_call","id":"fc_1","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"make\"]}","call_id":"call_1"}`,
		`{"type":"function_call_output","call_id":"call_1","output":"{\"output\":\"no rule\",\"metadata\":{\"exit_code\":2,\"duration_seconds\":0.1}}"}`,
		`{"type":"local_shell_call","call_id":"call_2","status":"completed","action":{"type":"exec","command":["ls"]}}`,
		`{"type":"local_shell_call_output","call_id":"call_2","output":"{\"output\":\"a\",\"metadata\":{\"exit_code\":0}}"}`,
		`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"There is one."}]}`,
		`{"type":"message","id":null,"role":"user","content":[{"type":"input_image"}]}`,
		`{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"Nice."}]}`,
	}
	session := `{"id":"` + oldSession + `","timestamp":"2025-08-26T20:20:25.523Z","instructions":null}`
	want := []string{
		"1 prompt Add a search", "2 prompt [image]", `1 call Bash {"command":"make"} 1 "no rule"`, `1 call Bash {"command":"ls"} 0 "a"`,
		`1 run_complete "There is one."`, `2 run_complete "Nice."`,
	}
	for name, text := range map[string]string{
		nameOf(oldSession): session + "\n{\"record_type\":\"state\"}\n" + strings.Join(items, "\n"),
		"sessions/rollout-2025-08-26-" + oldSession + ".json": `{"session":` + session + `,"items":[` + strings.Join(items, ",\n ") + `]}`,
	} {
		f := finder(t, "")
		place(t, f, name, text)
		tr := readSession(t, f, oldSession)
		if diff := cmp.Diff(want, told(tr)); diff != "" || tr.Cwd != "/home/dev/shop" {
			t.Errorf("%s: folder %q (-want +got):\n%s", name, tr.Cwd, diff)
		}
	}
}
