package redact

import (
	"slices"
	"strings"
)

// odd leaves words at a cut alone that begin as a key does.
func odd(m match) bool {
	v := m.value()
	return !m.head || noSourceMap(m) && !words(v[3:]) && (hasDigit(v) || random(v))
}

// longKeys finds stretches of random characters that are keys by their alphabet and length, or by
// the word before them.
func longKeys(s string, _ int) []span {
	var out []span
	const step, alnum = 22, isDigit | isLower | isUpper
	for i := step / 2; i+9 < len(s); i += step {
		// Most places have a blank or a sign near, or lower case letters alone.
		a, b, c, d := longOf[s[i]], longOf[s[i+3]], longOf[s[i+6]], longOf[s[i+9]]
		if (a&b&c&d>>7)*((a|b|c|d)&3) == 0 {
			continue
		}
		lo, hi := i, i
		for lo > 0 && classOf[s[lo-1]]&alnum != 0 && i-lo < 100 {
			lo--
		}
		for hi < len(s) && classOf[s[hi]]&alnum != 0 { // to its end, so that no two overlap
			hi++
		}
		if hi-lo >= 30 {
			if name := longKey(s, lo, hi); name != "" {
				out = append(out, span{lo: lo, hi: hi, rule: name})
			}
		}
		i = max(i, hi-step)
	}
	return out
}

// longOf has a high bit for letters and digits, and a low one for capitals and digits.
var longOf = func() (of [256]uint8) {
	for c := range of {
		switch class := classOf[c]; class {
		case isDigit, isUpper:
			of[c] = 1<<7 | uint8(class&isDigit) | 2
		case isLower:
			of[c] = 1 << 7
		}
	}
	return of
}()

// Alphabets of keys.
var (
	base58 = set{others: "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"}
	base32 = upperBytes.or("234567")
)

// longKey is the rule's name for the stretch of letters and digits from lo to hi, or nothing.
func longKey(s string, lo, hi int) string {
	v := s[lo:hi]
	alone := boundaryBefore(s, lo) && !(lo > 0 && strings.IndexByte("/+.", s[lo-1]) >= 0) && !byteIn(s, hi, "_-+/=")
	switch n := len(v); {
	case alone && (n == 51 || n == 52 || n == 58) && strings.IndexByte("5KLc96", v[0]) >= 0 && only(v, base58) && random(v) && upperLower(v):
		return "wallet-key"
	case alone && (n == 56 || n == 58) && v[0] == 'S' && only(v, base32) && digitRuns(v) > 2:
		return "seed-key"
	case (n == 40 || n == 48) && lo > 1 && s[lo-1] == '|' && byteIn(s, lo-2, digits) && random(v) && digitRuns(v) > 2 && upperLower(v):
		return "personal-token"
	case (n == 87 || n == 88) && alone && only(v, base58) && hinted(s, lo), n == 66 && alone && strings.HasPrefix(v, "0x") && isHexText(v[2:]) && hinted(s, lo):
		return "wallet-key"
	case isPrefixedKey(s, lo, hi):
		return "prefixed-key"
	}
	return ""
}

// hinted reports words before a wallet's key, which could be a signature or a hash without them.
func hinted(s string, lo int) bool {
	return containsOne(strings.ToLower(s[max(0, lo-40):lo]), "priv", "phantom", "pk = ") || byteIn(s, lo-min(lo, 2), ")") && strings.Contains(s[max(0, lo-900):lo], "Private Keys")
}

// isPrefixedKey reports random characters behind a word and a sign, as most services begin their
// keys. Many other things are named so; their words are known.
func isPrefixedKey(s string, lo, hi int) bool {
	v := s[lo:hi]
	if lo < 3 || strings.IndexByte("_-", s[lo-1]) < 0 || byteIn(s, hi, "_+/=") || digitRuns(v) < 2 || !upperLower(v) || !random(v) {
		return false
	}
	from := startOf(s, lo, 30, alnumBytes.or("_-"))
	head := s[from : lo-1]
	if len(head) < 2 || !boundaryBefore(s, from) || from > 0 && strings.IndexByte("/.=+", s[from-1]) >= 0 {
		return false
	}
	low := strings.ToLower(head)
	if !containsOne(low, "live", "sk", "key", "api", "tok", "secret", "pat", "acct") && digitRuns(v) < 3 {
		return false
	}
	return wordy(head) && (low == head || strings.ToUpper(head) == head) && !slices.Contains(idWords, low[strings.LastIndexAny(low, "_-")+1:])
}

// idWords come before random characters that are no key.
var idWords = wordsOf("idWords")

// byteList reads the numbers of a key behind a name, which ends at i: [u8; 32] = [1, 2, ...], {0x01, ...}.
func (t *text) byteList(a *assignment, i int) []span {
	s := t.s
	eq := find(s, i, min(len(s), i+48), "=\n")
	if !byteIn(s, eq, "=") {
		return nil
	}
	lo := endOf(s, eq, 24, alnumBytes.or("=[]{( &"))
	lo = startOf(s, lo, 8, alnumBytes)
	hi := endOf(s, lo, keyLine, digitBytes.or("xabcdefABCDEF, \n\t"))
	numbers := strings.FieldsFunc(s[lo:hi], func(r rune) bool { return r == ',' || r <= ' ' })
	if len(numbers) < 16 || len(numbers) > 64 || !byteIn(s, hi, "]})") || !byteIn(s, beforeBlanks(s, lo)-1, "[{(") || slices.ContainsFunc(numbers, func(n string) bool { return len(n) > 4 }) {
		return nil
	}
	slices.Sort(numbers)
	if len(slices.Compact(numbers)) < 8 {
		return nil
	}
	return []span{{lo: lo, hi: hi}}
}

// keyBytes reads a wallet's file, of which the bracket is at i: the 64 bytes of a key.
func keyBytes(t *text, i int) []span {
	s := t.s
	n, seen, p := 0, map[string]bool{}, i
	for ; n < 65 && byteIn(s, p, "[,"); n++ {
		lo := endOf(s, p+1, 4, oneOf(" \n"))
		if p = endOf(s, lo, 3, digitBytes); p == lo || p-lo == 3 && s[lo:p] > "255" {
			return nil
		}
		seen[s[lo:p]] = true
	}
	if n != 64 || len(seen) < 32 || !byteIn(s, p, "]") {
		return nil
	}
	return []span{{lo: i + 1, hi: p}}
}

// maxmind distinguishes a licence key, which its end gives away, from other names.
func maxmind(m match) bool {
	i := m.at - 36
	return !m.head && i >= 0 && m.text[i+6] == '_' && only(m.text[i:i+6]+m.text[i+7:m.at], alnumBytes) && random(m.text[i+7:m.at])
}

// facebook distinguishes an app's token, which the app's number begins, from other
// digits.
func facebook(m match) bool {
	n := m.digitsBefore()
	return !m.head && (n == 12 || n == 13)
}

// random distinguishes letters and digits in no order from names, in which letters
// of one kind are together.
func random(v string) bool {
	n, runs := caseRuns(v)
	return n >= 12 && float64(n) < 2.9*float64(runs)
}

// oddCase is random for letters of both cases, of which fewer are enough.
func oddCase(v string) bool {
	n, runs := caseRuns(v)
	return n >= 8 && upperLower(v) && n < 3*runs && runs > 3
}

// caseRuns counts letters and digits, and the stretches of one kind of them.
func caseRuns(v string) (n, runs int) {
	const other, lowerCase, upperCase, number = 0, 1, 2, 3
	kind, length := other, 0
	for _, c := range []byte(v) {
		k := other
		switch {
		case 'a' <= c && c <= 'z':
			k = lowerCase
		case 'A' <= c && c <= 'Z':
			k = upperCase
		case '0' <= c && c <= '9':
			k = number
		}
		if k == other {
			kind = k
			continue
		}
		n++
		// One capital and what follows it are a word's beginning.
		if k != kind && !(k == lowerCase && kind == upperCase && length == 1) {
			runs++
			length = 0
		}
		kind = k
		length++
	}
	return n, runs
}
