package redact

import (
	_ "embed" // the words are a list
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// mnemonicList has the words of BIP 39, those that other texts rarely have first.
//
//go:embed mnemonic.txt
var mnemonicList string

// mnemonicWords are the list's words.
var mnemonicWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(mnemonicList) {
		words[word] = true
	}
	return words
})

const (
	// mnemonicProbes is how many of the list's words are looked for without another word
	// that tells of a mnemonic: seven of ten mnemonics of twelve words have one of them, and
	// nine of ten of 24 words.
	mnemonicProbes = 200
	mnemonicLeast  = 12
)

// mnemonicRules find the seeds of wallets.
func mnemonicRules() []*rule {
	hinted := &rule{name: "mnemonic", read: hintedMnemonic}
	for _, hint := range mnemonicHints() {
		hinted.probes = append(hinted.probes, hint[:4])
	}
	bare := &rule{name: "mnemonic", loose: true, left: true, read: mnemonic}
	for _, word := range strings.Fields(mnemonicList)[:mnemonicProbes] {
		bare.probes = append(bare.probes, (word + " ")[:4])
	}
	return []*rule{hinted, bare}
}

// hintedMnemonic reads the words behind one that tells of them.
func hintedMnemonic(t *text, i int) []span {
	s := t.s
	for p := endOf(s, i, 20, letterBytes); p < len(s) && p < i+80; {
		p = endOf(s, p, 20, betweenWords.or(" :=[({)<>\\,.\"'`_-\n"))
		if out := mnemonic(t, p); out != nil {
			return out
		}
		if out := t.foreignMnemonic(p); out != nil {
			return out
		}
		end := p
		for end < len(s) && end < p+30 && (letterBytes.has(s[end]) || s[end] >= utf8.RuneSelf) {
			end++
		}
		if end == p {
			return nil
		}
		p = end
	}
	return nil
}

// mnemonicLengths are how many words a mnemonic has.
var mnemonicLengths = []int{12, 15, 18, 21, 24}

// foreignMnemonic reads words of any language at i, behind a word that tells of a mnemonic: as
// many as one has, in lower case, and none that only sentences have.
func (t *text) foreignMnemonic(i int) []span {
	s := t.s
	if before := startOf(s, i, 19, oneOf(" ")); before == 0 || !byteIn(s, before-1, ":=\"'`(\n") {
		return nil
	}
	blanks, end, most := 0, i, mnemonicLengths[len(mnemonicLengths)-1]
	for ; end < len(s) && (isAlnum(s[end]) || strings.IndexByte("\"'`.,;:<>()=\\", s[end]) < 0); end++ {
		if s[end] <= ' ' {
			blanks++
		}
		if blanks > 2*most || end-i > foreignBytes {
			return nil // more than a list has
		}
	}
	// A marker ends no list: else each round would take the words before those of the last one.
	if end-i < 4*mnemonicLeast-1 || byteIn(s, end, ".,;:()<>=") || end == len(s) && !t.last || !slices.Contains(mnemonicLengths, len(strings.Fields(s[i:end]))) {
		return nil
	}
	for word := range strings.FieldsSeq(s[i:end]) {
		if n := utf8.RuneCountInString(word); n < 3 && word[0] < 0xE0 || n > 10 || hasUpper(word) || hasDigit(word) || slices.Contains(sentenceWords(), word) || strings.ContainsAny(word, "-_/") {
			return nil
		}
	}
	return []span{{lo: i, hi: i + len(strings.TrimRight(s[i:end], " \r\n\t"))}}
}

// foreignBytes has the most words of the longest letters, with two blanks between them.
const foreignBytes = 24 * (10*utf8.UTFMax + 2)

// recoveryCodes reads the codes behind words that announce them, of which a part is at i: groups of
// letters and digits that hyphens join, or long numbers.
func recoveryCodes(t *text, i int) (out []span) {
	s := t.s
	p := endOf(s, i, 20, letterBytes.or("_- "))
	if !containsOne(strings.ToLower(s[i:p]), "code", "key", "password", "tan", "schl") {
		return nil
	}
	for missed := 0; missed < 2 && p < len(s) && p < i+800; {
		lo := endOf(s, p, 40, oneOf(" \t\r\n:=-*#[]\"',;.()"))
		if n := lineBreak(s, lo); n > 0 {
			lo += n
		}
		p = endOf(s, lo, 80, alnumBytes.or("-"))
		v := s[lo:p]
		groups := strings.Split(v, "-")
		same := len(groups) > 1 && len(v) > 8 && !slices.ContainsFunc(groups, func(g string) bool { return len(g) != len(groups[0]) || len(g) < 4 })
		switch {
		case p == lo, strings.HasPrefix(v, "0x"):
			p++
			missed++
		case same && (hasDigit(v) || !hasLower(v)) && !(len(groups) == 2 && words(v)), len(v) >= 8 && len(v) <= 16 && only(v, digitBytes), len(v) >= 8 && len(v) <= 16 && hasDigit(v) && !wordy(v):
			out = append(out, span{lo: lo, hi: p})
		case !(len(v) <= 2 && only(v, digitBytes)): // a number before a code
			missed++
		}
	}
	return out
}

// mnemonic reads the words around the one at i: words of the list, and nothing but numbers and
// signs of a list between them.
func mnemonic(t *text, i int) []span {
	s, words := t.s, mnemonicWords()
	lo, hi, n := i, i, 0
	if end := endOf(s, i, 9, lowerBytes); i < t.mnemonic || end-i < 3 || end-i > 8 || !words[s[i:end]] {
		return nil
	}
	for p := i; p < len(s); n++ {
		end := endOf(s, p, 9, lowerBytes)
		if !words[s[p:end]] {
			break
		}
		hi = end
		p = endOf(s, skipEscape(s, end), 8, betweenWords)
	}
	for n > 0 {
		end := startOf(s, lo, 8, betweenWords)
		first := startOf(s, end, 9, lowerBytes)
		if !words[s[first:end]] {
			break
		}
		lo = first
		n++
	}
	t.mnemonic = hi
	return unless(n < mnemonicLeast || !inNoOrder(s[lo:hi]), lo, hi)
}

// inNoOrder reports words that are no sorted list, and of which few come again.
func inNoOrder(s string) bool {
	words := strings.FieldsFunc(s, func(r rune) bool { return r < 'a' || r > 'z' })
	seen := map[string]bool{}
	for _, word := range words {
		seen[word] = true
	}
	return 4*len(seen) > 3*len(words) && !slices.IsSorted(words)
}

var betweenWords = digitBytes.or(" ,.)\t\r\n\"'")

// skipEscape is where an escaped line end behind a word at i ends.
func skipEscape(s string, i int) int {
	if j := endOf(s, i, 4, oneOf(`\`)); j > i && byteIn(s, j, "n") {
		return j + 1
	}
	return i
}
