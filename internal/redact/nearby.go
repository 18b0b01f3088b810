package redact

import (
	"slices"
	"strings"
)

func namesPair(member string) bool {
	return slices.ContainsFunc(pairNames(), func(name string) bool { return len(name) == len(member) && strings.EqualFold(name, member) })
}

// pairValue looks for the value of a name that is itself the value of a member
// such as "name", behind it or before it, in the same line or the next. ok says
// that the name is one.
func (t *text) pairValue(a *assignment, end int) (spans []span, ok bool) {
	s := t.s
	open := startOf(s, a.lo, 64, wordBytes.or(".-/"))
	p := beforeQuotes(s, open)
	if p < open && !byteIn(s, end, "\"'`\\") {
		end = find(s, end, min(len(s), end+48), "\"'`\n")
	} else if p == open {
		// Words around it, or a selector, in quotes: "Password field", "input[name=password]".
		if p = beforeQuotes(s, startOf(s, open, 48, wordBytes.or(" .-/#[]=*"))); byteIn(s, p, "\"'`\\") {
			end = find(s, end, min(len(s), end+48), "\"'`\n")
		} else {
			p = open
		}
	}
	if p < open && p > 0 && s[p-1] == '@' {
		p-- // Objective-C
	}
	p = beforeBlanks(s, p)
	if p == 0 || s[p-1] != ':' && s[p-1] != '=' {
		return t.flagValue(a, nameStart(s, p), end)
	}
	p = beforeQuotes(s, beforeBlanks(s, p-1))
	member := nameStart(s, p)
	if strings.HasPrefix(member, "for") && member != "for" {
		return t.valueBefore(a, p-len(member))
	}
	if !namesPair(member) {
		return nil, false
	}
	a.named = true
	if v, found := t.memberBehind(p-len(member), blanks(s, closingQuotes(s, end))); found {
		if !t.isMember(a, v) {
			return nil, true
		}
		if v.to-v.from >= longestValue {
			v.to = follow(s, v.to)
		}
		return []span{{lo: v.from, hi: v.to}}, true
	}
	return t.memberBefore(a, p-len(member))
}

// memberBehind looks for a member that holds a value from q on, in the same line or the next ones, of
// an object whose name's member is at col.
func (t *text) memberBehind(col, q int) (value, bool) {
	s := t.s
	if byteIn(s, q, ",>/") {
		q = blanks(s, q+1)
	}
	for n := 0; n < 6 && q < len(s); n++ {
		if v, found := t.memberAt(q); found {
			return v, true
		}
		if next := skipMember(s, q); next > q {
			q = next
			continue
		}
		if !byteIn(s, q, "\"'\\$") && lineBreak(s, q) == 0 && !strings.HasPrefix(s[q:], "^M") {
			break
		}
		// The next line has the same things before it.
		next := nextLine(s, lineEnd(s, q, 8))
		if next < 0 {
			break
		}
		if q = below(s, lineStart(s, col, 400), col, next); q < 0 {
			break
		}
		q = closingQuotes(s, q)
	}
	return value{}, false
}

// memberBefore looks for the value in front of the name's member at i, in the same object.
func (t *text) memberBefore(a *assignment, i int) ([]span, bool) {
	s := t.s
	from := max(0, i-400)
	part := s[from:i]
	for _, name := range [...]string{"value", "Value", "text", "content", "data"} {
		at := strings.LastIndex(part, name)
		if at < 0 || strings.ContainsAny(part[at:], "{}<>") {
			continue
		}
		if v, found := t.memberAt(from + at); found && v.to < i {
			rest := s[v.to:i]
			if len(rest) < 160 && strings.Count(rest, "\n") <= 1 && !strings.Contains(rest, ":\"") && t.isMember(a, v) {
				return []span{{lo: v.from, hi: v.to}}, true
			}
		}
	}
	return nil, false
}

// skipMember is where the member behind the one at i begins, in the same line, or i.
func skipMember(s string, i int) int {
	name := closingQuotes(s, i)
	p := endOf(s, name, 32, wordBytes.or("-"))
	if p == name {
		return i
	}
	if p = blanks(s, closingQuotes(s, p)); !byteIn(s, p, ":=") {
		return i
	}
	p = blanks(s, p+1)
	if q := closingQuotes(s, p); q > p {
		end := min(len(s), q+120)
		if q < end && strings.IndexByte("\"'`", s[q-1]) >= 0 && s[q] == ',' { // an empty text
			return blanks(s, q+1)
		}
		if p = find(s, q, end, s[q-1:q]+"\n"); p == end || s[p] == '\n' {
			return i
		}
		p = closingQuotes(s, p)
	} else {
		p = endOf(s, p, 40, wordBytes.or("-."))
	}
	if byteIn(s, p, ",") {
		p++
	}
	return blanks(s, p)
}

// isMember judges a value of a member of the object that has the name.
func (t *text) isMember(a *assignment, v value) bool {
	if v.quoted && !v.closed && !v.head && byteIn(t.s, v.to, " ") {
		return false // a sentence
	}
	if text := t.s[v.from:v.to]; a.kind == pairKind {
		return len(text) >= 16 && !wordy(text) && !placeholder(text) && (random(text) || isHexText(text)) && strings.Count(text, "-") != 4
	}
	b := *a
	b.value, b.sign, b.quotedName, b.near = v, ":", true, true
	if !v.quoted {
		b.sign = "="
	}
	return t.isSecret(&b)
}

// flagValue looks for the value of a name that a flag before it says is one, in a flag
// behind it: -Name ApiToken -Value x.
func (t *text) flagValue(a *assignment, flag string, end int) ([]span, bool) {
	s := t.s
	if flag == "" || !namesPair(strings.TrimLeft(flag, "-")) {
		return nil, false
	}
	line := s[end:lineEnd(s, end, 200)]
	for _, name := range [...]string{" -Value ", " -value ", " --value "} {
		if at := strings.Index(line, name); at >= 0 {
			if v := t.valueAt(end + at + len(name)); v.to > v.from && t.isMember(a, v) {
				return []span{{lo: v.from, hi: v.to}}, true
			}
		}
	}
	return nil, false
}

// valueBefore looks for the value of a name that a call gets behind it, which ends before
// i: set("x", forKey: "token"), setObject:@"x" forKey:@"token".
func (t *text) valueBefore(a *assignment, i int) ([]span, bool) {
	s := t.s
	i = beforeBlanks(s, i)
	if i > 0 && s[i-1] == ',' {
		i = beforeBlanks(s, i-1)
	}
	last := beforeQuotes(s, i)
	if last == i {
		return nil, false
	}
	from := startOf(s, last, longestValue, wordBytes.or("+/=.~!@#$%^&*?:-"))
	v := t.valueAt(beforeQuotes(s, from))
	return []span{{lo: v.from, hi: v.to}}, v.to == last && v.quoted && t.isMember(a, v)
}

// memberAt reads a member that holds a value, at i or behind quotes.
func (t *text) memberAt(i int) (value, bool) {
	s := t.s
	i = closingQuotes(s, i)
	if strings.HasPrefix(s[i:], "android:") {
		i += len("android:")
	}
	for _, name := range pairValues() {
		if !fold(s[i:], name) {
			continue
		}
		q := blanks(s, closingQuotes(s, i+len(name)))
		if byteIn(s, q, ":=") {
			if p := blanks(s, q+1); byteIn(s, p, "{") { // {"stringValue": x}
				q = find(s, p, min(len(s), p+30), ":")
			}
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

func beforeBlanks(s string, i int) int { return startOf(s, i, i, oneOf(" \t")) }

// nextValue is where a value begins that is in the line behind its name, as
// YAML has it, or 0. i is behind the sign.
func (t *text) nextValue(a *assignment, i int) int {
	s := t.s
	if byteIn(s, i, "|>") {
		i = blanks(s, endOf(s, i+1, len(s), digitBytes.or("+-")))
	}
	// What a frame puts at a line's end.
	for n := 0; n < 2 && byteIn(s, i, "$^\"'"); n++ {
		i = endOf(s, i+1, 1, oneOf("M"))
	}
	if byteIn(s, i, `(\`) && lineBreak(s, min(i+1, len(s)-1)) > 0 && a.sign != ":" {
		i++ // a text in brackets, or a line that continues
	}
	if lineBreak(s, i) == 0 {
		return 0
	}
	start := lineStart(s, a.lo, 400)
	if q := below(s, start, endOf(s, start, 80, digitBytes.or(" \t+-|:>")), i+lineBreak(s, i)); q > 0 && a.sign != ":" {
		if q = textStart(s, q); closingQuotes(s, q) > q {
			return q
		}
	}
	if a.quotedName {
		return 0
	}
	col := endOf(s, a.lo, len(a.name), oneOf("-"))
	if s[i] == '\\' {
		// The first line of a text within a text.
		start = max(start, start+strings.LastIndexByte(s[start:a.lo], '"')+1)
	}
	next := i + lineBreak(s, i)
	q := below(s, start, col, next)
	if q < 0 || q-next <= col-start {
		return 0
	}
	end := wordEnd(s, q, min(len(s), q+longestValue), `\`)
	v := strings.TrimRight(s[q:end], "$\"',^M")
	// A word alone, which is no name of another member.
	if len(v) < 6 || strings.HasSuffix(v, ":") || v[0] == '-' || !literalValue(v) || end < len(s) && lineBreak(s, end) == 0 && s[end] != '"' && s[end] != ' ' && colour(s, end) == 0 {
		return 0
	}
	return q
}

// listBelow reads the list or the members of YAML in the lines below a name: values of passwords, or
// what is by default the value of the name.
func (t *text) listBelow(a *assignment, _ int) []span {
	s := t.s
	if a.sign != ":" || a.kind == keyKind {
		return nil
	}
	var out []span
	start, i := lineStart(s, a.lo, 400), lineEnd(s, a.lo+len(a.name), 8)
	for range 20 {
		next := nextLine(s, i)
		if next < 0 {
			break
		}
		i = lineEnd(s, next, keyLine)
		q := below(s, start, a.lo, next)
		if q < 0 {
			break
		}
		name := endOf(s, q, 40, wordBytes.or("-."))
		member := strings.HasPrefix(s[name:], ": ") && q-next > a.lo-start
		if !strings.HasPrefix(s[q:], "- ") && !member || member && !strings.HasSuffix(a.name, "s") && !slices.Contains(pairValues(), strings.ToLower(s[q:name])) {
			if member {
				continue
			}
			break
		}
		lo := closingQuotes(s, q+2)
		if member {
			lo = closingQuotes(s, blanks(s, name+1))
		}
		hi := wordEnd(s, lo, i, "\"'\\")
		if v := s[lo:hi]; only(s[hi:i], oneOf(" \"'")) && len(v) >= 8 && (a.kind.likely(v) || a.kind == passwordKind && chosenShape(v, true)) {
			out = append(out, span{lo: lo, hi: hi})
		}
	}
	return out
}

// member reads the value of a name that is a member of the object behind it.
func (t *text) member(a *assignment, i int) bool {
	part := t.s[i:min(len(t.s), i+200)]
	if end := strings.IndexByte(part[1:], '{'); end >= 0 {
		part = part[:end+1]
	}
	if p := closingQuotes(part, 1); strings.HasPrefix(part[p:], `0"`) { // a column of a data frame
		if p = blanks(t.s, closingQuotes(t.s, i+p+1)); byteIn(t.s, p, ":") {
			a.value, a.sign = t.valueAt(blanks(t.s, p+1)), ":"
			return a.quoted
		}
	}
	for _, name := range [...]string{"value", "default"} {
		if at := strings.Index(part, name); at >= 0 && !strings.Contains(part[:at], "}") {
			if v, found := t.memberAt(i + at); found && v.quoted {
				a.value, a.sign = v, ":"
				return true
			}
		}
	}
	return false
}

// further adds what is behind a secret: the other parts of a text that is joined, the other members
// of a list, the new value of a plan behind the old one.
func (t *text) further(a *assignment, out []span) []span {
	s := t.s
	for n := 0; n < 20 && a.closed; n++ {
		q := closingQuotes(s, out[len(out)-1].hi)
		p := blanks(s, q)
		sign := endOf(s, p, 2, oneOf("+.&,-><\\"))
		list := s[p:sign] == ","
		if next := endOf(s, sign, 60, oneOf(" \t\r\n")); sign > p || next > q && byteIn(s, p, "\n") {
			p = next
		}
		v := t.valueAt(p)
		if p == q || !v.quoted || !v.closed || list && (!a.kind.likely(s[v.from:v.to]) || byteIn(s, closingQuotes(s, v.to), ":=")) || !list && (v.to-v.from < 4 || placeholder(s[v.from:v.to])) {
			break
		}
		out = append(out, span{lo: v.from, hi: v.to})
	}
	return out
}
