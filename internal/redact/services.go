package redact

import (
	"slices"
	"strconv"
	"strings"
)

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
	k := stretch{s, lo, hi, s[lo:hi]}
	for n := range longForms {
		if longForms[n].fits(k) {
			return longForms[n].rule
		}
	}
	return ""
}

// stretch is where letters and digits are in a text.
type stretch struct {
	s      string
	lo, hi int
	v      string
}

// long reports one of some lengths.
func (k stretch) long(lengths ...int) bool { return slices.Contains(lengths, len(k.v)) }

// alone reports a stretch that is part of no longer value.
func (k stretch) alone() bool {
	return boundaryBefore(k.s, k.lo) && !(k.lo > 0 && strings.IndexByte("/+.", k.s[k.lo-1]) >= 0) && !byteIn(k.s, k.hi, "_-+/=")
}

// hinted reports words before a wallet's key, which could be a signature or a hash without them.
func (k stretch) hinted() bool {
	return containsOne(strings.ToLower(k.s[max(0, k.lo-40):k.lo]), "priv", "phantom", "pk = ") || byteIn(k.s, k.lo-min(k.lo, 2), ")") && strings.Contains(k.s[max(0, k.lo-900):k.lo], "Private Keys")
}

// longForms are the forms of keys without another beginning.
var longForms = []struct {
	rule string
	fits func(k stretch) bool
}{
	{"wallet-key", func(k stretch) bool {
		return k.long(51, 52, 58) && strings.IndexByte("5KLc96", k.v[0]) >= 0 && only(k.v, base58) && random(k.v) && upperLower(k.v) && k.alone()
	}},
	{"seed-key", func(k stretch) bool {
		return k.long(56, 58) && k.v[0] == 'S' && only(k.v, base32) && digitRuns(k.v) > 2 && k.alone()
	}},
	{"personal-token", func(k stretch) bool {
		return k.long(40, 48) && k.lo > 1 && k.s[k.lo-1] == '|' && byteIn(k.s, k.lo-2, digits) && random(k.v) && digitRuns(k.v) > 2 && upperLower(k.v)
	}},
	{"wallet-key", func(k stretch) bool {
		return (k.long(87, 88) && only(k.v, base58) || k.long(66) && strings.HasPrefix(k.v, "0x") && isHexText(k.v[2:])) && k.alone() && k.hinted()
	}},
	{"prefixed-key", func(k stretch) bool { return isPrefixedKey(k.s, k.lo, k.hi) }},
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
	return wordy(head) && (low == head || strings.ToUpper(head) == head) && !slices.Contains(idWords(), low[strings.LastIndexAny(low, "_-")+1:])
}

// byteList reads the numbers of a key behind a name, which ends at i: [u8; 32] = [1, 2, ...], {0x01, ...}.
func (t *text) byteList(_ *assignment, i int) []span {
	s := t.s
	eq := find(s, i, min(len(s), i+48), "=\n")
	if !byteIn(s, eq, "=") {
		return nil
	}
	lo := endOf(s, eq, 24, alnumBytes.or("=[]{( &"))
	lo = startOf(s, lo, 8, alnumBytes)
	hi, n, distinct := numbers(s, lo)
	return unless(n < 16 || n > 64 || distinct < 8 || !byteIn(s, beforeBlanks(s, lo)-1, "[{("), lo, hi)
}

// keyBytes reads a wallet's file, of which the bracket is at i: the 64 bytes of a key.
func keyBytes(t *text, i int) []span {
	hi, n, distinct := numbers(t.s, i+1)
	return unless(n != 64 || distinct < 32, i+1, hi)
}

// numbers are how many bytes a list has that begins at i, and how many distinct ones; none if it is no list of bytes.
func numbers(s string, i int) (end, n, distinct int) {
	end = endOf(s, i, 1<<10, digitBytes.or("xabcdefABCDEF, \n\t"))
	all := strings.FieldsFunc(s[i:end], func(r rune) bool { return r == ',' || r <= ' ' })
	if !byteIn(s, end, "]})") || slices.ContainsFunc(all, func(number string) bool {
		_, err := strconv.ParseUint(number, 0, 8)
		return err != nil
	}) {
		return end, 0, 0
	}
	n = len(all)
	slices.Sort(all)
	return end, n, len(slices.Compact(all))
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
	kind, length := class(0), 0
	for i := range len(v) {
		k := classOf[v[i]] &^ isUnderscore
		if k == 0 {
			kind = 0
			continue
		}
		n++
		// One capital and what follows it are a word's beginning.
		if k != kind && !(k == isLower && kind == isUpper && length == 1) {
			runs++
			length = 0
		}
		kind = k
		length++
	}
	return n, runs
}
