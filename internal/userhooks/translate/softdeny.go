package translate

import (
	"fmt"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// A cancellation stops Cline's whole task, where Claude's model would read the
// reason and try something else. The SDK's Cline takes another input for a call
// instead, so a denied call can be made one that says why and fails.

// deniedBy begins every text of a call that was denied in this way.
const deniedBy = "Denied by a hook: "

// The parts of a command that says why and fails. printf is part of every POSIX
// shell, and of those that Cline may be made to use in place of one.
const (
	softBefore = `printf '`
	softAfter  = `\n' >&2; exit 1`
)

// nowhere is a path below which no file can exist, since it is no folder.
const nowhere = "/dev/null/"

// maxReason bounds a reason that is written into an input, which Cline shows to
// the user as the call.
const maxReason = 4_000

// softDenial is an input with which the call prints why it was denied and fails.
// It is empty if no input is certain to do nothing else.
func (a *answering) softDenial(reason string) string {
	c := a.call
	if c.Kind != hook.KindToolStart {
		return ""
	}
	if c.Dialect != dialectSDK {
		a.note("a denied call stops the task: only the SDK's Cline can deny it and continue")
		return ""
	}
	if c.ctx.GOOS == "windows" {
		a.note("a denied call stops the task: which shell runs Cline's commands on Windows is not known")
		return ""
	}
	reason = deniedBy + strings.ReplaceAll(cut(reason, maxReason), "\x00", "")
	switch c.Tool {
	case "run_commands":
		return rawjson.Encode(object{{"commands", []any{softCommand(reason)}}})
	case "read_files":
		return rawjson.Encode(object{{"files", []any{object{{"path", softPath(reason)}}}}})
	case "editor":
		// A text to replace has to be read first.
		return rawjson.Encode(object{{"path", softPath(reason)}, {"old_text", reason}, {"new_text", reason}})
	}
	a.note("a denied call of %s stops the task: there is no input with which it only says why", c.Tool)
	return ""
}

// softCommand prints the reason as an error and fails.
//
// The reason may quote what the model wrote, so nothing in it may end the quoted
// text, in any shell: what means something to some shell between single quotes
// (a quote, fish's backslash, csh's exclamation mark, a line end) is given as the
// number that printf makes the character of.
func softCommand(reason string) string {
	var b strings.Builder
	b.WriteString(softBefore)
	for i := range len(reason) {
		switch c := reason[i]; {
		case c == '%':
			// Some shells look for these after they have read the numbers.
			b.WriteString("%%")
		case c < ' ' || c == 0x7f || strings.IndexByte(`'\!`, c) >= 0:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString(softAfter)
	return b.String()
}

// softPath is the path of a file that cannot exist, named by the reason. A slash in
// the reason could lead out of nowhere through "..", so it becomes the division sign.
func softPath(reason string) string {
	return nowhere + strings.NewReplacer("/", "\u2215", `\`, "\u2215", "\n", " ", "\r", " ").Replace(reason)
}

// softDenied reports whether a call is one that softDenial made, exactly.
func softDenied(w toolCall) bool {
	if len(w.operations) != 1 {
		return false
	}
	op := w.operations[0]
	switch op.tool {
	case toolBash:
		reason, ok := strings.CutPrefix(op.input.str("command"), softBefore+deniedBy)
		reason, also := strings.CutSuffix(reason, softAfter)
		// Without a quote in it, the command only prints the text.
		return ok && also && !strings.Contains(reason, "'")
	case toolRead, toolEdit:
		return strings.HasPrefix(op.input.str("file_path"), nowhere+deniedBy)
	}
	return false
}
