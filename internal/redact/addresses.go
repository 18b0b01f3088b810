package redact

import (
	"slices"
	"strings"
)

// pathTokens reads the credentials in the path and the parameters of the address of
// which the sign behind the scheme is at i.
func pathTokens(t *text, i int) []span {
	s := t.s
	p := behindScheme(s, i+1)
	if p < 0 {
		return nil
	}
	r := pathReader{text: t}
	end := endOf(s, p, 300, wordBytes.or(".-:@"))
	r.host = s[p:end]
	if p = end; !byteIn(s, p, "/\\?") {
		return nil
	}
	for limit := min(len(s), p+1<<10); p < limit; {
		if s[p] == '\\' {
			if p++; !byteIn(s, p, "/") {
				break
			}
		}
		sign := s[p]
		if strings.IndexByte("/?&#;=", sign) < 0 {
			break
		}
		lo := p + 1
		for p = lo; p < limit && addressBytes[s[p]]; p++ {
		}
		r.part(lo, p, sign)
	}
	return r.out
}

// pathReader reads the parts of an address: what is before a part decides on it, or what is before the
// part before that.
type pathReader struct {
	*text
	host, before string
	telling      bool
	out          []span
}

// part reads the part between two places, behind a sign.
func (r *pathReader) part(lo, hi int, sign byte) {
	part := r.s[lo:hi]
	switch {
	case len(part) >= 8 && r.isCutAt(hi) && (!wordy(part) || !hasLower(part)) && r.isSecret(sign):
	case len(part) < 15:
		if part != "" && !only(part, digitBytes) && part != "v2" && part != "v3" && part != "ws" {
			r.before, r.telling = part, false
		}
		return
	case strings.HasPrefix(part, "bot") && strings.Contains(part, ":"):
		at := strings.IndexByte(part, ':')
		if at < 8 || at+20 >= len(part) || !only(part[3:at], digitBytes) {
			return
		}
		lo += at + 1
	case !addressToken(part):
		r.before, r.telling = part, false
		return
	case !r.isSecret(sign):
		return
	default:
		r.telling = sign == '/'
		if at := strings.IndexByte(part, '@'); at > 0 {
			hi = lo + at
		}
	}
	r.out = append(r.out, span{lo: lo, hi: hi})
}

// isSecret reports whether a random part of the address is a credential behind a sign and what is before it.
func (r *pathReader) isSecret(sign byte) bool {
	before := strings.ToLower(r.before)
	switch {
	case r.telling:
		return true
	case sign == '=':
		return slices.Contains(addressParameters(), before)
	}
	return slices.Contains(addressWords(), before) || containsOne(strings.ToLower(r.host), addressHosts()...)
}

// addressBytes can be in a part of an address.
var addressBytes = func() (bytes [256]bool) {
	for _, c := range []byte(alphanumeric + "_-.~%+:@!,") {
		bytes[c] = true
	}
	return bytes
}()

// addressToken reports whether a part of an address is random: letters and digits,
// a long number in hexadecimal, a UUID.
func addressToken(v string) bool {
	if len(v) < 15 || placeholder(v) {
		return false
	}
	if isHexText(strings.ReplaceAll(v, "-", "")) {
		return len(v) >= 20 && hasDigit(v)
	}
	return !wordy(v) && digitRuns(v) > 1 && !strings.Contains(v, "@v")
}

// dsn reads the password of a data source that has no scheme: user:password@tcp(host),
// user:password@/name. The sign before the host is at i.
func dsn(t *text, i int) []span {
	s := t.s
	lo := startOf(s, i, 100, wordBytes.or(".-+!#$%^&*?~=/@:"))
	lo += strings.IndexByte(s[lo:i], '=') + 1
	colon := strings.IndexByte(s[lo:i], ':')
	if colon <= 0 || !only(s[lo:lo+colon], wordBytes.or(".-")) {
		return nil
	}
	lo += colon + 1
	if v := s[lo:i]; len(v) < 4 || placeholder(v) || strings.HasPrefix(v, "//") || !literalValue(v) {
		return nil
	}
	return []span{{lo: lo, hi: i}}
}

// oracle reads the password of user/password@host:1521, of which the port's sign is at i.
func oracle(t *text, i int) []span {
	s := t.s
	host := startOf(s, i, 100, wordBytes.or(".-"))
	if host < 2 || s[host-1] != '@' {
		return nil
	}
	hi := host - 1
	lo := startOf(s, hi, 100, wordBytes.or(".-+!#$%^&*?~="))
	user := startOf(s, lo-min(lo, 1), 60, wordBytes)
	return unless(lo == 0 || s[lo-1] != '/' || user == lo-1 || !literalValue(s[lo:hi]), lo, hi)
}
