package redact

import (
	"slices"
	"strings"
)

// credentialCall reads the credentials that a call gets by their places: a login, a
// connection, what is named after credentials. Its name has what is at i.
func credentialCall(t *text, i int) []span {
	c := credentials{text: t}
	p := c.named(i)
	for n := 0; n < 6 && p >= 0; n++ {
		p = c.argument(p)
	}
	return c.out
}

// credentials are the arguments of a call that gets them, or a list that is named after them.
type credentials struct {
	*text
	// key says that every text is a credential, known that the call gets one, open that it may.
	key, known, open, begin bool
	texts, others           int // how many were read
	out                     []span
}

// named is where the arguments begin behind the name that has what is at i, or -1.
func (c *credentials) named(i int) int {
	s := c.s
	p := blanks(s, endOf(s, i, 40, wordBytes))
	if !byteIn(s, p, "([=:'N") {
		return -1
	}
	lo := i - len(nameStart(s, i))
	if strings.HasPrefix(s[lo:], "sp_") && byteIn(s, p, "'N") {
		p-- // a procedure of SQL, whose arguments have no brackets
	} else if !byteIn(s, p, "([=:") {
		return -1
	}
	name := strings.TrimRight(s[startOf(s, lo, 24, wordBytes.or(".:->")):p], " ")
	c.key = keyCalls().end(name)
	c.known, c.open = c.key || knownCalls().end(name), openCalls().end(name) && !foldEnd(name, "popen")
	c.begin = foldEnd(name, "begin")
	if byteIn(s, p, "=:") {
		p = blanks(s, p+1)
	}
	if !byteIn(s, p, "([ ") || !c.known && !c.open {
		return -1
	}
	return p
}

// argument reads the argument behind the sign at i, and is where the next one's sign is, or -1.
func (c *credentials) argument(i int) int {
	s := c.s
	p := blanks(s, i+1)
	if j := lineBreak(s, p); j > 0 {
		p = blanks(s, p+j)
	}
	if q := endOf(s, p, 24, wordBytes); byteIn(s, q, "=:") { // a named argument
		p = blanks(s, q+1)
	}
	switch v := c.valueAt(c.wrapped(p)); {
	case v.quoted && (v.closed || v.head) && v.to > v.from:
		if c.secret(s[v.from:v.to]) {
			c.out = append(c.out, span{lo: v.from, hi: v.to})
		}
		c.texts++
		if p = closingQuotes(s, v.to); byteIn(s, p, ".)") { // "x".toCharArray()
			p = find(s, p, min(len(s), p+40), ",)\n")
			p = endOf(s, p, 2, oneOf(")"))
		}
	case v.quoted: // a text with blanks in it
		q := strings.IndexByte(s[v.from:min(len(s), v.from+200)], s[v.from-1])
		if q < 0 {
			return -1
		}
		p = v.from + q + 1
		c.texts++
	default:
		if p = endOf(s, p, 60, wordBytes.or(".$[]->&*")); byteIn(s, p, "(") && byteIn(s, p+1, ")") {
			p += 2
		}
		c.others++
	}
	if p = blanks(s, p); !byteIn(s, p, ",;") {
		return -1
	}
	return p
}

// secret judges a text by what is before it.
func (c *credentials) secret(v string) bool {
	switch read := c.texts + c.others; {
	case !secretArgument(v):
		return false
	case c.key && len(v) >= 10, c.known && (read > 0 || len(v) >= 16 && tokenKind.likely(v)):
		return true
	default:
		return c.texts > 0 && (c.known || !manyWords(v)) && (read > 1 || !wordy(v) || c.begin)
	}
}

// secretArgument reports whether a text can be the password of a call that gets one.
func secretArgument(v string) bool {
	return certainShape(v) && !strings.ContainsAny(v, "/=;,<>\\") || tokenKind.likely(v) && len(v) >= 20 || isHexText(strings.TrimPrefix(v, "0x")) && len(v) >= 64
}

// typedSecret reads the text that a method, which has what is at i in its name, enters into a field
// that the line before it calls a secret's.
func typedSecret(t *text, i int) []span {
	s := t.s
	p := endOf(s, i, 24, wordBytes)
	name := s[i-len(nameStart(s, i)) : p]
	if !byteIn(s, p, "(") && !strings.HasPrefix(s[p:], ", with: ") || !slices.Contains(typing(), name) {
		return nil
	}
	before := strings.ToLower(s[lineStart(s, i, 160):i])
	end := lineEnd(s, p, 200)
	if !containsOne(before, fieldWords()...) && !containsOne(strings.ToLower(s[p:end]), fieldWords()...) {
		return nil
	}
	for n := 0; n < 4 && p < end; n++ {
		p = find(s, p, end, "\"'`")
		v := t.valueAt(p)
		text, _, key := strings.Cut(s[v.from:v.to], "{") // Cypress: x{enter}
		if v.quoted && (v.closed || v.head || key) && (certainShape(text) || len(text) >= 4 && only(text, digitBytes)) && !containsOne(strings.ToLower(text), fieldWords()...) {
			return []span{{lo: v.from, hi: v.from + len(text)}}
		}
		if p = find(s, min(end, v.from), end, s[p:min(len(s), p+1)]+"\n"); p < end {
			p++
		}
	}
	return nil
}
