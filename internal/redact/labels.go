package redact

import (
	"slices"
	"strings"
)

// leastLikely is how many bytes random characters have that only their place makes a secret.
const leastLikely = 12

// likely reports whether a value that only its place makes a secret's looks like
// one: for passwords a word with digits or signs, for the rest random characters.
func (k kind) likely(v string) bool {
	if k != passwordKind && len(v) < leastLikely || len(v) > 8<<10 || looksLikeCode(v, true) || placeholder(v) || strings.HasPrefix(v, "--") || strings.ContainsAny(v, "(){}[];") || isVersion(v) || snakeCase(v) {
		return false
	}
	if encodedCredentials(v) {
		return true
	}
	_, digits, _ := count(v)
	if k != passwordKind {
		return !wordy(v) && digits > 0
	}
	return len(v) >= 8 && literalValue(v) && (digits > 1 || !wordy(v) || strings.ContainsAny(v, "!@#$%^&*?")) && !namesPassword(v)
}

// likelyLine is likely for a line that is no checksum alone.
func (k kind) likelyLine(v string) bool { return k.likely(v) && !(isHexText(v) && len(v) == 40) }

// isVersion reports a date, a time, a version, an address of a machine, a size.
func isVersion(v string) bool {
	return strings.HasPrefix(v, "HTTP/") || strings.Trim(v, digits+".:-/+TZvVx,%KMGiBms") == "" || strings.Contains(v, "@") && strings.Contains(v[strings.IndexByte(v, '@'):], ".")
}

// shortValue bounds a value that a prompt has without a sign before it.
const shortValue = 200

// fallback reads the text that stands in for a value that may be missing:
// password = x || "y", x ?: "y", fetch(x, "y").
func (t *text) fallback(a *assignment, _ int) []span {
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
func (t *text) lineOf(i int, likely func(string) bool) []span {
	s := t.s
	for range 2 {
		next := nextLine(s, i)
		if next < 0 {
			return nil
		}
		i = lineEnd(s, next, keyLine)
		lo := next + endOf(s[next:i], 0, 80, oneOf(" \t><|-\"'"))
		if strings.HasPrefix(s[lo:], "Out[") { // IPython
			lo = closingQuotes(s, blanks(s, endOf(s, lo, 12, alnumBytes.or("[]:"))))
		}
		if n := endOf(s[:i], lo, 3, digitBytes); n > lo && byteIn(s, n, ")") {
			lo = closingQuotes(s, blanks(s, n+1))
		}
		hi := wordEnd(s, lo, i, "\"'")
		if lo == i {
			continue
		}
		if v := s[lo:hi]; only(s[hi:i], oneOf(" \t\"'")) && len(v) >= 8 && likely(v) && !(v[0] == '@' && identifier(v[1:])) {
			return []span{{lo: lo, hi: hi}}
		}
		return nil
	}
	return nil
}

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
		if !slices.Contains(typing(), s[p+1:q]) {
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
func getter(name string) bool { return hasOnePrefix(strings.ToLower(name), getters()...) }

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
		k := endOf(s, j, 48, wordBytes.or(".:[]<>-!"))
		if k == j {
			return i
		}
		switch name := strings.TrimRight(s[j:k], "_.:[]<>-!"); {
		case byteIn(s, k, " ") && name == "ConvertTo-SecureString":
			k++
			if strings.HasPrefix(s[k:], "-String ") {
				k += len("-String ")
			}
		case closingQuotes(s, k) > k && name != "" && slices.Contains(conversions(), name[strings.LastIndexAny(name, ".:")+1:]): // String.raw`x`
			return k
		case !byteIn(s, k, "({"), !slices.Contains(conversions(), name[strings.LastIndexAny(name, ".:]")+1:]):
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
