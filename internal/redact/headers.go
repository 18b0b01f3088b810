package redact

import "strings"

// schemes of authorization. Those that are true have fields behind them, of which
// one is the secret; the others have the secret alone.
var schemes = map[string]bool{
	"bearer": false, "basic": false, "token": false, "apikey": false, "api-key": false, "bot": false, "geniekey": false, "splunk": false, "negotiate": false, "key": false, "jwt": false,
	"sso-key": false, "ntlm": false, "zoho-oauthtoken": false, "klaviyo-api-key": false, "deepl-auth-key": false,
	"digest": true, "aws4-hmac-sha256": true, "oauth": true, "hmac": true, "signature": true, "hawk": true,
}

// headerValue is where the value of the header begins whose name ends at i, in
// any way to write headers, or 0.
func headerValue(s string, i int) int {
	p := closingQuotes(s, i)
	p = blanks(s, p)
	switch {
	case p < len(s) && (s[p] == ':' || s[p] == ','):
		p++
	case strings.HasPrefix(s[p:], "=>"):
		p += 2
	case p < len(s) && s[p] == '=':
		p++
	case p < len(s) && s[p] == ']':
		p = blanks(s, p+1)
		if p == len(s) || s[p] != '=' {
			return 0
		}
		p++
	default:
		return 0
	}
	p = blanks(s, p)
	if p < len(s) && s[p] == '{' {
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
	word := endOf(s, p, 24, wordBytes+"-")
	q := endOf(s, word, len(s), " \t")
	fields, known := schemes[strings.ToLower(s[p:word])]
	switch {
	case known && q > word:
		p = q
	case q > word && q < len(s) && q-word == 1 && strings.IndexByte("\"'`$#", s[q]) < 0 && lineBreak(s, q) == 0:
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
		if !strings.ContainsAny(s[p:end], "=") {
			return nil
		}
		if cut := strings.IndexAny(s[p:end], "'`"); cut > 0 {
			end = p + cut
		}
		end = beforeBlanks(s, end)
		return []span{{lo: p, hi: end}}
	}
	v := strings.TrimRight(s[p:end], ".")
	head := t.isCutAt(end)
	switch {
	case len(v) < 8 && !(head && len(v) >= headMin), placeholder(v), end < len(s) && strings.IndexByte("<{(", s[end]) >= 0:
		return nil
	case known || head && !words(v) && p > i+len("authorization"):
	case len(v) < 16 || wordy(v) || digitRuns(v) < 2:
		return nil
	}
	if head && !known && words(v) {
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
	if !set && strings.Trim(before, "-") != "" && !boundaryBefore(s, i) {
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
		eq := endOf(s, i, 100, wordBytes+".-%!#")
		if eq == i || eq >= len(s) || s[eq] != '=' {
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
		if set || hi >= len(s) || s[hi] != ';' {
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
	for _, part := range [...]string{"sess", "sid", "auth", "token", "csrf", "xsrf", "jwt", "remember", "secret"} {
		if strings.Contains(low, part) {
			return len(v) >= 8 && (hasDigit(v) || upperLower(v)) && !(wordy(v) && len(v) < 16)
		}
	}
	return len(v) >= 12 && !wordy(v) && !strings.HasPrefix(low, "__utm") && !strings.HasPrefix(low, "_g")
}

// urlUser reads the password of an address, or the token in the
// place of its user.
func urlUser(t *text, i int) []span {
	s := t.s
	if s[i] != ':' {
		return nil
	}
	p := i + 1
	for n := 0; n < 2; n++ {
		p = endOf(s, p, len(s), `\`)
		if p == len(s) || s[p] != '/' {
			return nil
		}
		p++
	}
	if i == 0 || !isWord(s[i-1]) {
		return nil
	}
	const userMost, most = 160, 400
	user := p
	for user < len(s) && user-p < userMost && !strings.ContainsRune(" \t\r\n/?#:@\"'<>\\", rune(s[user])) {
		user++
	}
	if user == len(s) || s[user] != ':' && s[user] != '@' {
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
			if slashBefore(s[lo:hi]) {
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
	v := s[lo:end]
	name := s[p:user]
	if port(v) || name == "arn" {
		return nil
	}
	if v == "" || v == "x-oauth-basic" {
		if token := t.userToken(p, user); token != nil {
			return token
		}
		return nil
	}
	if len(v) < 3 || placeholder(v) || v == name || strings.HasPrefix(v, "$") {
		return nil
	}
	return []span{{lo: lo, hi: end}}
}

// port distinguishes a port, with a path behind it, from a password.
func port(v string) bool {
	digits := strings.TrimLeft(v, "0123456789")
	n := len(v) - len(digits)
	return n > 0 && n <= 5 && (digits == "" || strings.IndexByte("/?#\\,", digits[0]) >= 0)
}

func slashBefore(v string) bool { return strings.ContainsAny(v, "/?#") }

// inPassword reports what the password of an address may hold: any sign but white
// space, and no quote or bracket that ends the address.
func inPassword(s string, i int) bool {
	switch c := s[i]; c {
	case '"', '\'', '`':
		return i+1 < len(s) && isAlnum(s[i+1]) && i > 0 && (isAlnum(s[i-1]) || s[i-1] == '\\')
	case '<', '>', ',', ' ':
		return false
	case '\\':
		j := endOf(s, i, len(s), `\`)
		if j == len(s) {
			return false
		}
		if s[j] == '"' || s[j] == '\'' {
			return j+1 < len(s) && isAlnum(s[j+1]) && isAlnum(s[i-1])
		}
		return s[j] == '/' || escapedSign(s, i) > 0
	default:
		return c > ' '
	}
}

// hostAt reports whether a host's name begins at i, and ends as one does.
func hostAt(s string, i int) bool {
	if i < len(s) && (s[i] == '[' || s[i] == '(' || s[i] == '/') {
		return true // [::1], tcp(db), //db
	}
	j := endOf(s, i, 254, wordBytes+".-")
	if j == len(s) {
		return true
	}
	return j > i && s[j] != '@'
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
	if len(v) < 8 || strings.Contains(v, ".") || wordy(v) || !t.isCutAt(hi) {
		return nil
	}
	return []span{{lo: lo, hi: hi}}
}
