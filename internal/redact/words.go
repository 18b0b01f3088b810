package redact

import (
	_ "embed" // the words are a list
	"slices"
	"strings"
	"sync"
)

//go:embed words.txt
var wordList string

// The lists of words.txt.
var (
	addressHosts      = wordsOf("addressHosts")      // hosts with a credential in the path
	addressParameters = wordsOf("addressParameters") // parameters of addresses that mean much else elsewhere
	addressWords      = wordsOf("addressWords")      // before a part of a path that is a credential
	answers           = wordsOf("answers")           // begin a command line that prints a secret alone
	asWords           = wordsOf("asWords")           // between a value and what it is
	askers            = wordsOf("askers")            // the same, if the line names a secret
	bitNumbers        = wordsOf("bitNumbers")        // numbers in names of programs
	certainRules      = wordsOf("certainRules")      // find what only a secret can be in the place of
	commandWords      = wordsOf("commandWords")      // before a name and a value that a blank parts
	conversions       = wordsOf("conversions")       // make a value of a text, and change nothing of it
	copulas           = wordsOf("copulas")           // verbs before a value
	fieldSchemes      = wordsOf("fieldSchemes")      // schemes of authorization with fields, of which one is the secret
	fieldWords        = wordsOf("fieldWords")        // of what a text is typed into
	getters           = wordsOf("getters")           // begin the names of functions that a name is given to, not a value
	harmlessEnds      = wordsOf("harmlessEnds")      // end names that speak of a secret but do not hold one
	hexWords          = wordsOf("hexWords")          // beside a hexadecimal number that is no checksum
	idWords           = wordsOf("idWords")           // before random characters that are no key
	knownBefore       = wordsOf("knownBefore")       // before a telling word, without a sign between
	loginWords        = wordsOf("loginWords")        // before a user and a password
	lookers           = wordsOf("lookers")           // commands that print what they find, or say nothing about a secret
	mnemonicHints     = wordsOf("mnemonicHints")     // before the words of a wallet
	otherKeys         = wordsOf("otherKeys")         // before the word key in names that are not keys
	otherTokens       = wordsOf("otherTokens")       // before the word token where it is the place in a list, or a request's number
	pairNames         = wordsOf("pairNames")         // members that hold a name
	pairValues        = wordsOf("pairValues")        // members that hold a value
	passwordEnds      = wordsOf("passwordEnds")      // telling words that end a name
	passwordKeys      = wordsOf("passwordKeys")      // before the word key where it is a password
	passwordNames     = wordsOf("passwordNames")     // names of passwords that end in key
	plainSchemes      = wordsOf("plainSchemes")      // schemes of authorization with the secret alone behind them
	printers          = wordsOf("printers")          // of command lines that print a secret alone
	readers           = wordsOf("readers")           // commands, or parts of them, that read a secret from their input
	sentenceWords     = wordsOf("sentenceWords")     // no words of a wallet
	settingFlags      = wordsOf("settingFlags")      // before a setting on a command line
	settingWords      = wordsOf("settingWords")      // names that a blank parts from their value
	shellWords        = wordsOf("shellWords")        // commands that often follow another one in its line
	technical         = wordsOf("technical")         // parts of words with numbers that no person chooses
	tokenEnds         = wordsOf("tokenEnds")         // as passwordEnds
	typing            = wordsOf("typing")            // methods that enter a text into a field, or set it
	verbs             = wordsOf("verbs")             // telling words that mean much else in a sentence

	harmlessWords = wordSet("harmlessEnds")
	placeholders  = wordSet("placeholders")                                                         // replace a secret as whole values
	keyWords      = setOf(func() []string { return slices.Concat(wordsOf("keyWords"), vendors()) }) // before the word key, and a blank, where it is a secret one
	harmless      = endingsOf("harmlessEnds")
	knownCalls    = endingsOf("knownCalls") // end the names of calls that get a credential
	openCalls     = endingsOf("openCalls")  // of those that may
	keyCalls      = endingsOf("keyCalls")   // of those whose every text is one
)

// wordLists are the lists of words.txt.
var wordLists = sync.OnceValue(func() map[string][]string {
	lists := map[string][]string{}
	for f := range columns(wordList) {
		for word := range strings.FieldsSeq(f[1]) {
			lists[f[0]] = append(lists[f[0]], strings.ReplaceAll(word, "~", " "))
		}
	}
	return lists
})

func wordsOf(name string) []string { return wordLists()[name] }

// wordSet and setOf make a set of a list when it is asked first.
func wordSet(name string) func() map[string]bool {
	return setOf(func() []string { return wordsOf(name) })
}

func setOf(list func() []string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		words := map[string]bool{}
		for _, word := range list() {
			words[word] = true
		}
		return words
	})
}

// endings are texts under their last byte.
type endings [256][]string

func endingsOf(name string) func() *endings {
	return sync.OnceValue(func() *endings {
		var of endings
		for _, text := range wordsOf(name) {
			last := text[len(text)-1]
			of[last] = append(of[last], text)
		}
		return &of
	})
}

// end reports whether s, of ASCII, ends in one of them, without regard to case.
func (e *endings) end(s string) bool {
	return s != "" && slices.ContainsFunc(e[lowerByte(s[len(s)-1])], func(text string) bool { return foldEnd(s, text) })
}
