package redact

import (
	"slices"
	"strings"
)

// elements reads the words of a command that is a list of quoted words, of which the name is
// from lo to hi: ["curl", "-u", "user:password"]. There are none if it is no such list.
func (t *text) elements(lo, hi int) []argument {
	s := t.s
	end := min(len(s), lo+longestCommand)
	i := listBehind(s[:end], endOf(s[:end], hi, 8, oneOf(`\`)))
	if i < 0 {
		return nil
	}
	out := []argument{{lo: lo, hi: hi}}
	for i < end {
		w, next := t.element(i, end)
		if next < 0 || s[w.lo:w.hi] == s[lo:hi] {
			break // No word, or the next command.
		}
		out = append(out, w)
		comma := afterBlanks(s[:end], endOf(s[:end], next, 60, wordBytes.or(" +.$"))) // "-u" + user
		if !byteIn(s[:end], comma, ",") {
			break
		}
		i = afterBlanks(s[:end], comma+1)
	}
	return out
}

// behindQuoted reads the words of a command whose name alone, or with its path, is in quotes: "curl" -u a:b.
func (t *text) behindQuoted(lo, hi int) []argument {
	quote := endOf(t.s, hi, 8, oneOf(`\`))
	if !byteIn(t.s, quote, `"'`) || !byteIn(t.s, quote+1, " \t") || !byteIn(t.s, blanks(t.s, quote+1), `-/"'\`) {
		return nil
	}
	return t.words(quote+1, argument{lo: lo, hi: hi})
}

// listBehind is where the words begin behind the command's name, which the quote at i closes: in its list,
// or in one behind it, as in spawn("curl", ["-u"]) and "command": "curl", "args": ["-u"]. It is -1 if
// there are none.
func listBehind(s string, i int) int {
	if !byteIn(s, i, `"'`) {
		return -1
	}
	i = afterBlanks(s, i+1)
	behind := s[i:endOf(s, i, 40, wordBytes.or("\"'\\:=,.&@()[]{ \t\r\n"))]
	at := strings.LastIndexAny(behind, "[{(")
	switch {
	case at >= 0 && byteIn(s, i, ",)]") && joins(behind[:at]):
		return afterBlanks(s, i+at+1)
	case byteIn(s, i, ","):
		return afterBlanks(s, i+1)
	}
	return -1
}

// joins reports whether v may be between a command's name and the list of its words.
func joins(v string) bool {
	for i := 0; i < len(v); {
		if n := lineBreak(v, i); n > 0 {
			i += n
			continue
		}
		end := endOf(v, i, len(v), wordBytes)
		if end > i && !slices.Contains(argumentWords(), v[i:end]) {
			return false
		}
		i = max(end, i+1)
	}
	return true
}

// element reads the word at i of a list, and is where it ends. It is -1 if there is none. A word that is
// no text, such as a variable, is empty.
func (t *text) element(i, end int) (w argument, next int) {
	s := t.s[:end]
	prefix := endOf(s, i, 2, letterBytes.or("@$")) // as in f"…"
	open := endOf(s, prefix, 8, oneOf(`\`))
	if !byteIn(s, open, "\"'`") {
		next = endOf(s, i, 60, wordBytes.or(".$*"))
		if next == i {
			return w, -1
		}
		if byteIn(s, next, "([") {
			next = min(end, find(s, next, end, ")]\n")+1)
		}
		return argument{lo: i, hi: i}, next
	}
	// A quote in the word has more backslashes than those around it.
	escapes, j := open-prefix, open+1
	for ; j < end && s[j] != '\n'; j++ {
		if s[j] != s[open] {
			continue
		}
		switch n := j - startOf(s, j, j-open-1, oneOf(`\`)); {
		case n%(2*escapes+2) == escapes:
			w = argument{lo: open + 1, hi: j - escapes}
			w.quoted = strings.Contains(s[w.lo:w.hi], " ") // it may be another command
			return w, j + 1
		case n < escapes:
			return w, -1 // The text around the list ends.
		}
	}
	if !t.cut {
		return w, -1
	}
	if mark := t.nextMark(open+1, j); mark >= 0 {
		j = mark
	}
	if !t.isCutAt(j) {
		return w, -1
	}
	return argument{lo: open + 1, hi: j}, j
}

// afterBlanks is where the blanks and the line breaks at i end.
func afterBlanks(s string, i int) int {
	for i = blanks(s, i); lineBreak(s, i) > 0; {
		i = blanks(s, i+lineBreak(s, i))
	}
	return i
}
