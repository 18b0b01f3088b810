package hookfile

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ShellWord quotes a word for the shell.
func ShellWord(s string) string {
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
		return ShellWord(s)
	case strings.ContainsAny(s, " &()'^;,=%!`$@{}[]+~"):
		return `"` + s + `"`
	}
	return s
}

// Text is what the handler runs, as a shell line or an address.
func (h Handler) Text() string {
	if h.Type == TypeHTTP {
		return h.URL
	}
	words := []string{h.Command}
	for _, arg := range h.Args {
		words = append(words, ShellWord(arg))
	}
	return strings.Join(words, " ")
}
