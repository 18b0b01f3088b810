package redact

import (
	_ "embed" // the words are a list
	"slices"
	"strings"
	"sync"
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

// mnemonicHints tell of a mnemonic behind them.
var mnemonicHints = wordsOf("mnemonicHints")

// mnemonicRules find the seeds of wallets.
func mnemonicRules() []*rule {
	hinted := &rule{name: "mnemonic", read: hintedMnemonic}
	for _, hint := range mnemonicHints {
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
		p = endOf(s, p, 20, betweenWords.or(" :=[({<>\\,.\"'`_-\n"))
		if out := mnemonic(t, p); out != nil {
			return out
		}
		end := endOf(s, p, 30, letterBytes)
		if end == p {
			return nil
		}
		p = end
	}
	return nil
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
	if n < mnemonicLeast || !inNoOrder(s[lo:hi]) {
		return nil
	}
	return []span{{lo: lo, hi: hi}}
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
