package redact

import (
	_ "embed" // rules are lists
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The rules of the lists; of two that fit at one place the first wins.
var (
	//go:embed tokens.txt
	tokenList string
	//go:embed services.txt
	serviceList string
	//go:embed context.txt
	contextList string
)

// tokenRules are the secrets that are known by their own form.
func tokenRules() []*rule { return listed(tokenList) }

// serviceRules are further ones.
func serviceRules() []*rule { return append(mnemonicRules(), listed(serviceList)...) }

// contextRules are the secrets that only their surroundings give away.
func contextRules() []*rule {
	rules := listed(contextList)
	printed := slices.IndexFunc(rules, func(r *rule) bool { return r.name == "printed-secret" })
	for _, command := range slices.Concat(answers(), askers()) {
		rules[printed].probes = append(rules[printed].probes, command[:min(4, len(command))])
	}
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
		"basicCredentials": basicCredentials, "bearer": bearer, "certain": certain, "chosen": chosen, "literal": literal, "mixed": mixed, "noSourceMap": noSourceMap, "pgpassword": pgpassword, "unwordy": unwordy,
		// a Telegram bot's number is before it, or an app's number
		"afterBotID": func(m match) bool { return m.digitsBefore() >= 6 },
		"facebook":   func(m match) bool { return !m.head && (m.digitsBefore() == 12 || m.digitsBefore() == 13) },
		// what Redis's ACL has behind "on"
		"afterO": func(m match) bool { return m.at > 0 && m.text[m.at-1] == 'o' && literal(m) },
		// the words of a dialogue are before it
		"afterPassword": func(m match) bool {
			return !m.head && literal(m) && containsOne(m.text[max(0, m.at-300):m.at], "expect", "spawn", "assword", "assphrase", "ecret", "oken")
		},
		// the seed of one-time passwords, no words
		"base32Seed": func(m match) bool { return m.head || strings.ContainsAny(m.value(), "234567") },
		// a key whose beginning is a short word, no name that begins so
		"dense": func(m match) bool {
			return mixed(m) && (m.head && hasDigit(m.value()) || random(m.value()) && digitRuns(m.value()) > 1)
		},
		// a licence key, which its end gives away
		"maxmind": func(m match) bool {
			i := m.at - 36
			return !m.head && i >= 0 && m.text[i+6] == '_' && only(m.text[i:i+6]+m.text[i+7:m.at], alnumBytes) && random(m.text[i+7:m.at])
		},
		"mixedLetters":   func(m match) bool { return mixed(m) && !words(m.value()) },
		"notPlaceholder": func(m match) bool { return !placeholder(m.value()) },
		// a key of capitals and digits, no words; of a whole one
		"numbered":      func(m match) bool { return digitRuns(m.value()) > 1 || m.head && hasDigit(m.value()) },
		"wholeNumbered": func(m match) bool { return !m.head && digitRuns(m.value()) > 1 },
		// no word at a cut that begins as a key does
		"odd": func(m match) bool {
			return !m.head || noSourceMap(m) && !words(m.value()[3:]) && (hasDigit(m.value()) || random(m.value()))
		},
		// the old password of a user who gets a new one
		"replaced": func(m match) bool {
			return strings.Contains(m.text[max(0, m.at-160):m.at], "IDENTIFIED ") && !byteIn(m.value(), 0, ":?") && certain(m)
		},
		// a text, in quotes or not, no variable and no word; in SQL of a statement in capitals, which is no prose
		"secureString": func(m match) bool { return inQuotes(m) || literal(m) },
		"sqlPassword": func(m match) bool {
			return !byteIn(m.value(), 0, ":?") && (m.text[m.at:m.at+4] == "TIFI" && inQuotes(m) || literal(m))
		},
		// a random value, no session's number
		"sessionToken": func(m match) bool {
			return !m.head && unwordy(m) || m.head && len(m.value()) >= 8 && upperLower(m.value()) && hasDigit(m.value())
		},
	}
	plausibles = map[string]func(string) bool{
		"netrcLogin": netrcLogin, "pairBehind": pairBehind, "passLine": passLine,
		// a word with what may be a number behind it
		"authressName": func(s string) bool {
			i := endOf(s, 0, 9, letterBytes)
			return byteIn(s, i, "_") && (i > 3 || endOf(s, i+1, 5, alnumBytes) == i+6)
		},
		"azureName": func(s string) bool { return fold(s, "accountkey=") || fold(s, "sharedaccess") },
		// one blank and, behind a word in lower case, an address
		"imapLogin": func(s string) bool {
			return byteIn(s, 5, " ") && (s[0] == 'L' || strings.IndexByte(s[6:min(len(s), 68)], '@') > 0)
		},
		"newValue": func(s string) bool { return s[4] == ' ' || s[4] == 'a' },
		"seedHint": func(s string) bool { return s[0] != 'e' || strings.HasPrefix(s, "ecret key is") },
		// a sign, and a long value behind it or one that a cut may have ended
		"sessionValue": func(s string) bool {
			if len(s) <= 16 {
				return false
			}
			sign := strings.IndexAny(s[7:14], "=:")
			lo := endOf(s, 7+sign+1, len(s), oneOf(" \t\r\n\f\\\"'"))
			hi := endOf(s, lo, len(s), base64Bytes)
			return sign >= 0 && (hi-lo >= 40 || hi-lo >= headMin && (hi == len(s) || s[hi] <= ' ' || markBytes[s[hi]] != ""))
		},
	}
	reads = map[string]func(*text, int) []span{
		"assignedSecret": assignedSecret, "authHeader": authHeader, "awsNeighbours": awsNeighbours, "cookieHeader": cookieHeader, "credentialCall": credentialCall, "dsn": dsn,
		"herePassword": herePassword, "keyBytes": keyBytes, "kubernetesSecret": kubernetesSecret, "oracle": oracle, "paddedCredentials": paddedCredentials, "pathTokens": pathTokens,
		"pipedPassword": pipedPassword, "printedSecret": printedSecret, "recoveryCodes": recoveryCodes, "typedSecret": typedSecret, "urlUser": urlUser, "userAndPassword": userAndPassword, "userPair": userPair,
	}
)

// mixed distinguishes a random string from words: it holds a digit and a letter in
// one stretch without separators. A beginning may be too short to show it.
func mixed(m match) bool {
	v, longest := m.value(), 0
	for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return r >= utf8.RuneSelf || !isAlnum(byte(r)) }) { //nolint:gosec // It is ASCII.
		longest = max(longest, len(part))
	}
	return m.head || longest >= 8 && hasDigit(v) && strings.ContainsAny(v, letters)
}

// inQuotes reports a text in quotes that is no placeholder.
func inQuotes(m match) bool {
	return m.lo > 0 && strings.IndexByte("\"'", m.text[m.lo-1]) >= 0 && !placeholder(m.value())
}

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
