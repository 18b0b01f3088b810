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
	addressHosts      = listOf("addressHosts")      // hosts with a credential in the path
	addressParameters = listOf("addressParameters") // parameters of addresses that mean much else elsewhere
	addressWords      = listOf("addressWords")      // before a part of a path that is a credential
	answers           = listOf("answers")           // begin a command line that prints a secret alone
	argumentWords     = listOf("argumentWords")     // between a command's name and the list of its arguments
	asWords           = listOf("asWords")           // between a value and what it is
	askers            = listOf("askers")            // the same, if the line names a secret
	bitNumbers        = listOf("bitNumbers")        // numbers in names of programs
	certainRules      = listOf("certainRules")      // find what only a secret can be in the place of
	commandWords      = listOf("commandWords")      // before a name and a value that a blank parts
	conversions       = listOf("conversions")       // make a value of a text, and change nothing of it
	copulas           = listOf("copulas")           // verbs before a value
	fieldSchemes      = listOf("fieldSchemes")      // schemes of authorization with fields, of which one is the secret
	fieldWords        = listOf("fieldWords")        // of what a text is typed into
	getters           = listOf("getters")           // begin the names of functions that a name is given to, not a value
	harmlessEnds      = listOf("harmlessEnds")      // end names that speak of a secret but do not hold one
	hexWords          = listOf("hexWords")          // beside a hexadecimal number that is no checksum
	idWords           = listOf("idWords")           // before random characters that are no key
	knownBefore       = listOf("knownBefore")       // before a telling word, without a sign between
	loginWords        = listOf("loginWords")        // before a user and a password
	lookers           = listOf("lookers")           // commands that print what they find, or say nothing about a secret
	mnemonicHints     = listOf("mnemonicHints")     // before the words of a wallet
	otherKeys         = listOf("otherKeys")         // before the word key in names that are not keys
	otherTokens       = listOf("otherTokens")       // before the word token where it is the place in a list, or a request's number
	pairNames         = listOf("pairNames")         // members that hold a name
	pairValues        = listOf("pairValues")        // members that hold a value
	passwordEnds      = listOf("passwordEnds")      // telling words that end a name
	passwordKeys      = listOf("passwordKeys")      // before the word key where it is a password
	passwordNames     = listOf("passwordNames")     // names of passwords that end in key
	plainSchemes      = listOf("plainSchemes")      // schemes of authorization with the secret alone behind them
	printers          = listOf("printers")          // of command lines that print a secret alone
	readers           = listOf("readers")           // commands, or parts of them, that read a secret from their input
	sentenceWords     = listOf("sentenceWords")     // no words of a wallet
	settingFlags      = listOf("settingFlags")      // before a setting on a command line
	settingWords      = listOf("settingWords")      // names that a blank parts from their value
	shellWords        = listOf("shellWords")        // commands that often follow another one in its line
	technical         = listOf("technical")         // parts of words with numbers that no person chooses
	tokenEnds         = listOf("tokenEnds")         // as passwordEnds
	typing            = listOf("typing")            // methods that enter a text into a field, or set it
	verbs             = listOf("verbs")             // telling words that mean much else in a sentence

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

// listOf reads the lists when one is asked for: most starts of the program ask for none.
func listOf(name string) func() []string {
	return sync.OnceValue(func() []string { return wordsOf(name) })
}

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
