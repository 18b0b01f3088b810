package redact

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// likely reports whether a value that only its place makes a secret's looks like
// one: for passwords a word with digits or signs, for the rest random characters.
func (k kind) likely(v string) bool {
	if len(v) > 8<<10 || looksLikeCode(v, true) || placeholder(v) || strings.HasPrefix(v, "--") || strings.ContainsAny(v, "(){}[];") || isVersion(v) || snakeCase(v) {
		return false
	}
	if encodedCredentials(v) {
		return true
	}
	_, digits, _ := count(v)
	if k != passwordKind {
		return len(v) >= 12 && !wordy(v) && digits > 0
	}
	return len(v) >= 8 && literalValue(v) && (digits > 1 || !wordy(v) || strings.ContainsAny(v, "!@#$%^&*?")) && !namesPassword(v)
}

// isVersion reports a date, a time, a version, an address of a machine, a size.
func isVersion(v string) bool {
	return strings.HasPrefix(v, "HTTP/") || strings.Trim(v, digits+".:-/+TZvVx,%KMGiBms") == "" || strings.Contains(v, "@") && strings.Contains(v[strings.IndexByte(v, '@'):], ".")
}

// valueOf reads a value in quotes, or one whose characters are not parted, at i
// behind signs that only decorate it.
func (t *text) valueOf(i int) (lo, hi int) { return t.valueWithin(i, 8<<10) }

// shortValue bounds a value that a prompt has without a sign before it.
const shortValue = 200

// valueWithin is valueOf for a value of at most most bytes.
func (t *text) valueWithin(i, most int) (lo, hi int) {
	s := t.s
	lo = i
	for lo < len(s) {
		n := decoration(s, lo)
		if n == 0 {
			break
		}
		lo += n
	}
	hi = lo
	for end := min(len(s), lo+most); hi < end && s[hi] > ' ' && s[hi] < utf8.RuneSelf && strings.IndexByte("\"'`<>", s[hi]) < 0; hi++ {
		if s[hi] == '\\' || t.cut && ellipsis(s[hi:]) {
			break
		}
	}
	return lo, lo + len(strings.TrimRight(s[lo:hi], ".,;:*_)"))
}

// decoration is the length of a sign at i that is put around a value: a quote, a
// bracket, a sign of Markdown, a blank, a colour.
func decoration(s string, i int) int {
	if strings.IndexByte(" \t\"'`*_(", s[i]) >= 0 {
		return 1
	}
	for _, sign := range [...]string{"「", "『", "“", "„", "«", "‘", "【", "\u00a0", "\u3000"} {
		if sign[0] == s[i] && strings.HasPrefix(s[i:], sign) {
			return len(sign)
		}
	}
	return colour(s, i)
}

// labelSigns part a label from its value.
var labelSigns = []string{
	": ", ":\t", ":*", ":`", ":\n", ":\r", ":\\n", ":\u00a0", "：", "＝", " = ", "→", "—", " – ", "は", "为", "為", "是", " is ", " was ", " ist ", " wurde auf ", " set to ", " lautet ", " est ", " es ", " é ", " è ", " är ", " er ", " is:",
	" to ", " from ", " are ", " sind ", " sont ", " son ", " sono ", " jest ", "改成", "改为", "设为", "설정", " on ", " je ", " là ", " adalah ", " είναι ", " היא ", "คือ", " هي ", " -> ", "'s ", "는 ", "은 ",
}

// labelBytes has, for a byte between a name and its value, the signs that begin with
// it and whether it can be part of the words there; other bytes end them.
var labelBytes = sync.OnceValue(func() *[256]labelByte {
	var bytes [256]labelByte
	for c := range bytes {
		bytes[c].inWords = c == ' ' || c >= utf8.RuneSelf || wordBytes.or("'`*()[]@.-/\"").has(byte(c))
	}
	for _, sign := range labelSigns {
		at := &bytes[sign[0]]
		at.signs = append(at.signs, sign)
		at.next[sign[1]>>6] |= 1 << (sign[1] & 63)
	}
	return &bytes
})

type labelByte struct {
	inWords bool
	signs   []string
	next    [4]uint64 // the set of the signs' second bytes
}

// label reads the value of a name that more words are behind: "Password for the
// user deploy: x", "**Password:** x", "Пароль администратора — x". i is the name's
// end.
func (t *text) label(a *assignment, i int) []span {
	s := t.s
	if q := closingQuotes(s, i); q > i && q < len(s) && lineBreak(s, q) > 0 && strings.Contains(s[max(0, a.lo-5):a.lo], ") \"") {
		return t.lineOf(a.kind, q) // Redis numbers names and values.
	}
	if i < len(s) && lineBreak(s, i) > 0 && isFlag(s, a.lo) {
		return t.lineOf(a.kind, i)
	}
	if i < len(s) && isAlnum(s[i]) && a.foreign() { // 密码x
		if lo, hi := t.valueWithin(i, shortValue); hi-lo >= 8 && a.kind.likely(s[lo:hi]) {
			return []span{{lo: lo, hi: hi}}
		}
	}
	if out := t.usedAs(a); len(out) > 0 {
		return out
	}
	bytes := labelBytes()
	words := 0
	for p := i; p < len(s) && p < i+100 && words < 10; p++ {
		at := &bytes[s[p]]
		signs := at.signs
		if p+1 == len(s) || at.next[s[p+1]>>6]>>(s[p+1]&63)&1 == 0 {
			signs = nil
		}
		for _, sign := range signs {
			if s[p+1] == sign[1] && strings.HasPrefix(s[p:], sign) && (sign[0] != ' ' || longWord(s, p+len(sign))) {
				if slices.ContainsFunc(strings.Fields(s[i:p]), func(word string) bool { return slices.Contains(harmlessEnds, strings.ToLower(word)) }) {
					return nil
				}
				if sign == " from " { // one to another
					if _, hi := t.valueWithin(p+len(sign), shortValue); strings.HasPrefix(s[hi:], " to ") {
						return append(t.labelled(a, p, p+len(sign), true), t.labelled(a, p, hi+len(" to "), true)...)
					}
					continue
				}
				if out := t.labelled(a, p, p+len(sign), p > i || strings.IndexByte(":=", sign[len(sign)-1]) < 0 && strings.IndexByte(" ：＝", sign[0]) < 0 || sign[0] == ' ' && sign != " = "); len(out) > 0 {
					return out
				}
			}
		}
		if !at.inWords {
			return nil
		}
		if s[p] == ' ' {
			words++
			if !longWord(s, p+1) || plainWord(s, p+1) {
				continue
			}
			if lo, hi := t.valueWithin(p+1, shortValue); hi-lo >= 8 && a.kind.unmistakable(s[lo:hi], p == i) {
				return []span{{lo: lo, hi: hi}}
			}
		}
	}
	return nil
}

// usedAs reads the value before a name that says what it is: x as the password, x als Passwort.
func (t *text) usedAs(a *assignment) []span {
	s := t.s
	said := false
	for n, i := 0, a.lo; n < 3 && !said; n++ {
		end := beforeBlanks(s, i)
		for i = end; i > 0 && s[i-1] > ' ' && end-i < 30; i-- {
		}
		said = slices.Contains(asWords, s[i:end])
	}
	if !said {
		return nil
	}
	start := lineStart(s, a.lo, 100)
	words := strings.Fields(s[start:a.lo])
	if next := strings.Fields(s[a.lo:min(len(s), a.lo+60)]); len(next) > 1 && slices.Contains(harmlessEnds, strings.ToLower(next[1])) {
		return nil // as the password hash
	}
	for n := len(words) - 1; n > 0 && n > len(words)-4; n-- {
		if slices.Contains(asWords, words[n]) {
			v := strings.Trim(words[n-1], "\"'`.,:*()")
			if lo := start + strings.LastIndex(s[start:a.lo], v); v != "" && (a.kind.unmistakable(v, false) || a.kind == passwordKind && chosenValue(v)) {
				return []span{{lo: lo, hi: lo + len(v)}}
			}
		}
	}
	return nil
}

var asWords = []string{"as", "als", "comme", "como", "come", "jako", "som", "как", "作为", "olarak"}

// userPair reads the password behind a user's name, of which a part is at i: admin / x.
func userPair(t *text, i int) []span {
	s := t.s
	p := endOf(s, i, 12, letterBytes)
	for _, sign := range [...]string{" / ", "/", ":", " with ", " mit ", " avec ", " con ", " com "} {
		if !strings.HasPrefix(s[p:], sign) {
			continue
		}
		lo, hi := t.valueWithin(p+len(sign), shortValue)
		before := strings.ToLower(s[lineStart(s, i, 60):i])
		if v := s[lo:hi]; passwordKind.likely(v) && (!wordy(v) || chosenValue(v)) && (sign == " / " || len(sign) == 1 && !strings.ContainsAny(v, ":/~,") && upperLower(v) && (chosenValue(v) || passwordKind.unmistakable(v, false)) && boundaryBefore(s, startOf(s, i, 12, letterBytes)) || passwordKind.unmistakable(v, false) && containsOne(before, "log in", "login", "logged in", "sign in", "anmeld", "connect", "entra", "inicia")) {
			return []span{{lo: lo, hi: hi}}
		}
	}
	return nil
}

// longWord reports whether no blank is within a few bytes of i, which spares most words a look.
func longWord(s string, i int) bool {
	return i+8 <= len(s) && strings.IndexByte(s[i:i+8], ' ') < 0
}

// plainWord reports a short word at i without digits and capitals.
func plainWord(s string, i int) bool {
	end := i
	for end < len(s) && s[end] > ' ' && classOf[s[end]]&(isDigit|isUpper) == 0 {
		end++
	}
	return end-i < 32 && (end == len(s) || s[end] <= ' ')
}

// unmistakable reports a value that is one without a sign before it: characters in no order that
// are no checksum. Right behind the name of a token, long hexadecimal numbers are values too.
func (k kind) unmistakable(v string, behind bool) bool {
	if plainWord(v, 0) || !only(v, wordBytes.or("!@#$%^&*?~+=-")) || !k.likely(v) && !(random(v) && upperLower(v)) || placeholder(v) {
		return false
	}
	if isHexText(strings.ReplaceAll(v, "-", "")) {
		return behind && k == tokenKind && len(v) >= 32 && len(v) != 40
	}
	return k == passwordKind && strings.ContainsAny(v, "!@#$%^&*?") && hasDigit(v) || !wordy(v) && upperLower(v) && (digitRuns(v) > 1 || random(v)) && (k == passwordKind || len(v) >= 16)
}

// labelled reads the value behind a sign that is from p to i.
func (t *text) labelled(a *assignment, p, i int, apart bool) []span {
	s := t.s
	lo, hi := t.valueOf(i)
	cred := a.kind == tokenKind && hasOnePrefix(strings.ToLower(a.telling), "cred", "zugangsd", "fiants")
	switch {
	case lo == hi || lo >= len(s):
		// In the next line, or the one behind an empty one.
		if n := endOf(s, lo, 3, oneOf(" *_")); n < len(s) && lineBreak(s, n) > 0 {
			return t.lineOf(a.kind, n)
		}
		return nil
	case !apart && lo == i && !cred:
		return nil // What stands right behind its name is judged already.
	case byteIn(s, hi, "([{<\\"):
		return nil
	}
	v := s[lo:hi]
	// admin / x, admin:x
	if rest := s[hi:min(len(s), hi+200)]; cred {
		if strings.HasPrefix(rest, " / ") {
			lo, hi = t.valueOf(hi + len(" / "))
			v = s[lo:hi]
		} else if _, password, found := strings.Cut(v, ":"); found {
			lo, v = hi-len(password), password
		}
		if passwordKind.likely(v) {
			return []span{{lo: lo, hi: hi}}
		}
		return nil
	}
	if strings.HasPrefix(strings.ToLower(a.telling), "secret") && chosenValue(v) && passwordKind.likely(v) && t.s[p] == ':' {
		return []span{{lo: lo, hi: hi}}
	}
	if !a.kind.likely(v) && !(a.kind == passwordKind && t.s[p] != ':' && gibberish(v) && len(v) >= 9) || t.s[p] != ':' && wordy(v) && !a.foreign() && !(chosenValue(v) && (upperLower(v) || !hasOnePrefix(t.s[p:], " to ", " on "))) {
		return nil
	}
	return []span{{lo: lo, hi: hi}}
}

// chosenValue reports a word with the digits and signs that a person puts behind it.
func chosenValue(v string) bool {
	c := candidate{v: v}
	c.letters, c.digits, c.symbols = count(v)
	return c.chosen()
}

// foreign reports a name that is not ASCII: it is no name of a program's.
func (a *assignment) foreign() bool {
	return strings.ContainsFunc(a.name, func(r rune) bool { return r >= utf8.RuneSelf })
}

// fallback reads the text that stands in for a value that may be missing:
// password = x || "y", x ?: "y", fetch(x, "y").
func (t *text) fallback(a *assignment) []span {
	s := t.s
	if a.quoted || a.to <= a.from || a.sign == " " || a.sign == "," || a.kind == keyKind {
		return nil
	}
	line := s[a.to:lineEnd(s, a.to, 60)]
	if !strings.ContainsAny(line, "\"'`") {
		return nil
	}
	for _, sign := range [...]string{"|| ", "?? ", "?: ", " or ", ", ", " : "} {
		at := strings.LastIndex(line, sign)
		if at < 0 {
			continue
		}
		v := t.valueAt(a.to + at + len(sign))
		if v.quoted && v.closed && (sign != ", " || strings.Contains(line[:at], "(") && byteIn(s, closingQuotes(s, v.to), ")")) && a.kind.likely(s[v.from:v.to]) {
			return []span{{lo: v.from, hi: v.to}}
		}
	}
	return nil
}

// lineOf reads the word that is alone in the line behind the one that ends at i, or
// behind an empty one.
func (t *text) lineOf(k kind, i int) []span {
	s := t.s
	for range 2 {
		next := nextLine(s, i)
		if next < 0 {
			return nil
		}
		i = lineEnd(s, next, keyLine)
		lo := next + endOf(s[next:i], 0, 80, oneOf(" \t>|-\"'"))
		if n := endOf(s[:i], lo, 3, digitBytes); n > lo && byteIn(s, n, ")") {
			lo = closingQuotes(s, blanks(s, n+1))
		}
		hi := wordEnd(s, lo, i, "\"'")
		if lo == i {
			continue
		}
		if v := s[lo:hi]; only(s[hi:i], oneOf(" \t\"")) && len(v) >= 8 && k.likely(v) && !(isHexText(v) && len(v) == 40) {
			return []span{{lo: lo, hi: hi}}
		}
		return nil
	}
	return nil
}

// typing are methods that enter a text into a field, or set it.
var typing = []string{"sendKeys", "send_keys", "type", "fill", "setValue", "set_value", "setText", "val", "pressSequentially", "equals"}

// call reads the value that a call gets whose name, which ends at i, tells of it:
// setPassword("x"), .withToken("x"), password{"x"}, passwordField.sendKeys("x").
func (t *text) call(a *assignment, i int) []span {
	s := t.s
	if !byteIn(s, i, "({.)]'\"") {
		return nil
	}
	p := closingQuotes(s, i)
	if p = endOf(s, p, 3, oneOf(")]'\"")); byteIn(s, p, ".") {
		q := endOf(s, p+1, 20, wordBytes)
		if !slices.Contains(typing, s[p+1:q]) {
			return nil
		}
		p = q
	} else if p > i {
		return nil
	}
	if !byteIn(s, p, "({") || a.kind == keyKind && p == i {
		return nil
	}
	named := a.name
	for range 4 {
		v := t.valueAt(t.wrapped(blanks(s, p+1)))
		q := closingQuotes(s, v.to)
		if v.quoted && v.closed && v.to > v.from {
			text := s[v.from:v.to]
			if a.kind.likely(text) && !getter(named) && !(a.kind == passwordKind && wordy(text) && !strings.ContainsAny(text, "!@#$%^&*?") && !hasDigit(text)) {
				return []span{{lo: v.from, hi: v.to}}
			}
		} else if q = endOf(s, p+1, 60, wordBytes.or(".$ ")); q == p+1 {
			return nil
		}
		if q = blanks(s, q); !byteIn(s, q, ",") {
			return nil
		}
		p = q
	}
	return nil
}

// getter reports the name of a function that a name is given to, not a value.
func getter(name string) bool {
	low := strings.ToLower(name)
	for _, head := range [...]string{"get", "find", "read", "load", "fetch", "ask", "prompt", "lookup", "has", "is", "need", "require", "expect", "test", "delete", "remove"} {
		if strings.HasPrefix(low, head) {
			return true
		}
	}
	return false
}

// wrapped is where the text begins that a conversion at i gets, as in []byte("x"),
// String::from("x"), Buffer.from('x') and N'x', or i.
func (t *text) wrapped(i int) int {
	s := t.s
	j := i
	for _, head := range [...]string{"await ", "new ", "&", "Some(", "N", "L", "@", "$"} {
		if strings.HasPrefix(s[j:], head) {
			j += len(head)
		}
	}
	if j > i && closingQuotes(s, j) > j {
		return j
	}
	for range 2 {
		k := endOf(s, j, 48, wordBytes.or(".:[]<>-"))
		if k == j {
			return i
		}
		switch name := strings.TrimRight(s[j:k], "_.:[]<>-"); {
		case byteIn(s, k, " ") && name == "ConvertTo-SecureString":
			k++
			if strings.HasPrefix(s[k:], "-String ") {
				k += len("-String ")
			}
		case closingQuotes(s, k) > k && name != "" && slices.Contains(conversions, name[strings.LastIndexAny(name, ".:")+1:]): // String.raw`x`
			return k
		case !byteIn(s, k, "({"), !slices.Contains(conversions, name[strings.LastIndexAny(name, ".:]")+1:]):
			return i
		default:
			k++
		}
		if closingQuotes(s, k) > k {
			return k
		}
		j = k
	}
	return i
}

// conversions make a value of a text, and change nothing of it.
var conversions = []string{
	"", "byte", "bytes", "from", "new", "String", "string", "str", "Some", "SecretString", "SecretStr", "Secret", "SecureString", "ConvertTo-SecureString", "toCharArray", "Buffer", "Ptr",
	"encode", "b64decode", "atob", "fromhex", "to_string", "from_str", "from_static", "HexDecodeString", "DecodeString", "fromString", "of", "unwrap", "Uint8Array", "quote", "GuardedString", "Data", "Lazy", "OnceCell", "Redacted", "NewString", "QStringLiteral", "QByteArray", "GetBytes", "raw", "sensitive", "strdup", "SecretBytes", "Bytes", "utf8", "c_str", "wrap", "Value",
}
