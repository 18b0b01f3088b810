package redact

import "strings"

// kubernetesSecret reads the values of a Secret, whose kind is at i: those of
// the members data and stringData before and behind it, whatever their names are.
func kubernetesSecret(t *text, i int) []span {
	s := t.s
	p := blanks(s, closingQuotes(s, i+len("kind")))
	if p >= len(s) || s[p] != ':' {
		return nil
	}
	p = closingQuotes(s, blanks(s, p+1))
	if !strings.HasPrefix(s[p:], "Secret") || p+6 < len(s) && isWord(s[p+6]) {
		return nil
	}
	const most = 16 << 10
	// To the document's other kind, or its end.
	before := s[max(0, i-most):i]
	for _, end := range [...]string{"kind", "---\n"} {
		if at := strings.LastIndex(before, end); at >= 0 {
			before = before[at:]
		}
	}
	after := s[p:min(len(s), p+most)]
	if at := strings.Index(after, "kind"); at >= 0 {
		after = after[:at]
	}
	out := t.dataIn(i-len(before), i)
	return append(out, t.dataIn(p, p+len(after))...)
}

// dataIn reads the members of data and stringData between two places.
func (t *text) dataIn(from, to int) []span {
	s := t.s
	var out []span
	for _, name := range [...]string{"data", "stringData"} {
		for at := from; at < to; at += len(name) {
			n := strings.Index(s[at:to], name)
			if n < 0 {
				break
			}
			at += n
			quotes := closingQuotes(s, at+len(name))
			p := blanks(s, quotes)
			switch {
			case at > 0 && isWord(s[at-1]) && !boundaryBefore(s, at), p >= to, s[p] != ':':
			case quotes > at+len(name):
				out = append(out, t.jsonMembers(p+1, to)...)
			default:
				out = append(out, t.yamlMembers(at, p+1, to)...)
			}
		}
	}
	return out
}

// jsonMembers reads the texts of the object behind i.
func (t *text) jsonMembers(i, to int) []span {
	s := t.s
	var out []span
	i = blanks(s, i)
	if i >= to || s[i] != '{' {
		return nil
	}
	value := false
	for ; i < to && s[i] != '}'; i++ {
		switch lo := i + 1; {
		case s[i] == ':':
			value = true
		case s[i] == '"' && value:
			i = find(s, lo, to, `"\`)
			out = append(out, t.datum(lo, i)...)
			value = false
		case s[i] == '"':
			i = find(s, lo, to, `"`)
		}
	}
	return out
}

// yamlMembers reads the lines that are indented more than the name at.
func (t *text) yamlMembers(at, i, to int) []span {
	s := t.s
	var out []span
	start := lineStart(s, at, 400)
	for n := 0; n < 200; n++ {
		i = lineEnd(s, i, keyLine)
		if i = nextLine(s, i); i < 0 || i >= to {
			break
		}
		q := below(s, start, at, i)
		if q < 0 || q-i <= at-start {
			break
		}
		end := lineEnd(s, q, keyLine)
		colon := strings.Index(s[q:end], ": ")
		if colon < 0 {
			// A block's line.
			if out != nil || strings.HasSuffix(strings.TrimRight(s[q:end], "$\"'^M,"), ":") {
				out = append(out, t.datum(q, wordEnd(s, q, end, "\"'\\$"))...)
			}
			continue
		}
		lo := closingQuotes(s, blanks(s, q+colon+1))
		out = append(out, t.datum(lo, wordEnd(s, lo, end, "\"'\\$"))...)
	}
	return out
}

// datum is a value of a Secret, unless it is short or says that it is public.
func (t *text) datum(lo, hi int) []span {
	return unless(hi-lo < 6 || strings.HasPrefix(t.s[lo:], "LS0tLS1CRUdJTiBDRVJU") || placeholder(t.s[lo:hi]) || strings.HasSuffix(t.s[lo:hi], ":"), lo, hi)
}

// passLine reports whether a colon has the port of a line of .pgpass behind it, or a star, then a
// database and a user.
func passLine(s string) bool {
	p := endOf(s, 1, 5, digitBytes.or("*"))
	for range 2 {
		field := p + 1
		if !byteIn(s, p, ":") {
			return false
		}
		if p = endOf(s, field, 64, wordBytes.or("*.-")); p == field {
			return false
		}
	}
	return byteIn(s, p, ":")
}

// pgpassword distinguishes the password of a line of .pgpass, host:port:database:user:password, from
// the groups of an address of IPv6.
func pgpassword(m match) bool {
	before := m.text[m.at+1 : m.lo]
	named := !only(strings.ToLower(before), digitBytes.or("abcdef:*"))
	return named && m.at > 0 && m.text[m.at-1] != ':' && m.text[m.at-1] > ' ' && !byteIn(m.text, m.hi, ":") && literal(m)
}
