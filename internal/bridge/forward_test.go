package bridge

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePorts(t *testing.T) {
	ports, err := ParsePorts(" 3043, 1,x,3043,,70000")
	if diff := cmp.Diff([]int{3043, 1}, ports); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), `"x" is no port`) || !strings.Contains(err.Error(), `"70000" is no port`) {
		t.Errorf("got error %v", err)
	}
	if ports, err := ParsePorts(""); ports != nil || err != nil {
		t.Errorf("an empty list: %v, %v", ports, err)
	}
}

func TestForward(t *testing.T) {
	const native = `{"clineVersion":"3.1","hookName":"TaskStart","taskId":"t1","taskStart":{}}`
	const claudeForm = `{"session_id":"s1","hook_event_name":"Stop"}`
	converted := func([]byte) ([][]byte, error) { return [][]byte{[]byte(claudeForm)}, nil }
	refused := func([]byte) ([][]byte, error) { return nil, errors.New("no such form") }
	for _, tt := range []struct {
		name, body string
		event      string
		convert    func([]byte) ([][]byte, error)
		answered   bool
		kept       string
		logged     string
	}{
		{"Cline's payload is converted and answered", native, "TaskStart", converted, true, `"session_id"`, ""},
		{"a payload that has no other form is kept", native, "TaskStart", refused, true, `"taskId"`, "forwarded unchanged: no such form"},
		{"Claude's form gets no answer", claudeForm, "", refused, false, `"session_id"`, ""},
		{"what is no event is answered under Cline's name", "?", "TaskStart", refused, true, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := &FileStore{Dir: t.TempDir(), Agent: Cline}
			var out bytes.Buffer
			var log []string
			f := &Forwarder{Provider: Cline, File: file, Convert: tt.convert, Log: func(text string) { log = append(log, text) }}
			f.Forward(t.Context(), strings.NewReader(tt.body), &out, tt.event)
			if got := out.Len() > 0; got != tt.answered {
				t.Errorf("answered %q", &out)
			}
			if text, err := os.ReadFile(file.EventsPath()); tt.kept != "" && (err != nil || !strings.Contains(string(text), tt.kept)) {
				t.Errorf("kept %s, %v; want %s", text, err, tt.kept)
			}
			if all := strings.Join(log, "\n"); !strings.Contains(all, tt.logged) {
				t.Errorf("logged %q, want %q", all, tt.logged)
			}
		})
	}
}
