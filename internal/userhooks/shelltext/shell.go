// Package shelltext writes hooks as people read and type them: as lines for a shell.
package shelltext

import (
	"path/filepath"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

// Word quotes a word for the shell.
func Word(s string) string {
	word, err := syntax.Quote(s, syntax.LangBash)
	if err != nil {
		return strconv.Quote(s) // it holds a NUL, which no word of a command can
	}
	return word
}

// PromptWord quotes a word of a command that a person is to type. On Windows it is a
// path, and cmd.exe and PowerShell both read double quotes.
func PromptWord(goos, s string) string {
	switch {
	case goos != "windows":
		return Word(s)
	case strings.ContainsAny(s, " &()'^;,=%!`$@{}[]+~"):
		return `"` + s + `"`
	}
	return s
}

// Text is what the handler runs, as a shell line or an address.
func Text(h hookfile.Handler) string {
	if h.Type == hookfile.TypeHTTP {
		return h.URL
	}
	words := []string{h.Command}
	for _, arg := range h.Args {
		words = append(words, Word(arg))
	}
	return strings.Join(words, " ")
}

// Describe is hookfile.Describe with the handler's Text.
func Describe(h hookfile.Handler) string { return hookfile.Describe(h, Text(h)) }

// ForwardCommand is the shell line that forwards events to the ports, and those
// that no bridge takes to a folder.
func ForwardCommand(goos, home, program string, ports []int, dir string) string {
	quote := Word
	if goos == "windows" {
		quote = func(word string) string {
			if Word(word) == word {
				return word
			}
			return `"` + word + `"`
		}
	}
	words := []string{quote(program)}
	for _, port := range ports {
		words = append(words, "--port", strconv.Itoa(port))
	}
	rest, below := strings.CutPrefix(dir, home+string(filepath.Separator))
	if below && home != "" && goos != "windows" && quote(rest) == rest {
		return strings.Join(append(words, "--dir", "~/"+rest), " ")
	}
	return strings.Join(append(words, "--dir", quote(dir)), " ")
}
