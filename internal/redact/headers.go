package redact

import (
	"slices"
	"strings"
)

// Schemes of authorization: those with the secret alone behind them, and those
// with fields, of which one is the secret.
var (
	plainSchemes = wordsOf("plainSchemes")
	fieldSchemes = wordsOf("fieldSchemes")
)

// headerValue is where the value of the header begins whose name ends at i, in
// any way to write headers, or 0.
func headerValue(s string, i int) int {
	p := blanks(s, closingQuotes(s, i))
	switch {
	case byteIn(s, p, ":,"):
		p++
	case strings.HasPrefix(s[p:], "=>"):
		p += 2
	default:
		if byteIn(s, p, "]") {
			p = blanks(s, p+1)
		}
		if !byteIn(s, p, "=") {
			return 0
		}
		p++
	}
	if p = blanks(s, p); byteIn(s, p, "{") {
		p = blanks(s, p+1)
	}
	return blanks(s, closingQuotes(s, p))
}

// authHeader reads an Authorization header.
func authHeader(t *text, i int) []span {
	s := t.s
	if !fold(s[i:], "authorization") || i > 0 && isAlnum(s[i-1]) && !boundaryBefore(s, i) {
		return nil
	}
	p := headerValue(s, i+len("authorization"))
	if p == 0 || p >= len(s) {
		return nil
	}
	word := endOf(s, p, 24, wordBytes.or("-"))
	q := endOf(s, word, len(s), oneOf(" \t"))
	scheme := strings.ToLower(s[p:word])
	fields := slices.Contains(fieldSchemes, scheme)
	known := fields || slices.Contains(plainSchemes, scheme)
	switch {
	case known && q > word:
		p = q
	case q == word+1 && q < len(s) && strings.IndexByte("\"'`$#", s[q]) < 0 && lineBreak(s, q) == 0:
		// A scheme that is not in the table.
		v := t.valueAt(q)
		if v.to-v.from >= 16 && !wordy(s[v.from:v.to]) && !placeholder(s[v.from:v.to]) && !v.quoted {
			return []span{{lo: v.from, hi: v.to}}
		}
		return nil
	}
	end := p
	for end < len(s) && end-p < longestValue && isCredential(s, end) {
		end++
	}
	open := end-p == longestValue
	if fields || known && end < len(s) && s[end] == '=' || known && fold(s[p:], "token=") {
		// Fields: all of them up to the line's end, or the closing quote.
		end = lineEnd(s, p, 1<<10)
		if !strings.Contains(s[p:end], "=") {
			return nil
		}
		if cut := strings.IndexAny(s[p:end], "'`"); cut > 0 {
			end = p + cut
		}
		return []span{{lo: p, hi: beforeBlanks(s, end)}}
	}
	v := strings.TrimRight(s[p:end], ".")
	head := t.isCutAt(end)
	switch {
	case len(v) < 8 && !(head && len(v) >= headMin), placeholder(v), byteIn(s, end, "<{("):
		return nil
	case known:
	case head && words(v), !head && (len(v) < 16 || wordy(v) || digitRuns(v) < 2):
		return nil
	}
	if open {
		end = follow(s, end)
	}
	return []span{{lo: p, hi: end}}
}

func isCredential(s string, i int) bool {
	c := s[i]
	if c == '.' && strings.HasPrefix(s[i:], "...") {
		return false
	}
	return isWord(c) || strings.IndexByte(".~+/=:-", c) >= 0 || c == '\\' && i+1 < len(s) && s[i+1] == '/'
}

// cookieHeader reads a Cookie or a Set-Cookie header: its cookies with random
// values, or with a telling name.
func cookieHeader(t *text, i int) []span {
	s := t.s
	if !fold(s[i:], "cookie") {
		return nil
	}
	before := nameStart(s, i)
	set := strings.HasSuffix(strings.ToLower(before), "set-")
	if !set && !only(before, oneOf("-")) && !boundaryBefore(s, i) {
		return nil
	}
	p := headerValue(s, i+len("cookie"))
	if p == 0 {
		if !strings.HasPrefix(before, "--") && !strings.HasSuffix(before, "--") {
			return nil
		}
		p = closingQuotes(s, blanks(s, i+len("cookie")))
	}
	return t.cookies(p, set)
}

// cookies reads the cookies from i on; of one that is set, only the first pair.
func (t *text) cookies(i int, set bool) []span {
	s := t.s
	var out []span
	for n := 0; n < 60 && i < len(s); n++ {
		eq := endOf(s, i, 100, wordBytes.or(".-%!#"))
		if eq == i || !byteIn(s, eq, "=") {
			break
		}
		lo := eq + 1
		hi := lo
		for hi < len(s) && hi-lo < keyLine && s[hi] > ' ' && strings.IndexByte(";\"'`,", s[hi]) < 0 && (s[hi] != '\\' || hi+1 < len(s) && s[hi+1] == '/') && !ellipsis(s[hi:]) {
			hi++
		}
		if secretCookie(s[i:eq], s[lo:hi], t.isCutAt(hi)) {
			out = append(out, span{lo: lo, hi: hi})
		}
		if set || !byteIn(s, hi, ";") {
			break
		}
		i = blanks(s, hi+1)
	}
	return out
}

func secretCookie(name, v string, head bool) bool {
	if placeholder(v) {
		return false
	}
	if head {
		return len(v) >= headMin && !fewLower(v)
	}
	low := strings.ToLower(name)
	if containsOne(low, "sess", "sid", "auth", "token", "csrf", "xsrf", "jwt", "remember", "secret") {
		return len(v) >= 8 && (hasDigit(v) || upperLower(v)) && !(wordy(v) && len(v) < 16)
	}
	return len(v) >= 12 && !wordy(v) && !strings.HasPrefix(low, "__utm") && !strings.HasPrefix(low, "_g")
}

// urlUser reads the password of an address, or the token in the
// place of its user.
func urlUser(t *text, i int) []span {
	s := t.s
	if s[i] != ':' || i == 0 || !isWord(s[i-1]) {
		return nil
	}
	p := i + 1
	for range 2 {
		p = endOf(s, p, len(s), oneOf(`\`))
		if !byteIn(s, p, "/") {
			return nil
		}
		p++
	}
	const userMost, most = 160, 400
	user := find(s, p, min(len(s), p+userMost), " \t\r\n/?#:@\"'<>\\")
	if !byteIn(s, user, ":@") {
		if t.isCutAt(user) || t.nextMark(p, user) >= 0 {
			return t.cutUser(p, user)
		}
		return nil
	}
	if s[user] == '@' {
		return t.userToken(p, user)
	}
	lo := user + 1
	hi, end := lo, -1
	for hi < len(s) && hi-lo < most && inPassword(s, hi) && !(t.cut && ellipsis(s[hi:])) {
		if s[hi] == '@' && hostAt(s, hi+1) {
			end = hi
			if strings.ContainsAny(s[lo:hi], "/?#") {
				break
			}
		}
		hi++
	}
	if end < 0 {
		if s[p:user] != "arn" && (lo == len(s) || s[lo] != '{') && t.isCutAt(hi) && hi-lo >= headMin && !port(s[lo:hi]) && !fewLower(s[lo:hi]) && notPlaceholder(match{text: s, lo: lo, hi: hi}) {
			return []span{{lo: lo, hi: hi}}
		}
		return nil
	}
	v, name := s[lo:end], s[p:user]
	switch {
	case port(v) || name == "arn":
		return nil
	case v == "" || v == "x-oauth-basic":
		return t.userToken(p, user)
	case len(v) < 3 || placeholder(v) || v == name || v[0] == '$':
		return nil
	}
	return []span{{lo: lo, hi: end}}
}

// port distinguishes a port, with a path behind it, from a password.
func port(v string) bool {
	n := endOf(v, 0, len(v), digitBytes)
	return n > 0 && n <= 5 && (n == len(v) || byteIn(v, n, "/?#\\,;)"))
}

// inPassword reports what the password of an address may hold: any sign but white
// space, and no quote or bracket that ends the address.
func inPassword(s string, i int) bool {
	switch c := s[i]; c {
	case '"', '\'', '`':
		return i+1 < len(s) && isAlnum(s[i+1]) && i > 0 && (isAlnum(s[i-1]) || s[i-1] == '\\')
	case '<', '>', ',', ' ':
		return false
	case '\\':
		j := endOf(s, i, len(s), oneOf(`\`))
		if byteIn(s, j, `"'`) {
			return j+1 < len(s) && isAlnum(s[j+1]) && isAlnum(s[i-1])
		}
		return escapedSign(s, i) > 0
	default:
		return c > ' '
	}
}

// hostAt reports whether a host's name begins at i, and ends as one does.
func hostAt(s string, i int) bool {
	if byteIn(s, i, "[(/") {
		return true // [::1], tcp(db), //db
	}
	j := endOf(s, i, 254, wordBytes.or(".-"))
	return j == len(s) || j > i && s[j] != '@'
}

// userToken is the token in the place of a user.
func (t *text) userToken(lo, hi int) []span {
	v := t.s[lo:hi]
	if len(v) < 16 || wordy(v) || digitRuns(v) < 2 || placeholder(v) || t.s[hi] == '@' && !hostAt(t.s, hi+1) && !t.isCutAt(hi+1) {
		return nil
	}
	return []span{{lo: lo, hi: hi}}
}

// cutUser is the beginning of a token in the place of a user, at a cut.
func (t *text) cutUser(lo, hi int) []span {
	if mark := t.nextMark(lo, hi); mark >= 0 {
		hi = mark
	}
	v := t.s[lo:hi]
	if len(v) < 8 || strings.Contains(v, ".") || wordy(v) || endsInOne(t.s[:lo-len("://")], "ipfs", "ipns") || !t.isCutAt(hi) {
		return nil
	}
	return []span{{lo: lo, hi: hi}}
}
