package redact

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// text is a stretch of text between markers, with what the rules ask of it.
type text struct {
	s string
	// cut says that the text's end may not be the end of what was written, last
	// that the stretch ends where the text ends.
	cut, last bool

	// marks of cuts that were looked for, in the stretch from lo to hi.
	marks  []int
	lo, hi int

	// mnemonic is how far words were read that a mnemonic may have.
	mnemonic int
	memory   *textMemory

	// read is how far the command lines were read that a probe has found.
	read map[*command]int
}

// textMemory is memory for the name that is read, the value that is judged and the cells of a header.
type textMemory struct {
	named  assignment
	judged candidate
	blank  blank
	head   []span
}

// isCutAt reports whether the text was cut at i: it ends there, or a mark says so.
func (t *text) isCutAt(i int) bool { return t.cut && cutAt(t.s, i, t.last) }

// nextMark is the first cut mark between from and to, or -1. What was looked for
// once is kept while the places ascend: a text may be full of what could be the
// beginning of a secret.
func (t *text) nextMark(from, to int) int {
	to = min(to, len(t.s))
	if from < t.lo {
		lo, _ := nextMark(t.s[:to], from)
		return lo
	}
	if from > t.hi {
		t.lo, t.hi, t.marks = from, from, t.marks[:0]
	}
	for t.hi < to {
		// A mark may begin before to and end behind it.
		lo, _ := nextMark(t.s[:min(len(t.s), to+longestMark)], t.hi)
		if lo < 0 || lo >= to {
			t.hi = to
			break
		}
		t.marks = append(t.marks, lo)
		t.hi = lo + 1
	}
	n := sort.SearchInts(t.marks, from)
	if n == len(t.marks) || t.marks[n] >= to || markAt(t.s[t.marks[n]:to]) == 0 {
		return -1
	}
	return t.marks[n]
}

// digits and letters are those of ASCII.
const (
	digits       = "0123456789"
	letters      = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	alphanumeric = letters + digits
)

// set is a set of bytes: those of some classes, and a few others.
type set struct {
	classes class
	others  string
}

// class is a set of classes of bytes.
type class uint8

const (
	isDigit class = 1 << iota
	isLower
	isUpper
	isUnderscore
)

// The sets of which most others are made.
var (
	digitBytes  = set{classes: isDigit}
	lowerBytes  = set{classes: isLower}
	upperBytes  = set{classes: isUpper}
	letterBytes = set{classes: isLower | isUpper}
	alnumBytes  = set{classes: isLower | isUpper | isDigit}
	wordBytes   = set{classes: isLower | isUpper | isDigit | isUnderscore}
	base64Bytes = alnumBytes.or("+/=")
)

// classOf has the class of each byte, or 0.
var classOf = func() (of [256]class) {
	for c, bytes := range map[class]string{isDigit: digits, isUpper: letters[:26], isLower: letters[26:], isUnderscore: "_"} {
		for _, b := range []byte(bytes) {
			of[b] = c
		}
	}
	return of
}()

// oneOf is the set of the bytes given.
func oneOf(bytes string) set { return set{others: bytes} }

// or adds bytes to a set without others.
func (a set) or(bytes string) set { return set{a.classes, bytes} }

func (a set) has(c byte) bool {
	if classOf[c]&a.classes != 0 {
		return true
	}
	for i := range len(a.others) {
		if a.others[i] == c {
			return true
		}
	}
	return false
}

// endOf returns where the bytes of a set end that begin at i, at most most bytes.
func endOf(s string, i, most int, a set) int {
	for end := min(len(s), i+most); i < end && a.has(s[i]); i++ {
	}
	return i
}

// startOf returns where the bytes of a set begin that end at i, at most most bytes.
func startOf(s string, i, most int, a set) int {
	for least := max(0, i-most); i > least && a.has(s[i-1]); i-- {
	}
	return i
}

// only reports whether s has no other bytes than those of a set.
func only(s string, a set) bool { return endOf(s, 0, len(s), a) == len(s) }

// byteIn reports whether one of a few bytes is at i.
func byteIn(s string, i int, bytes string) bool { return i < len(s) && oneOf(bytes).has(s[i]) }

// find returns where the first byte of a set is from i on, at most end.
func find(s string, i, end int, set string) int {
	if n := strings.IndexAny(s[i:end], set); n >= 0 {
		return i + n
	}
	return end
}

// wordEnd returns where the blank or the byte of a set is that ends the word at i,
// at most end.
func wordEnd(s string, i, end int, set string) int {
	for i < end && s[i] > ' ' && strings.IndexByte(set, s[i]) < 0 {
		i++
	}
	return i
}

// containsOne reports whether s contains one of the parts.
func containsOne(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// endsInOne reports whether s ends in one of the parts.
func endsInOne(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.HasSuffix(s, part) })
}

// hasOnePrefix reports whether s begins with one of the parts.
func hasOnePrefix(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(s, part) })
}

// ellipsis reports whether a text begins with the most common cut marks.
func ellipsis(s string) bool {
	return s != "" && (s[0] == '.' && strings.HasPrefix(s, "...") || s[0] == "…"[0] && strings.HasPrefix(s, "…"))
}

// lineBreak is the length of the line break at i: a real one, or one that is
// escaped any number of times.
func lineBreak(s string, i int) int {
	if i >= len(s) {
		return 0
	}
	switch s[i] {
	case '\n':
		return 1
	case '\r':
		if i+1 < len(s) && s[i+1] == '\n' {
			return 2
		}
		return 1
	case '\\':
		j := endOf(s, i, len(s), oneOf(`\`))
		if j < len(s) && (s[j] == 'n' || s[j] == 'r') {
			j++
			// \r\n, escaped: the backslashes of both.
			if k := j + (j - 1 - i); s[j-1] == 'r' && k < len(s) && s[j:k] == s[i:j-1] && s[k] == 'n' {
				j = k + 1
			}
			return j - i
		}
	}
	return 0
}

// lineEnd is where the line around i ends, at most most bytes on.
func lineEnd(s string, i, most int) int {
	end := min(len(s), i+most)
	for i < end && (s[i] != '\n' && s[i] != '\r' && s[i] != '\\' || lineBreak(s, i) == 0) {
		if s[i] != '\\' {
			i++
			continue
		}
		i = endOf(s, i, end-i, oneOf(`\`)) // none of them begins a line break
	}
	return i
}

// lineStart is where the line around i begins, at most most bytes before.
func lineStart(s string, i, most int) int {
	least := max(0, i-most)
	for i > least {
		c := s[i-1]
		if c == '\n' || c == '\r' || (c == 'n' || c == 'r') && i >= 2 && s[i-2] == '\\' {
			return i
		}
		i--
	}
	return i
}

// nextLine is where the line behind the one that ends at i begins, or -1.
func nextLine(s string, i int) int {
	if n := lineBreak(s, i); n > 0 {
		return i + n
	}
	return -1
}

// below is where the content of the line at next begins, if it has the same
// things before it as the content at col in the line at start has: line numbers,
// a log's prefix, the signs of a diff or a comment, indentation. It is -1 if
// the line begins otherwise.
func below(s string, start, col, next int) int {
	i, j := start, next
	for i < col && j < len(s) {
		a, b := s[i], s[j]
		switch {
		case isAlnum(a) && isAlnum(b):
			i = endOf(s[:col], i, col, alnumBytes)
			j = endOf(s, j, len(s), alnumBytes)
			continue
		case a == b || isPrefixSign(a) && isPrefixSign(b):
		case a == ' ' && isAlnum(b): // A number has grown, or the indentation ends.
			i++
			continue
		case (a == '"' || a == '\'') && b != a: // The name's own quote.
			i++
			continue
		default:
			return -1
		}
		i++
		j++
	}
	if i < col {
		return -1
	}
	return endOf(s, j, len(s), oneOf(" \t"))
}

func isPrefixSign(c byte) bool { return strings.IndexByte(" -:+*\t", c) >= 0 }

func isAlnum(c byte) bool { return alnumBytes.has(c) }

// blanks is where the blanks and colours at i end.
func blanks(s string, i int) int {
	for i < len(s) {
		switch {
		case s[i] == ' ' || s[i] == '\t':
			i++
		case s[i] == '^' && strings.HasPrefix(s[i:], "^I"):
			i += 2
		default:
			n := colour(s, i)
			if n == 0 {
				return i
			}
			i += n
		}
	}
	return i
}

// colour is the length of the terminal's control sequence at i, plain, escaped
// as JSON does, or as cat -v shows it.
func colour(s string, i int) int {
	head := 0
	switch s[i] {
	case '\x1b':
		head = 1
	case '\\':
		j := endOf(s, i, len(s), oneOf(`\`))
		for _, name := range [...]string{"u001b", "u001B", "x1b", "033", "e"} {
			if strings.HasPrefix(s[j:], name) {
				head = j + len(name) - i
				break
			}
		}
	case '^':
		if strings.HasPrefix(s[i:], "^[") {
			head = 2
		}
	}
	if head == 0 || i+head >= len(s) || s[i+head] != '[' {
		return 0
	}
	j := endOf(s, i+head+1, 15, digitBytes.or(";?"))
	if j < len(s) && ('A' <= s[j] && s[j] <= 'Z' || 'a' <= s[j] && s[j] <= 'z') {
		return j + 1 - i
	}
	return 0
}

// lowerByte is an ASCII letter in lower case, or another byte as it is.
func lowerByte(c byte) byte { return c | byte(classOf[c]&isUpper)<<3 }

// fold compares the beginning of s with a lower case word without regard to case.
func fold(s, word string) bool {
	if len(s) < len(word) {
		return false
	}
	for i := range len(word) {
		if lowerByte(s[i]) != word[i] {
			return false
		}
	}
	return true
}

// foldEnd is fold for the end of s.
func foldEnd(s, word string) bool { return len(s) >= len(word) && fold(s[len(s)-len(word):], word) }

// oneFold reports whether s, of ASCII, is one of the words, without regard to case.
func oneFold(s string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return len(word) == len(s) && fold(s, word) })
}

// hasUpper and hasLower report a letter with another case.
func hasUpper(s string) bool { return hasCase(s, isUpper, strings.ToLower) }
func hasLower(s string) bool { return hasCase(s, isLower, strings.ToUpper) }

func hasCase(s string, c class, to func(string) string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || classOf[s[i]] == c {
			return classOf[s[i]] == c || to(s) != s
		}
	}
	return false
}

func isWord(c byte) bool { return classOf[c] != 0 }
func isHex(c byte) bool  { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// inKey reports a byte that can be in the middle of a key.
func inKey(c byte) bool { return isWord(c) || c == '~' || c == '.' }

// boundaryBefore reports whether a word may begin at i. A letter before it may be
// the end of an escape, such as \n, %3D and \u003d, or of an ANSI colour.
func boundaryBefore(s string, i int) bool {
	if i == 0 || !isWord(s[i-1]) && s[i-1] != '-' {
		return true
	}
	c := s[i-1]
	if c == '-' {
		// It joins the parts of a word, or begins a line of a diff or a list.
		return boundaryOfLine(s, i-1)
	}
	if i >= 2 && s[i-2] == '\\' && strings.IndexByte("nrtbf", c) >= 0 {
		return true
	}
	if i >= 3 && s[i-3] == '%' && isHex(s[i-2]) && isHex(c) {
		return true
	}
	if i >= 6 && s[i-6] == '\\' && s[i-5] == 'u' {
		return isHex(s[i-4]) && isHex(s[i-3]) && isHex(s[i-2]) && isHex(c)
	}
	if c == 'm' || c == 'K' {
		j := i - 2
		for j >= 0 && (s[j] == ';' || '0' <= s[j] && s[j] <= '9') {
			j--
		}
		return j >= 0 && s[j] == '['
	}
	return false
}

// boundaryOfLine reports whether a line or a quoted text begins at i.
func boundaryOfLine(s string, i int) bool {
	if i == 0 || strings.IndexByte("\n\r\"'`", s[i-1]) >= 0 || s[i-1] == 'm' && boundaryBefore(s, i) {
		return true
	}
	return i >= 2 && s[i-2] == '\\' && (s[i-1] == 'n' || s[i-1] == 'r')
}
