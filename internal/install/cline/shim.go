package cline

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
)

// shimVersion is the version of the hook files this package writes. It rises
// when their text changes in any way, so that a file of an earlier version is
// still distinguished from an edited one.
const shimVersion = 1

// markerPrefix opens the comment that marks a hookspan hook file. The version, in
// decimal, follows it directly.
const markerPrefix = "# hookspan:cline-hook v"

// markerRest is the marker's text after the version.
const markerRest = ` - managed by "hookspan install cline"; removed by "hookspan uninstall cline".`

// neutralReply is what a hook file answers when it can reach no program. Cline
// needs the single space: without it the row in the chat stays "Running".
const neutralReply = `{"cancel":false,"contextModification":" ","errorMessage":""}`

// chainVariable names the script that the hook process runs as well.
const chainVariable = "HOOKSPAN_CHAIN"

// startFunction replaces the shell by a program, and returns only if it cannot.
const startFunction = `start() {
  [ -n "$KSH_VERSION" ] || exec "$@"
  "$@"; code=$?
  case $code in 126|127) ;; *) trap - EXIT; exit $code ;; esac
}
`

// startHook opens the line that names the event.
const startHook = `[ -x "$hook" ] && start "$hook" `

// shim is the content of a hook file.
type shim struct {
	// Version is the marker's version, 0 when rendering the current one.
	Version int
	// Event is the name the hook process is started with.
	Event string
	// Binary is the absolute path of cline-hook.
	Binary string
	// Chain is the absolute path of the user's script, empty without one.
	Chain string
	// Edited reports that the file's bytes are not those this package writes.
	Edited bool
}

// hookFileName is the name Cline expects a hook file to have on goos.
func hookFileName(goos, event string) string {
	if goos == "windows" {
		return event + ".ps1"
	}
	return event
}

// malformed are the variables that end a Go program before its first line where
// they hold what it cannot read: GOMEMLIMIT=1GB does, with exit code 2. Neither the
// hook nor its children need them.
var malformed = []string{"GOMEMLIMIT", "GODEBUG"}

// render writes the hook file's text.
func render(goos string, s shim) []byte {
	if goos == "windows" {
		return renderPowerShell(s)
	}
	return renderShell(s)
}

// renderShell writes a script for any POSIX shell. The way to the hook process
// forks nothing. The trap answers for every way of not getting there: a program
// that is gone, and one that cannot be started because it is being replaced. A
// shell other than bash exits when exec fails, which runs the trap; bash skips
// the trap then, unless execfail lets it continue to the end of the file; ksh93
// always skips it, so a ksh starts the program as a child (126 and 127 are a
// shell's codes for a program it could not start). busybox runs a program of an
// unknown form as a script; no hook file can prevent that.
func renderShell(s shim) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "#!/bin/sh\n%s%d%s\n", markerPrefix, shimVersion, markerRest)
	fmt.Fprintf(&b, "hook=%s\n", install.ShellWord(s.Binary))
	if s.Chain != "" {
		fmt.Fprintf(&b, "export %s=%s\n", chainVariable, install.ShellWord(s.Chain))
	}
	b.WriteString("[ -n \"$BASH_VERSION\" ] && shopt -s execfail 2>/dev/null\n")
	fmt.Fprintf(&b, "trap 'cat >/dev/null 2>&1; echo %s; exit 0' EXIT\n", strings.ReplaceAll(install.ShellWord(neutralReply), "'", `'\''`))
	fmt.Fprintf(&b, "unset %s\n", strings.Join(malformed, " "))
	b.WriteString(startFunction)
	fmt.Fprintf(&b, "%s%s\n", startHook, s.Event)
	if s.Chain != "" {
		// Without hookspan the user's script runs as it did before it.
		fmt.Fprintf(&b, "[ -x \"$%s\" ] && start \"$%s\"\n", chainVariable, chainVariable)
	}
	return b.Bytes()
}

// renderPowerShell writes a script for Windows PowerShell 5.1 and later. The
// byte order mark makes 5.1 read the file as UTF-8. The payload is copied as
// bytes, because PowerShell's own pipes recode text.
func renderPowerShell(s shim) []byte {
	var b bytes.Buffer
	b.WriteString("\ufeff")
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\r\n", args...) }
	line("%s%d%s", markerPrefix, shimVersion, markerRest)
	line("$hook = %s", quotePowerShell(s.Binary))
	if s.Chain != "" {
		line("$env:%s = %s", chainVariable, quotePowerShell(s.Chain))
	}
	line("$ErrorActionPreference = 'SilentlyContinue'")
	line("$payload = [Console]::OpenStandardInput()")
	line("$process = $null")
	line("if (Test-Path -LiteralPath $hook -PathType Leaf) {")
	line("  $start = New-Object System.Diagnostics.ProcessStartInfo")
	line("  $start.FileName = $hook")
	line("  $start.Arguments = '%s'", s.Event)
	line("  $start.UseShellExecute = $false")
	line("  $start.RedirectStandardInput = $true")
	for _, name := range malformed {
		line("  $start.EnvironmentVariables.Remove('%s')", name)
	}
	line("  $process = [System.Diagnostics.Process]::Start($start)")
	line("}")
	line("if ($process) {")
	line("  $payload.CopyTo($process.StandardInput.BaseStream)")
	line("  $process.StandardInput.Close()")
	line("  $process.WaitForExit()")
	line("  exit 0")
	line("}")
	line("$payload.CopyTo([System.IO.Stream]::Null)")
	line("[Console]::Out.WriteLine('%s')", neutralReply)
	line("exit 0")
	return b.Bytes()
}

// parseShim reads a hook file. It reports false for a file without the marker,
// which is a user's file.
func parseShim(goos string, data []byte) (shim, bool) {
	lines := strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
	at := markerLine(lines)
	if at < 0 {
		return shim{}, false
	}
	var s shim
	number, _, _ := strings.Cut(strings.TrimPrefix(lines[at], markerPrefix), " ")
	s.Version, _ = strconv.Atoi(number)
	for _, line := range lines[at+1:] {
		line = strings.TrimSuffix(line, "\r")
		if goos == "windows" {
			s.readPowerShell(line)
		} else {
			s.readShell(line)
		}
	}
	// Anything after the event's name on its line would be rendered with it.
	notLetter := func(r rune) bool { return !('a' <= r|0x20 && r|0x20 <= 'z') }
	s.Edited = s.Version != shimVersion || strings.ContainsFunc(s.Event, notLetter) || !bytes.Equal(render(goos, s), data)
	return s, true
}

// markerLine finds the marker in the first lines of a file; a mention of it
// further down is another text about hookspan.
func markerLine(lines []string) int {
	for i, line := range lines[:min(len(lines), 3)] {
		if strings.HasPrefix(line, markerPrefix) {
			return i
		}
	}
	return -1
}

func (s *shim) readShell(line string) {
	if v, ok := strings.CutPrefix(line, "hook="); ok {
		s.Binary = unquoteShell(v)
	}
	if v, ok := strings.CutPrefix(line, "export "+chainVariable+"="); ok {
		s.Chain = unquoteShell(v)
	}
	if v, ok := strings.CutPrefix(line, startHook); ok {
		s.Event = v
	}
}

func (s *shim) readPowerShell(line string) {
	if v, ok := strings.CutPrefix(line, "$hook = "); ok {
		s.Binary = unquotePowerShell(v)
	}
	if v, ok := strings.CutPrefix(line, "$env:"+chainVariable+" = "); ok {
		s.Chain = unquotePowerShell(v)
	}
	if v, ok := strings.CutPrefix(line, "  $start.Arguments = "); ok {
		s.Event = unquotePowerShell(v)
	}
}

func unquoteShell(s string) string {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "'"), "'")
	return strings.ReplaceAll(s, `'\''`, "'")
}

// powerShellQuotes are the characters PowerShell takes for a single quote.
const powerShellQuotes = "'\u2018\u2019\u201a\u201b"

// quotePowerShell makes a string literal: each quote character is doubled.
func quotePowerShell(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		if strings.ContainsRune(powerShellQuotes, r) {
			b.WriteRune(r)
		}
		b.WriteRune(r)
	}
	b.WriteByte('\'')
	return b.String()
}

func unquotePowerShell(s string) string {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "'"), "'")
	var b strings.Builder
	doubled := false
	for _, r := range s {
		if strings.ContainsRune(powerShellQuotes, r) && !doubled {
			doubled = true
			continue
		}
		doubled = false
		b.WriteRune(r)
	}
	return b.String()
}

// sidecarDir holds chained scripts, inside the hook folder itself so that a
// rename moves them. Cline runs the regular files of a hook folder and enters no
// folder in it.
const sidecarDir = ".hookspan-chained"

// sidecar is the path to which the user's script moves when the hook at path is
// chained.
func sidecar(path string) string {
	return filepath.Join(filepath.Dir(path), sidecarDir, filepath.Base(path))
}

// chainTarget is the path under which a script in the sidecar folder is run: its
// own, or the target of a symbolic link as seen from the link's first place.
func chainTarget(goos string, side install.File) string {
	if !side.Runnable() {
		return ""
	}
	if _, isShim := readShim(goos, side); isShim {
		// Running it would start the hook process that runs it.
		return ""
	}
	switch {
	case side.Link == "":
		return side.Path
	case filepath.IsAbs(side.Link):
		return side.Link
	default:
		return filepath.Join(filepath.Dir(filepath.Dir(side.Path)), side.Link)
	}
}

// readShim reads a file as a hookspan hook file.
func readShim(goos string, f install.File) (shim, bool) {
	if !f.Runnable() {
		return shim{}, false
	}
	return parseShim(goos, f.Data)
}
