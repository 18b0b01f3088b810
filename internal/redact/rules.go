package redact

import (
	_ "embed" // rules are lists
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The rules of the lists; of two that fit at one place the first wins.
var (
	//go:embed tokens.txt
	tokenList string
	//go:embed services.txt
	serviceList string
	//go:embed context.txt
	contextList string
	//go:embed words.txt
	wordList string
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

// tokenRules are the secrets that are known by their own form.
func tokenRules() []*rule { return listed(tokenList) }

// serviceRules are further ones.
func serviceRules() []*rule { return append(mnemonicRules(), listed(serviceList)...) }

// contextRules are the secrets that only their surroundings give away.
func contextRules() []*rule {
	rules := listed(contextList)
	last := slices.IndexFunc(rules, func(r *rule) bool { return r.name == "login-pair" })
	return slices.Concat(rules[:last], commandRules(), rules[last:])
}

// listed returns the rules of a list. Before the first tab of a line are the name and the fields of
// rule, then the expression and the probes, in which \xnn and \n are escapes.
func listed(list string) []*rule {
	var rules []*rule
	for f := range columns(list) {
		r := &rule{pattern: strings.ReplaceAll(f[1], "<next-line>", nextLineOf), probes: f[2:]}
		for n, probe := range r.probes {
			r.probes[n] = escapes.ReplaceAllStringFunc(probe, func(s string) string {
				c, _, _, _ := strconv.UnquoteChar(s, 0)
				return string([]byte{byte(c)}) //nolint:gosec // It is a byte.
			})
		}
		fields := strings.Fields(f[0])
		r.name = fields[0]
		for _, field := range fields[1:] {
			r.set(strings.Cut(field, "="))
		}
		rules = append(rules, r)
	}
	return rules
}

var escapes = regexp.MustCompile(`\\x[0-9a-f]{2}|\\n`)

// columns yields what tabs part in the lines of a list.
func columns(list string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(list) {
			if line[0] != '#' && !yield(strings.Split(strings.TrimRight(line, "\r\n"), "\t")) {
				return
			}
		}
	}
}

// set sets a field that a list names.
func (r *rule) set(field, value string, _ bool) {
	n, _ := strconv.Atoi(value)
	switch field {
	case "left":
		r.left = true
	case "loose":
		r.loose = true
	case "right":
		r.right = true
	case "lead":
		r.lead = n
	case "reach":
		r.reach = n
	case "back":
		r.back = n
	case "needs":
		r.needs = value
	case "plausible":
		r.plausible = plausibles[value]
	case "ok":
		r.ok = decisions[value]
	case "read":
		r.read = reads[value]
	}
}

// decisions, plausibles and reads are what the lists name.
var (
	decisions = map[string]func(match) bool{
		"afterBotID": afterBotID, "afterO": afterO, "afterPassword": afterPassword, "base32Seed": base32Seed, "basicCredentials": basicCredentials, "bearer": bearer, "chosen": chosen, "dense": dense, "facebook": facebook,
		"literal": literal, "maxmind": maxmind, "mixed": mixed, "mixedLetters": mixedLetters, "notPlaceholder": notPlaceholder, "numbered": numbered, "odd": odd, "pgpassword": pgpassword, "secureString": secureString,
		"sessionToken": sessionToken, "sqlPassword": sqlPassword, "unwordy": unwordy, "wholeNumbered": wholeNumbered,
	}
	plausibles = map[string]func(string) bool{
		"authressName": authressName, "azureName": azureName, "imapLogin": imapLogin, "netrcLogin": netrcLogin, "newValue": newValue, "pairBehind": pairBehind, "passLine": passLine, "seedHint": seedHint, "sessionValue": sessionValue,
	}
	reads = map[string]func(*text, int) []span{
		"assignedSecret": assignedSecret, "authHeader": authHeader, "awsNeighbours": awsNeighbours, "cookieHeader": cookieHeader, "credentialCall": credentialCall, "dsn": dsn,
		"herePassword": herePassword, "keyBytes": keyBytes, "kubernetesSecret": kubernetesSecret, "oracle": oracle, "paddedCredentials": paddedCredentials, "pathTokens": pathTokens,
		"pipedPassword": pipedPassword, "printedSecret": printedSecret, "recoveryCodes": recoveryCodes, "typedSecret": typedSecret, "urlUser": urlUser, "userAndPassword": userAndPassword, "userPair": userPair,
	}
)

// mixedLetters is mixed for values that begin with a word.
func mixedLetters(m match) bool { return mixed(m) && !words(m.value()) }

// wholeNumbered distinguishes a key from words with a number.
func wholeNumbered(m match) bool { return !m.head && digitRuns(m.value()) > 1 }

// afterO is literal for what Redis's ACL has behind "on".
func afterO(m match) bool { return m.at > 0 && m.text[m.at-1] == 'o' && literal(m) }

// authressName reports a word with what may be a number behind it.
func authressName(s string) bool {
	i := endOf(s, 0, 9, letterBytes)
	return byteIn(s, i, "_") && (i > 3 || endOf(s, i+1, 5, alnumBytes) == i+6)
}

// azureName reports the name of a key in a connection's settings.
func azureName(s string) bool { return fold(s, "accountkey=") || fold(s, "sharedaccess") }

// seedHint and newValue tell words apart that begin as the ones before a secret do.
func seedHint(s string) bool { return s[0] != 'e' || strings.HasPrefix(s, "ecret key is") }
func newValue(s string) bool { return s[4] == ' ' || s[4] == 'a' }

// mixed distinguishes a random string from words: it holds a digit and a letter in
// one stretch without separators. A beginning may be too short to show it.
func mixed(m match) bool {
	if m.head {
		return true
	}
	letters, digits, longest := false, false, 0
	run := 0
	for _, c := range []byte(m.value()) {
		switch {
		case '0' <= c && c <= '9':
			digits = true
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			letters = true
		default:
			run = -1
		}
		run++
		longest = max(longest, run)
	}
	return letters && digits && longest >= 8
}

// afterBotID reports whether a Telegram bot's number is before the match.
func afterBotID(m match) bool { return m.digitsBefore() >= 6 }

// awsNeighbours reads the secret key and the session token that follow an AWS key's
// name in a table or a list.
func awsNeighbours(t *text, i int) []span {
	s := t.s
	j := endOf(s, i, 21, alnumBytes)
	if j-i != 20 {
		return nil
	}
	var out []span
	for n, end := 0, lineEnd(s, j, 1<<10); n < 6; n++ {
		for j < end && strings.IndexByte(" ,\t|\"^\\:/", s[j]) >= 0 {
			j++
			if j < end && s[j] == 't' && s[j-1] == '\\' || j < end && s[j] == 'I' && s[j-1] == '^' {
				j++
			}
		}
		lo := j
		j = endOf(s[:end], j, end, base64Bytes)
		v := s[lo:j]
		if n > 0 && len(v) >= 100 || len(v) == 40 || t.isCutAt(j) && len(v) >= headMin && len(v) < 40 {
			if (!wordy(v) || len(v) < 40 && hasDigit(v)) && !isHexText(v) {
				out = append(out, span{lo: lo, hi: j})
			}
			continue
		}
		for j < end && strings.IndexByte(" ,\t|\"\\^", s[j]) < 0 {
			j++
		}
	}
	return out
}
