package codex

import (
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// TestStatusByWords reads the status of calls without an item from their output texts.
func TestStatusByWords(t *testing.T) {
	for text, want := range map[string]hook.ToolStatus{
		"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nProcess exited with code 3":                                hook.ToolOK,
		"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\noops":                                                      hook.ToolFailed,
		"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.":                                                                               hook.ToolOK,
		"Exit code: 1\nWall time: 0 seconds\nOutput:\n":                                                                                       hook.ToolFailed,
		"Command blocked by PreToolUse hook: no. Command: rm":                                                                                 hook.ToolDenied,
		`exec_command failed: CreateProcess { message: "Rejected(\"rejected by user\")" }`:                                                    hook.ToolDenied,
		"exec_command failed for `/bin/sh -lc ls`: CreateProcess { message: \"Codex(Sandbox(Denied { exit_code: 1, stdout: \\\"Rejected(\\\"": hook.ToolFailed,
		"exec_command failed for `grep 'Rejected('`: CreateProcess { message: \"Codex(Sandbox(Denied":                                         hook.ToolFailed,
		"exec_command failed for `/bin/sh -lc ls`: CreateProcess { message: \"Rejected(\\\"rejected by user\\\")\" }":                         hook.ToolDenied,
		"exec_command failed: CreateProcess { message: \"Codex(Sandbox(Denied { exit_code: 1, stdout: \\\"Rejected(\\\"":                      hook.ToolFailed,
		"write_stdin failed: stdin is closed for this session":                                                                                hook.ToolFailed,
		"exec_command failed: no such shell":                                                                                                  hook.ToolFailed,
		"aborted by user after 3.3s":                                                                                                          hook.ToolCancelled,
		"Wall time: 1.4 seconds\naborted by user":                                                                                             hook.ToolCancelled,
		"unsupported call: x":           hook.ToolFailed,
		"exec command rejected by user": hook.ToolDenied,
		"failed in sandbox LinuxSeccomp with execution error: sandbox denied exec error, exit code: 2": hook.ToolFailed,
		"error: Failed to find expected lines in a.go":                                                 hook.ToolFailed,
		"patch rejected by user":              hook.ToolDenied,
		"apply_patch verification failed: no": hook.ToolFailed,
		"unsupported custom tool call: x":     hook.ToolFailed,
		"unable to locate image":              hook.ToolFailed,
		"failed to parse":                     hook.ToolFailed,
		"execution error: no":                 hook.ToolFailed,
		"invalid id":                          hook.ToolFailed,
		"Script failed":                       hook.ToolFailed,
		"it failed to parse":                  hook.ToolOK,
		"Plan updated":                        hook.ToolOK,
		"":                                    hook.ToolOK,
	} {
		if got := statusOf(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestFailureHasAClass has the errors of turns that failed, the first four as the real
// program wrote them.
func TestFailureHasAClass(t *testing.T) {
	for text, want := range map[string]string{
		`{"message":"mock error","codex_error_info":"other"}`:                                                         "",
		`{"message":"status 401","codex_error_info":{"http_connection_failed":{"http_status_code":401}}}`:             "http_connection_failed",
		`{"message":"status 503","codex_error_info":{"http_connection_failed":{"http_status_code":503}}}`:             "http_connection_failed",
		`{"message":"retry limit","codex_error_info":{"response_too_many_failed_attempts":{"http_status_code":429}}}`: "response_too_many_failed_attempts",
		`{"codex_error_info":{"response_stream_connection_failed":{}}}`:                                               "response_stream_connection_failed",
		`{"codex_error_info":{"response_stream_disconnected":{}}}`:                                                    "response_stream_disconnected",
		`{"message":"too long","codex_error_info":"context_window_exceeded"}`:                                         "context_window_exceeded",
		`{"message":"later","codex_error_info":{"new":{"id":"8d6c"}}}`:                                                "",
		`{"message":"none"}`: "",
	} {
		if got := errorClass(rawjson.Members([]byte(text))); got != want {
			t.Errorf("%s: class %q, want %q", text, got, want)
		}
	}
}

// TestCommandLine shows commands as a person types them: of a shell's words the last one.
func TestCommandLine(t *testing.T) {
	for words, want := range map[string]string{
		`"make test"`:                              "make test",
		`["make","test"]`:                          "make test",
		`["bash","-lc","make test"]`:               "make test",
		`["/bin/sh","-c","a"]`:                     "a",
		`["zsh","-c","a"]`:                         "a",
		`["dash","-c","a"]`:                        "a",
		`["fish","-c","a"]`:                        "a",
		`["ksh","-c","a"]`:                         "a",
		`["pwsh","-Command","a"]`:                  "a",
		`["powershell","-NoProfile","-c","a"]`:     "a",
		`["C:\\x\\PowerShell.exe","-command","a"]`: "a",
		`["cmd","/C","a"]`:                         "a",
		`["bash","script.sh"]`:                     "bash script.sh",
		`["bash","-x","script.sh"]`:                "bash -x script.sh",
		`["rash","-c","a"]`:                        "rash -c a",
		`["-c","a"]`:                               "-c a",
		`["echo","it's","a b","","$x"]`:            `echo 'it'\''s' 'a b' '' '$x'`,
		`[]`:                                       "",
		`{}`:                                       "",
		`["a",1]`:                                  "a 1",
	} {
		line, ok := commandLine([]byte(words))
		if line != want || ok != (want != "") {
			t.Errorf("%s: %q, %t; want %q", words, line, ok, want)
		}
	}
}
