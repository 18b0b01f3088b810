package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/jsonedit"
)

func TestHandlerOwnership(t *testing.T) {
	tests := map[string]struct {
		text      string
		installed bool
		program   string
		args      []string
	}{
		"exec form":          {`{"type":"command","command":"/a b/claude-hook","args":["Stop"]}`, true, "/a b/claude-hook", []string{"Stop"}},
		"shell form":         {`{"type":"command","command":"'/it'\\''s/claude-hook' Stop"}`, true, "/it's/claude-hook", []string{"Stop"}},
		"double quotes":      {`{"type":"command","command":"\"/a b/claude-hook\"  Stop "}`, true, "/a b/claude-hook", []string{"Stop"}},
		"quoted space":       {`{"type":"command","command":"/a\\ b/claude-hook Stop"}`, true, "/a b/claude-hook", []string{"Stop"}},
		"Windows path":       {`{"type":"command","command":"C:\\hooks\\claude-hook.exe Stop"}`, true, `C:\hooks\claude-hook.exe`, []string{"Stop"}},
		"env":                {`{"type":"command","command":"/usr/bin/env","args":["GOMEMLIMIT=","GODEBUG=","/a b/claude-hook","Stop"]}`, true, "/a b/claude-hook", []string{"Stop"}},
		"env by itself":      {`{"type":"command","command":"/usr/bin/env"}`, false, "/usr/bin/env", nil},
		"env of another":     {`{"type":"command","command":"env","args":["A=1","mine","Stop"]}`, false, "mine", []string{"Stop"}},
		"variable and exec":  {`{"type":"command","command":"GOMEMLIMIT= GODEBUG= exec '/x/claude-hook' Stop"}`, true, "/x/claude-hook", []string{"Stop"}},
		"name alone":         {`{"type":"command","command":"claude-hook"}`, true, "claude-hook", nil},
		"last double counts": {`{"type":"command","command":"x","command":"claude-hook"}`, true, "claude-hook", nil},
		"flags":              {`{"type":"command","command":"claude-hook --port 3043"}`, false, "claude-hook", []string{"--port", "3043"}},
		"flags in args":      {`{"type":"command","command":"claude-hook","args":["--port","3043"]}`, false, "claude-hook", []string{"--port", "3043"}},
		"interpreter":        {`{"type":"command","command":"node claude-hook"}`, false, "node", []string{"claude-hook"}},
		"PowerShell":         {`{"type":"command","command":"& 'C:\\it''s\\claude-hook.exe' copilot Stop ; exit 0"}`, true, `C:\it's\claude-hook.exe`, []string{"copilot", "Stop"}},
		"cmd":                {`{"type":"command","command":"\"C:\\a b\\claude-hook.exe\" codex Stop"}`, true, `C:\a b\claude-hook.exe`, []string{"codex", "Stop"}},
		"longer name":        {`{"type":"command","command":"/x/my-claude-hook Stop"}`, false, "/x/my-claude-hook", []string{"Stop"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root, err := jsonedit.Parse([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			h, ok := parseHandler([]byte(tt.text), root)
			if !ok || h.installed() != tt.installed || h.program != tt.program || len(h.args) != len(tt.args) {
				t.Fatalf("read %+v, %v; installed %v", h, ok, h.installed())
			}
			if diff := cmp.Diff(tt.args, h.args, cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
				t.Errorf("args (-want +got):\n%s", diff)
			}
		})
	}
	for _, text := range []string{
		`null`, `{}`, `{"command":"claude-hook"}`, `{"type":"http","command":"claude-hook"}`, `{"type":"command"}`,
		`{"type":"command","command":""}`, `{"type":"command","command":7}`, `{"type":"command","command":"claude-hook","args":"Stop"}`,
		`{"type":"command","command":"claude-hook","async":"yes"}`,
	} {
		root, err := jsonedit.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if h, ok := parseHandler([]byte(text), root); ok {
			t.Errorf("%s taken for a command: %+v", text, h)
		}
	}
}
