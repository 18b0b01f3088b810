package settings

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
)

// Shell is what reads a hook's command line.
type Shell uint8

const (
	// ShellPOSIX is sh, and on Windows Git Bash.
	ShellPOSIX Shell = iota
	// ShellPowerShell is Windows' PowerShell.
	ShellPowerShell
	// ShellCmd is cmd.exe.
	ShellCmd
)

// callOperator has PowerShell start a program whose path is quoted.
const callOperator = "& "

// ending are the words that end a command line. They have it succeed in silence, and
// read the payload, even if the program is gone or fails: an agent may deny a call whose
// hook fails, and show what a hook says. cmd.exe has no such words.
func (s Shell) ending() []string {
	switch s {
	case ShellPOSIX:
		return []string{"2>/dev/null", "||", "cat", ">/dev/null"}
	case ShellPowerShell:
		return []string{";", "exit", "0"}
	default:
		return nil
	}
}

// line writes a command line that starts a program.
func (s Shell) line(program string, args []string) string {
	switch {
	case s == ShellPowerShell:
		program = callOperator + "'" + strings.ReplaceAll(program, "'", "''") + "'"
	case s == ShellPOSIX:
		program = install.ShellWord(program)
	case !plain(program, plainInCmd):
		program = `"` + program + `"`
	}
	return strings.Join(slices.Concat([]string{program}, args, s.ending()), " ")
}

// The characters beside letters and digits that a shell reads as they are.
// Programs that start cmd.exe may escape others in a way that it does not know.
const (
	plainEverywhere = "/._-+@:,%"
	plainInCmd      = `\/._-+@:~`
)

// plain reports that a shell reads the path as one word without quotes.
func plain(path, characters string) bool {
	return !strings.ContainsFunc(path, func(r rune) bool {
		known := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r >= 0xa0
		return !known && !strings.ContainsRune(characters, r)
	})
}

// assignment reports a word that sets a variable for the following command.
func assignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// splitWords splits a command line as a shell would, without expanding anything.
// A backslash quotes only what needs it, so that a Windows path stays one.
func splitWords(line string) []string {
	var words []string
	var b strings.Builder
	quote, in := byte(0), false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if in {
				words = append(words, b.String())
				b.Reset()
			}
			in = false
		case c == '\\' && quote != '\'' && i+1 < len(line) && strings.IndexByte(" \t'\"\\$`", line[i+1]) >= 0:
			i++
			in = true
			b.WriteByte(line[i])
		default:
			in = true
			b.WriteByte(c)
		}
	}
	if in {
		words = append(words, b.String())
	}
	return words
}
