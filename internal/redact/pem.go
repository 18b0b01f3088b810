package redact

import (
	"encoding/base64"
	"strings"
)

// keyRules find private keys: armoured ones by their first line, those of PuTTY
// by the line before them, and armoured ones that are base64 once more.
func keyRules() []*rule {
	return []*rule{
		{name: "private-key", probes: []string{"PRIV"}, read: armouredKey},
		{name: "private-key", probes: []string{"Priv"}, read: puttyKey},
		{name: "private-key", probes: []string{"LS0t"}, left: true, read: encodedKey},
	}
}

const (
	// keyLines bounds the lines of a key, keyHeaders those between its first line
	// and its base64.
	keyLines, keyHeaders = 600, 6
	// keyLine bounds the length of a line with what is around it.
	keyLine = 4 << 10
	// wholeLine is the length of base64 that is a key's line wherever it is,
	// someLine one that is if lines of the key are before it.
	wholeLine, someLine = 40, 16
)

// armouredKey reads a PEM or PGP private key from the words PRIVATE KEY of its
// first line. It fails safe: every line with base64 belongs to the key, whatever
// is before and behind it.
func armouredKey(t *text, i int) []span {
	const words = "PRIVATE KEY"
	if !strings.HasPrefix(t.s[i:], words) {
		return nil
	}
	lo := armour(t.s, i)
	if lo < 0 {
		return endOfKey(t.s, i)
	}
	j := i + len(words)
	if strings.HasPrefix(t.s[j:], " BLOCK") {
		j += len(" BLOCK")
	}
	for j < len(t.s) && (t.s[j] == '-' || colour(t.s, j) > 0) {
		j += max(1, colour(t.s, j))
	}
	hi := t.keyBody(j)
	return unless(hi < 0, lo, hi)
}

// endOfKey reads the lines of base64 before the last line of a key, of which the words PRIVATE KEY are at i: those
// of a file whose beginning is not shown.
func endOfKey(s string, i int) []span {
	end := lineStart(s, i, 40)
	if !strings.Contains(s[end:i], "-END ") {
		return nil
	}
	lo := end
	for range keyLines {
		start := lineStart(s, beforeBreak(s, lo), keyLine)
		a, b := base64In(s[start:lo])
		if b-a < someLine || !looksBase64(s[start+a:start+b]) {
			break
		}
		lo = start + a
	}
	return unless(lo == end, lo, beforeBreak(s, end))
}

// beforeBreak is where the line break begins that ends at i.
func beforeBreak(s string, i int) int {
	for _, end := range [...]string{"\r\n", "\n", `\r\n`, `\n`} {
		if strings.HasSuffix(s[:i], end) {
			return i - len(end)
		}
	}
	return i
}

// armour is where the first line of a key begins of which the words PRIVATE KEY
// are at i.
func armour(s string, i int) int {
	const begin = "BEGIN"
	from := max(0, i-64)
	at := strings.LastIndex(s[from:i], begin)
	if at < 0 {
		return -1
	}
	at += from
	for j := at + len(begin); j < i; j++ {
		if n := colour(s, j); n > 0 {
			j += n - 1
		} else if c := s[j]; c != ' ' && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return -1
		}
	}
	for n := 0; n < 6 && at > 0 && (s[at-1] == '-' || n == 0 && s[at-1] == ' '); n++ {
		at--
	}
	return at
}

// keyBody is where the key ends whose first line ends at i, or -1 if no key
// follows.
func (t *text) keyBody(i int) int {
	s := t.s
	last, missing, empty := -1, 0, 0
	for n := 0; n < keyLines && i >= 0 && missing <= 2; n++ {
		end := lineEnd(s, i, keyLine)
		line := s[i:end]
		if at := strings.Index(line, "-END "); at >= 0 {
			if lo, hi := base64In(line[:at]); last < 0 && (hi-lo < someLine || !looksBase64(line[lo:hi])) {
				return -1
			}
			return endOfArmour(s, i+at)
		}
		hi := keyLineEnd(line, last >= 0)
		switch {
		case hi > 0:
			last, missing, empty = i+hi, 0, 0
		case t.isCutAt(end) || t.nextMark(i, end) >= 0:
			lo, hi := t.cutPiece(i, end)
			if hi-lo >= headMin && (last >= 0 || !fewLower(s[lo:hi]) && blankBefore(s[i:lo])) || last >= 0 && hi > lo {
				return hi
			}
			return last
		case last >= 0 && bare(line) && empty < keyHeaders:
			// The rest of a literal, behind an escaped line end.
			empty++
		case last >= 0 && t.endsSoon(end):
			missing++
		case last < 0 && n <= keyHeaders:
		default:
			return last
		}
		i = nextLine(s, end)
	}
	return last
}

// keyLineEnd is where the base64 of a line ends that belongs to a key, of which lines may be before, or 0.
func keyLineEnd(line string, before bool) int {
	lo, hi := base64In(line)
	v := line[lo:hi]
	if len(v) < someLine || !(len(v) >= wholeLine && !isHexText(v) || before && !isHexText(v) || blankBefore(line[:lo]) && looksBase64(v)) {
		return 0
	}
	// A padded short run behind it belongs to the key too.
	if lo, tail := base64At(line, hi); tail-lo >= someLine {
		return tail
	}
	return hi
}

// endsSoon reports whether one of the two lines behind i is a key's last one. What
// is left of a literal behind an escaped line end counts for nothing.
func (t *text) endsSoon(i int) bool {
	for n, lines := 0, 0; n < 6 && lines < 2; n++ {
		if i = nextLine(t.s, i); i < 0 {
			return false
		}
		end := lineEnd(t.s, i, keyLine)
		if strings.Contains(t.s[i:end], "-END ") {
			return true
		}
		if !bare(t.s[i:end]) {
			lines++
		}
		i = end
	}
	return false
}

// bare reports whether a line has neither letters nor digits.
func bare(line string) bool { return !strings.ContainsAny(line, alphanumeric) }

// cutPiece is the piece of base64 before the first cut in a line.
func (t *text) cutPiece(from, to int) (lo, hi int) {
	hi = to
	if mark := t.nextMark(from, to); mark >= 0 {
		hi = mark
	}
	hi = startOf(t.s, hi, hi-from, oneOf(" ."))
	return startOf(t.s, hi, hi-from, base64Bytes), hi
}

// base64In is the longest run of base64 in a line.
func base64In(line string) (lo, hi int) {
	for i := 0; i < len(line); {
		a, b := base64At(line, i)
		if b-a > hi-lo {
			lo, hi = a, b
		}
		i = b + 1
	}
	return lo, hi
}

// base64At is the first run of base64 from i on. An escaped slash is one.
func base64At(line string, i int) (lo, hi int) {
	lo = find(line, i, len(line), alphanumeric+"+/=")
	hi = endOf(line, lo, len(line), base64Bytes)
	for hi > lo && strings.HasPrefix(line[hi:], `\/`) {
		hi = endOf(line, hi+1, len(line), base64Bytes)
	}
	return lo, hi
}

// blankBefore reports whether nothing is before a key's first base64 but what
// listings and literals put there.
func blankBefore(s string) bool { return !strings.ContainsAny(s, letters) }

// looksBase64 distinguishes base64 from long names and paths.
func looksBase64(v string) bool { return hasDigit(v) && upperLower(v) && !wordy(v) }

func isHexText(v string) bool { return only(v, digitBytes.or("abcdef")) }

// endOfArmour is where the last line of a key ends that has "-END " at i.
func endOfArmour(s string, i int) int {
	end := i + len("-END ")
	for n := 0; n < 64 && end < len(s); n++ {
		k := colour(s, end)
		if k == 0 && strings.IndexByte(" ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", s[end]) < 0 {
			break
		}
		end += max(1, k)
	}
	for n := 0; n < 5 && end < len(s); n++ {
		if k := colour(s, end); k > 0 && end+k < len(s) && s[end+k] == '-' {
			end += k
		}
		if s[end] != '-' {
			break
		}
		end++
	}
	return end
}

// puttyKey reads the lines behind Private-Lines of PuTTY's files.
func puttyKey(t *text, i int) []span {
	if !strings.HasPrefix(t.s[i:], "Private-Lines:") {
		return nil
	}
	next := nextLine(t.s, lineEnd(t.s, i, 80))
	if next < 0 {
		return nil
	}
	return t.base64Lines(next)
}

// base64Lines are the lines of base64 from i on, as one.
func (t *text) base64Lines(i int) []span {
	first, last := len(t.s), -1
	for n := 0; n < keyLines && i >= 0; n++ {
		end := lineEnd(t.s, i, keyLine)
		lo, hi := base64In(t.s[i:end])
		if bare(t.s[i:end]) {
			i = nextLine(t.s, end)
			continue
		}
		if hi-lo < someLine || isHexText(t.s[i+lo:i+hi]) {
			if a, b := t.cutPiece(i, end); b-a >= headMin && t.isCutAt(b) {
				first, last = min(first, a), b
			}
			break
		}
		first, last = min(first, i+lo), i+hi
		i = nextLine(t.s, end)
	}
	return unless(last < 0, first, last)
}

// encodedKey reads a PEM private key that is base64 as a whole, as Kubernetes
// keeps it.
func encodedKey(t *text, i int) []span {
	end := endOf(t.s, i, len(t.s), base64Bytes)
	head := t.s[i:min(end, i+96)]
	plain, err := base64.StdEncoding.DecodeString(head[:len(head)/4*4])
	if err != nil || !strings.Contains(string(plain), "PRIVATE") {
		return nil
	}
	if end-i >= wholeLine && lineBreak(t.s, end) > 0 {
		if more := t.base64Lines(nextLine(t.s, end)); end-i <= 80 && len(more) > 0 {
			end = more[0].hi
		}
	}
	return []span{{lo: i, hi: end}}
}
