package cline

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestShimText(t *testing.T) {
	s := shim{Event: "TaskStart", Binary: "/opt/it's here/cline-hook", Chain: "/home/u/.hookspan-chained/TaskStart"}
	tests := map[string]struct {
		goos string
		want string
	}{
		"posix shell": {"linux", `#!/bin/sh
# hookspan:cline-hook v1 - managed by "hookspan install cline"; removed by "hookspan uninstall cline".
hook='/opt/it'\''s here/cline-hook'
export HOOKSPAN_CHAIN='/home/u/.hookspan-chained/TaskStart'
[ -n "$BASH_VERSION" ] && shopt -s execfail 2>/dev/null
trap 'cat >/dev/null 2>&1; echo '\''{"cancel":false,"contextModification":" ","errorMessage":""}'\''; exit 0' EXIT
unset GOMEMLIMIT GODEBUG
start() {
  [ -n "$KSH_VERSION" ] || exec "$@"
  "$@"; code=$?
  case $code in 126|127) ;; *) trap - EXIT; exit $code ;; esac
}
[ -x "$hook" ] && start "$hook" TaskStart
[ -x "$HOOKSPAN_CHAIN" ] && start "$HOOKSPAN_CHAIN"
`},
		"powershell": {"windows", "\ufeff" + strings.ReplaceAll(`# hookspan:cline-hook v1 - managed by "hookspan install cline"; removed by "hookspan uninstall cline".
$hook = '/opt/it''s here/cline-hook'
$env:HOOKSPAN_CHAIN = '/home/u/.hookspan-chained/TaskStart'
$ErrorActionPreference = 'SilentlyContinue'
$payload = [Console]::OpenStandardInput()
$process = $null
if (Test-Path -LiteralPath $hook -PathType Leaf) {
  $start = New-Object System.Diagnostics.ProcessStartInfo
  $start.FileName = $hook
  $start.Arguments = 'TaskStart'
  $start.UseShellExecute = $false
  $start.RedirectStandardInput = $true
  $start.EnvironmentVariables.Remove('GOMEMLIMIT')
  $start.EnvironmentVariables.Remove('GODEBUG')
  $process = [System.Diagnostics.Process]::Start($start)
}
if ($process) {
  $payload.CopyTo($process.StandardInput.BaseStream)
  $process.StandardInput.Close()
  $process.WaitForExit()
  exit 0
}
$payload.CopyTo([System.IO.Stream]::Null)
[Console]::Out.WriteLine('{"cancel":false,"contextModification":" ","errorMessage":""}')
exit 0
`, "\n", "\r\n")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(render(tt.goos, s))); diff != "" {
				t.Errorf("hook file (-want +got):\n%s", diff)
			}
		})
	}
}

// awkwardPaths are legal paths that a careless quoting breaks.
func awkwardPaths() []string {
	return []string{
		"/usr/bin/cline-hook",
		"/with space/cline hook",
		"/it's/'quoted'/''/x'",
		`/double"quote/$HOME/` + "`id`" + `/\back\slash\n`,
		"/文档/Документы/né😀",
		"/typographic\u2018quotes\u2019\u201a\u201b/x",
		"/ends in quote'",
		"/'",
		"-n",
	}
}

func TestShimParsesBack(t *testing.T) {
	for _, goos := range []string{"linux", "windows"} {
		for _, path := range awkwardPaths() {
			for _, chain := range []string{"", path + "2"} {
				want := shim{Version: shimVersion, Event: "PostToolUse", Binary: path, Chain: chain}
				got, ours := parseShim(goos, render(goos, want))
				if !ours {
					t.Fatalf("%s %q: our own file is not recognised", goos, path)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s %q (-want +got):\n%s", goos, path, diff)
				}
			}
		}
	}
}

func TestShimOwnership(t *testing.T) {
	own := string(render("linux", shim{Event: "TaskStart", Binary: "/b"}))
	tests := map[string]struct {
		text         string
		ours, edited bool
	}{
		"as written":                {own, true, false},
		"line added":                {own + "echo hello\n", true, true},
		"line made longer":          {strings.TrimSuffix(own, "\n") + " # mine\n", true, true},
		"line removed":              {strings.Replace(own, "[ -n", "# [ -n", 1), true, true},
		"windows line ends":         {strings.ReplaceAll(own, "\n", "\r\n"), true, true},
		"newer version":             {strings.Replace(own, "hook v1", "hook v2", 1), true, true},
		"version that is no number": {strings.Replace(own, "hook v1", "hook vX", 1), true, true},
		"cut short":                 {own[:len(own)-5], true, true},
		"marker removed":            {strings.Replace(own, markerPrefix, "# ", 1), false, false},
		"marker only quoted":        {"#!/bin/sh\n\n\n\ngrep '\n" + markerPrefix + "1'\n", false, false},
		"empty":                     {"", false, false},
		"binary":                    {"\x7fELF\x00\x00", false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ours := parseShim("linux", []byte(tt.text))
			if ours != tt.ours || got.Edited != tt.edited {
				t.Errorf("ours %v, edited %v; want %v, %v", ours, got.Edited, tt.ours, tt.edited)
			}
		})
	}
}

func FuzzParseShim(f *testing.F) {
	for _, goos := range []string{"linux", "windows"} {
		f.Add(render(goos, shim{Event: "TaskStart", Binary: "/it's", Chain: "/c"}))
	}
	f.Add([]byte(markerPrefix))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, goos := range []string{"linux", "windows"} {
			s, ours := parseShim(goos, data)
			if ours && !s.Edited && !bytes.Equal(render(goos, s), data) {
				t.Errorf("%s: taken for unedited, but would be written as %q", goos, render(goos, s))
			}
		}
	})
}

// shells are the shells that hook files must run under, as far as this machine
// has them.
func shells(t *testing.T) map[string][]string {
	t.Helper()
	if runtime.GOOS == "windows" {
		skip.Missing(t, "hook files for POSIX shells are not run on Windows")
	}
	found := map[string][]string{}
	for name, argv := range map[string][]string{
		"sh": {"sh"}, "dash": {"dash"}, "bash": {"bash"}, "bash posix": {"bash", "--posix"},
		"busybox": {"busybox", "sh"}, "zsh": {"zsh"}, "ksh": {"ksh"},
	} {
		if _, err := exec.LookPath(argv[0]); err != nil {
			t.Logf("%s is not on this machine and not tested", name)
			continue
		}
		found[name] = argv
	}
	if len(found) == 0 {
		t.Fatal("no shell to test with")
	}
	return found
}

// fakeHook writes a program that records its argument, its chain and its stdin
// beside itself, and answers.
func fakeHook(t *testing.T, path string) {
	t.Helper()
	text := "#!/bin/sh\nd=" + install.ShellWord(filepath.Dir(path)) + "\n" +
		`printf '%s|%s|%s' "$#" "$1" "$HOOKSPAN_CHAIN" >"$d/args"; cat >"$d/stdin"; echo answered` + "\n"
	installtest.Write(t, path, text, 0o755)
}

// result is what a host sees of a hook.
type result struct {
	Stdout, Stderr string
	Code           int
}

func runHook(t *testing.T, argv []string, file, stdin string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], append(argv[1:], file)...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		// A host that writes to a hook that has not read everything fails here.
		t.Fatalf("run hook file: %v", err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// payload is larger than a pipe holds.
var payload = strings.Repeat(`{"x":"é\n"}`, 100_000)

func TestShimStartsHook(t *testing.T) {
	for shell, argv := range shells(t) {
		for _, dir := range []string{"plain", "with space", "it's 'q'", `$HOME "x" \n`, "文档 é"} {
			t.Run(shell+"/"+dir, func(t *testing.T) {
				root := filepath.Join(t.TempDir(), dir)
				binary, file := filepath.Join(root, "cline-hook"), filepath.Join(root, "TaskStart")
				fakeHook(t, binary)
				chain := filepath.Join(root, "it's mine")
				installtest.Write(t, file, string(render("linux", shim{Event: "TaskStart", Binary: binary, Chain: chain})), 0o755)
				got := runHook(t, argv, file, payload)
				if diff := cmp.Diff(result{Stdout: "answered\n"}, got); diff != "" {
					t.Errorf("what the host sees (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff("1|TaskStart|"+chain, installtest.Read(t, filepath.Join(root, "args"))); diff != "" {
					t.Errorf("arguments (-want +got):\n%s", diff)
				}
				if installtest.Read(t, filepath.Join(root, "stdin")) != payload {
					t.Error("the hook did not get the payload as it was sent")
				}
			})
		}
	}
}

func TestShimWithoutHook(t *testing.T) {
	tests := map[string]struct {
		// prepare makes the program's path what it is.
		prepare func(t *testing.T, binary string)
		noisy   bool
	}{
		"program gone":           {func(*testing.T, string) {}, false},
		"program not executable": {func(t *testing.T, b string) { installtest.Write(t, b, "#!/bin/sh\n", 0o644) }, false},
		"program cannot start": {func(t *testing.T, b string) {
			installtest.Write(t, b, "#!/no/such/interpreter\n", 0o755)
		}, true},
		"program is a folder": {func(t *testing.T, b string) {
			installtest.Write(t, filepath.Join(b, "file"), "", 0o644)
		}, true},
	}
	for shell, argv := range shells(t) {
		for name, tt := range tests {
			t.Run(shell+"/"+name, func(t *testing.T) {
				root := t.TempDir()
				binary, file := filepath.Join(root, "cline-hook"), filepath.Join(root, "TaskStart")
				tt.prepare(t, binary)
				installtest.Write(t, file, string(render("linux", shim{Event: "TaskStart", Binary: binary})), 0o755)
				got := runHook(t, argv, file, payload)
				if tt.noisy {
					// The shell itself complains; a host shows it and continues.
					got.Stderr = ""
				}
				if diff := cmp.Diff(result{Stdout: neutralReply + "\n"}, got); diff != "" {
					t.Errorf("what the host sees (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestShimWithoutHookRunsChainedScript(t *testing.T) {
	for shell, argv := range shells(t) {
		t.Run(shell, func(t *testing.T) {
			root := t.TempDir()
			file, chain := filepath.Join(root, "TaskStart"), filepath.Join(root, "my script")
			installtest.Write(t, chain, "#!/bin/sh\nwc -c\nexit 3\n", 0o755)
			installtest.Write(t, file, string(render("linux", shim{Event: "TaskStart", Binary: filepath.Join(root, "gone"), Chain: chain})), 0o755)
			got := runHook(t, argv, file, "12345")
			got.Stdout = strings.TrimSpace(got.Stdout)
			if diff := cmp.Diff(result{Stdout: "5", Code: 3}, got); diff != "" {
				t.Errorf("what the host sees (-want +got):\n%s", diff)
			}
		})
	}
}

func BenchmarkShim(b *testing.B) {
	root := b.TempDir()
	binary, err := exec.LookPath("true")
	if err != nil {
		skip.Missing(b, "no true program here")
	}
	file := filepath.Join(root, "TaskStart")
	if err := os.WriteFile(file, render("linux", shim{Event: "TaskStart", Binary: binary}), 0o755); err != nil { //nolint:gosec // it is run
		b.Fatal(err)
	}
	for name, argv := range map[string][]string{"direct": {binary}, "through the hook file": {file}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := exec.CommandContext(b.Context(), argv[0]).Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
