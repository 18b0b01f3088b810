package redact

import (
	"slices"
	"strings"
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
	return escapedBlanks(s, closingQuotes(s, p))
}

// escapedBlanks is where the blanks at i end, of which the shell's backslashes, in JSON two, may be before some.
func escapedBlanks(s string, i int) int {
	for {
		i = blanks(s, i)
		p := endOf(s, i, 2, oneOf(`\`))
		if p == i || !byteIn(s, p, " ") {
			return i
		}
		i = p + 1
	}
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
	q := escapedBlanks(s, word)
	scheme := strings.ToLower(s[p:word])
	fields := slices.Contains(fieldSchemes(), scheme)
	known := fields || slices.Contains(plainSchemes(), scheme)
	if known && q > word {
		p = q
	} else if q == word+1 && q < len(s) && strings.IndexByte("\"'`$#", s[q]) < 0 && lineBreak(s, q) == 0 {
		return t.otherScheme(q)
	}
	end := p
	for end < len(s) && end-p < longestValue && isCredential(s, end) {
		end++
	}
	switch {
	case fields, known && (byteIn(s, end, "=") || fold(s[p:], "token=")):
		return headerFields(s, p)
	case !t.credential(p, end, known):
		return nil
	case end-p == longestValue:
		end = follow(s, end)
	}
	return []span{{lo: p, hi: end}}
}

// otherScheme reads the credential at i behind a scheme that is not in the table.
func (t *text) otherScheme(i int) []span {
	v := t.valueAt(i)
	if text := t.s[v.from:v.to]; len(text) < 16 || wordy(text) || placeholder(text) || v.quoted {
		return nil
	}
	return []span{{lo: v.from, hi: v.to}}
}

// headerFields are all fields up to the line's end, or the closing quote.
func headerFields(s string, i int) []span {
	fields := s[i:lineEnd(s, i, 1<<10)]
	if !strings.Contains(fields, "=") {
		return nil
	}
	if cut := strings.IndexAny(fields, "'`"); cut > 0 {
		fields = fields[:cut]
	}
	return []span{{lo: i, hi: beforeBlanks(s, i+len(fields))}}
}

// credential judges what is between two places of a header, behind a known scheme or alone.
func (t *text) credential(lo, hi int, known bool) bool {
	v, head := strings.TrimRight(t.s[lo:hi], "."), t.isCutAt(hi)
	switch {
	case len(v) < 8 && !(head && len(v) >= headMin), placeholder(v), byteIn(t.s, hi, "<{("):
		return false
	case known:
		return true
	case head:
		return !words(v)
	}
	return len(v) >= 16 && !wordy(v) && digitRuns(v) > 1
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
	p := behindScheme(s, i+1)
	if p < 0 {
		return nil
	}
	const most = 160
	user := find(s, p, min(len(s), p+most), " \t\r\n/?#:@\"'<>\\")
	switch {
	case byteIn(s, user, "@"):
		return t.userToken(p, user)
	case byteIn(s, user, ":"):
		return t.urlPassword(p, user)
	case t.isCutAt(user) || t.nextMark(p, user) >= 0:
		return t.cutUser(p, user)
	}
	return nil
}

// behindScheme is where the host of an address is behind two slashes at i, or -1.
func behindScheme(s string, i int) int {
	for range 2 {
		if i = endOf(s, i, len(s), oneOf(`\`)); !byteIn(s, i, "/") {
			return -1
		}
		i++
	}
	return i
}

// urlPassword reads the password behind the user between two places of an address.
func (t *text) urlPassword(from, to int) []span {
	const most = 400
	s, lo := t.s, to+1
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
	name := s[from:to]
	if end < 0 {
		if v := s[lo:hi]; name != "arn" && !byteIn(s, lo, "{") && t.isCutAt(hi) && len(v) >= headMin && !port(v) && !fewLower(v) && !placeholder(v) {
			return []span{{lo: lo, hi: hi}}
		}
		return nil
	}
	switch v := s[lo:end]; {
	case port(v) || name == "arn":
		return nil
	case v == "" || v == "x-oauth-basic":
		return t.userToken(from, to)
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
	return unless(len(v) < 16 || wordy(v) || digitRuns(v) < 2 || placeholder(v) || t.s[hi] == '@' && !hostAt(t.s, hi+1) && !t.isCutAt(hi+1), lo, hi)
}

// cutUser is the beginning of a token in the place of a user, at a cut.
func (t *text) cutUser(lo, hi int) []span {
	if mark := t.nextMark(lo, hi); mark >= 0 {
		hi = mark
	}
	v := t.s[lo:hi]
	return unless(len(v) < 8 || strings.Contains(v, ".") || wordy(v) || endsInOne(t.s[:lo-len("://")], "ipfs", "ipns") || !t.isCutAt(hi), lo, hi)
}
