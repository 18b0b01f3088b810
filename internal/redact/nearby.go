package redact

import "strings"

// pairNames and pairValues are the members that hold a name and its value.
var (
	pairNames  = [...]string{"name", "key", "parameterkey", "property", "k", "variable", "envvar", "entry"}
	pairValues = [...]string{"value", "parametervalue", "v", "default"}
)

// pairValue looks for the value of a name that is itself the value of a member
// such as "name", behind it or before it, in the same line or the next. ok says
// that the name is one.
func (t *text) pairValue(a *assignment, end int) (spans []span, ok bool) {
	s := t.s
	open := startOf(s, a.lo, 64, wordBytes+".-/")
	p := beforeQuotes(s, open)
	p = beforeBlanks(s, p)
	if p == 0 || s[p-1] != ':' && s[p-1] != '=' {
		return nil, false
	}
	p = beforeQuotes(s, beforeBlanks(s, p-1))
	member := nameStart(s, p)
	if !oneOf(member, pairNames[:]) {
		return nil, false
	}
	accept := func(v value) bool {
		b := *a
		b.value, b.sign, b.quotedName, b.kind = v, ":", true, a.kind
		if !v.quoted {
			b.sign = "="
		}
		b.near = true
		return t.isSecret(&b)
	}
	// Behind it.
	q := closingQuotes(s, end)
	q = blanks(s, q)
	if q < len(s) && (s[q] == ',' || s[q] == '>' || s[q] == '/') {
		q = blanks(s, q+1)
	}
	for n := 0; n < 2 && q < len(s); n++ {
		if v, found := t.memberAt(q); found {
			if accept(v) {
				return []span{{lo: v.from, hi: v.to}}, true
			}
			return nil, true
		}
		if s[q] != '"' && s[q] != '\'' && s[q] != '\\' && lineBreak(s, q) == 0 && !strings.HasPrefix(s[q:], "$") && !strings.HasPrefix(s[q:], "^M") {
			break
		}
		// The next line has the same things before it.
		eol := lineEnd(s, q, 8)
		next := nextLine(s, eol)
		if next < 0 {
			break
		}
		start := lineStart(s, p-len(member), 400)
		col := p - len(member)
		if q = below(s, start, col, next); q < 0 {
			break
		}
		q = closingQuotes(s, q)
	}
	// Before it, in the same object.
	from := max(0, p-len(member)-400)
	part := s[from : p-len(member)]
	for _, name := range [...]string{"value", "Value"} {
		at := strings.LastIndex(part, name)
		if at < 0 || strings.ContainsAny(part[at:], "{}<>") {
			continue
		}
		if v, found := t.memberAt(from + at); found && v.to < p-len(member) {
			rest := s[v.to : p-len(member)]
			if len(rest) < 160 && strings.Count(rest, "\n") <= 1 && !strings.Contains(rest, ":\"") && accept(v) {
				return []span{{lo: v.from, hi: v.to}}, true
			}
		}
	}
	return nil, false
}

// memberAt reads a member that holds a value, at i or behind quotes.
func (t *text) memberAt(i int) (value, bool) {
	s := t.s
	i = closingQuotes(s, i)
	for _, name := range &pairValues {
		if !fold(s[i:], name) {
			continue
		}
		q := blanks(s, closingQuotes(s, i+len(name)))
		if q < len(s) && (s[q] == ':' || s[q] == '=') {
			v := t.valueAt(blanks(s, q+1))
			return v, v.to > v.from
		}
	}
	return value{}, false
}

func beforeQuotes(s string, i int) int {
	for n := 0; n < 3 && i > 0 && strings.IndexByte("\"'`", s[i-1]) >= 0; n++ {
		for i--; i > 0 && s[i-1] == '\\'; i-- {
		}
	}
	return i
}

func beforeBlanks(s string, i int) int { return startOf(s, i, i, " \t") }

func oneOf(word string, list []string) bool {
	for _, w := range list {
		if strings.EqualFold(word, w) {
			return true
		}
	}
	return false
}

// nextValue is where a value begins that is in the line behind its name, as
// YAML has it, or 0. i is behind the sign.
func (t *text) nextValue(a *assignment, i int) int {
	s := t.s
	if i < len(s) && (s[i] == '|' || s[i] == '>') {
		for i++; i < len(s) && strings.IndexByte("+-0123456789", s[i]) >= 0; i++ {
		}
		i = blanks(s, i)
	}
	// What a frame puts at a line's end.
	for n := 0; n < 2 && i < len(s) && lineBreak(s, i) == 0 && strings.IndexByte("$^\"'", s[i]) >= 0; n++ {
		if i++; i < len(s) && s[i] == 'M' {
			i++
		}
	}
	if i >= len(s) || lineBreak(s, i) == 0 {
		return 0
	}
	start := lineStart(s, a.lo, 400)
	col := a.lo + len(a.name) - len(strings.TrimLeft(a.name, "-"))
	if a.quotedName {
		return 0
	}
	if s[i] == '\\' {
		// The first line of a text within a text.
		start = max(start, start+strings.LastIndexByte(s[start:a.lo], '"')+1)
	}
	next := i + lineBreak(s, i)
	q := below(s, start, col, next)
	if q < 0 || q-next <= col-start {
		return 0
	}
	end := q
	for end < len(s) && s[end] > ' ' && s[end] != '\\' && end-q < longestValue {
		end++
	}
	v := strings.TrimRight(s[q:end], "$\"',^M")
	// A word alone, which is no name of another member.
	if len(v) < 6 || strings.HasSuffix(v, ":") || v[0] == '-' || !literalValue(v) || end < len(s) && lineBreak(s, end) == 0 && s[end] != '"' && s[end] != ' ' && colour(s, end) == 0 {
		return 0
	}
	return q
}
