package redact

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// kind is the kind of secret that a name announces.
type kind int

const (
	passwordKind kind = iota + 1 // what a person may have chosen
	tokenKind                    // what a machine made
	keyKind                      // a word that means much else, too
	pairKind                     // a word that means much else, but as a member's value
)

// tellingWords are tried in this order; a blank means one of "_- " or nothing. Of
// words that are not ASCII a stem is enough, without a first letter that has two cases.
var tellingWords = []struct {
	kind kind
	list string
}{
	{passwordKind, "passwordWords"},
	{tokenKind, "tokenWords"},
	{passwordKind, "passwordEnds"},
	{tokenKind, "tokenEnds"},
	{keyKind, "keyEnds"},
	{pairKind, "pairEnds"},
}

// tellingWordsAt has the words of tellingWords, cut at their blanks, under their first byte.
var tellingWordsAt = sync.OnceValue(func() *[256][]namedWord {
	var at [256][]namedWord
	for _, of := range tellingWords {
		for _, word := range wordsOf(of.list) {
			at[word[0]] = append(at[word[0]], namedWord{of.kind, strings.Split(word, " ")})
		}
	}
	return &at
})

type namedWord struct {
	kind  kind
	parts []string
}

// tellingWord is the length and the kind of the word at i, or 0.
func tellingWord(s string, i int) (int, kind) {
	if s[i] == '_' || s[i] == '-' {
		if fold(s[i+1:], "pw") {
			return 3, passwordKind
		}
		return 0, 0
	}
	first, second := lowerByte(s[i]), lowerByte(s[i+1])
words:
	for _, word := range tellingWordsAt()[first] {
		if word.parts[0][1] != second {
			continue
		}
		end := i
		for n, part := range word.parts {
			if n > 0 && byteIn(s, end, "_- ") {
				end++
			}
			if !fold(s[end:], part) {
				continue words
			}
			end += len(part)
		}
		return end - i, word.kind
	}
	return 0, 0
}

// namesSecret reports whether the name, whose telling part begins with a word of that
// length, may name a secret.
func (a *assignment) namesSecret(word int) bool {
	rest := a.telling[word:]
	weak := a.kind == keyKind || oneFold(a.telling[:word], passwordEnds()) || oneFold(a.telling[:word], tokenEnds()) || a.telling[0] == '_' || a.telling[0] == '-'
	if weak && !only(rest, digitBytes.or("_-")) && !strings.EqualFold(a.telling, "key-data") || rest != "" && harmlessName(a.telling) {
		return false
	}
	if !weak && !strings.EqualFold(a.telling[:word], "token") {
		return true
	}
	low := strings.ToLower(a.telling[:word])
	before := strings.TrimLeft(strings.ToLower(a.name[:len(a.name)-len(a.telling)]), "-")
	if weak && !a.beginsWord(before, low) {
		return false
	}
	before = strings.TrimRight(before, "_-")
	return !(low == "token" && endsInOne(before, otherTokens()...)) && !(a.kind == keyKind && endsInOne(before, otherKeys()...))
}

// beginsWord reports whether the telling word begins one behind what is before it in the name: keypass,
// mysqlPassword, but not compass and monkey.
func (a *assignment) beginsWord(before, low string) bool {
	if before == "" || !isAlnum(before[len(before)-1]) || low == "_pw" || low == "-pw" {
		return true
	}
	upperWord := upperBytes.has(a.telling[0]) && a.telling[:2] != strings.ToUpper(a.telling[:2])
	return upperWord || slices.Contains(knownBefore(), before) || low == "key" && strings.HasSuffix(before, "master")
}

func harmlessName(name string) bool {
	return harmless().end(name[:startOf(name, len(name), len(name), oneOf("_-"))])
}

// placeholderParts mark a placeholder wherever they are in a value. Those that
// random values may hold by chance count in others only.
var placeholderParts = []string{
	"${", "$(", "{{", "%s", "%v", "%q", "%d", "<", "&lt;", "u003cyour", "your-", "your_", "yourapi", "example", "placeholder", "redacted", "xxxx", "****", "....", "process.env", "os.environ", "getenv", "secrets.",
	"qwxhzgrpbj", "changeme", "replace_me", "replace-me", "insert-your", "#{", "env[", "resolve:", "arn:aws",
}

var placeholderPartsAt, answersAt, askersAt = byFirst(func() []string { return placeholderParts }), byFirst(answers), byFirst(askers)

// byFirst has texts under their first byte.
func byFirst(texts func() []string) func() *[256][]string {
	return sync.OnceValue(func() *[256][]string {
		var at [256][]string
		for _, text := range texts() {
			at[text[0]] = append(at[text[0]], text)
		}
		return &at
	})
}

// placeholder reports whether a value only replaces a secret, or translates a word.
func placeholder(v string) bool {
	if translation(v) {
		return true
	}
	low := strings.ToLower(strings.Trim(v, ".,;:"))
	// A name between < and >, and &&, as JSON escapes them.
	if sign := strings.TrimLeft(low, `\`); sign != low {
		name, opened := strings.CutPrefix(sign, "u003c")
		name, closed := strings.CutSuffix(name, "u003e")
		if opened && closed && !strings.Contains(name, "u003") || strings.HasPrefix(sign, "u00") && only(low, oneOf(`\u00263e`)) {
			return true
		}
	}
	if text, _, _ := strings.Cut(low, `\u003c`); strings.Trim(text, `\`) != "" { // behind it is an element's end
		low = strings.TrimRight(text, `\`)
	}
	if placeholders()[low] || strings.HasPrefix(low, "your") || only(low, oneOf("x*.-_#")) {
		return true
	}
	for i := range len(low) {
		for _, part := range placeholderPartsAt()[low[i]] {
			if strings.HasPrefix(low[i:], part) && !(strings.IndexByte("%x*.<", part[0]) >= 0 && random(v)) {
				return true
			}
		}
	}
	for _, head := range [...]string{"op://", "env:", "@env:", "@keychain:", "file:", "vault:", "ref+", "ssm:", "dword:", "$"} {
		if rest, ok := strings.CutPrefix(low, head); ok && (head != "$" || only(v[1:], upperBytes.or("_0123456789"))) && rest != "" {
			return true
		}
	}
	return len(v) > 2 && v[0] == '%' && v[len(v)-1] == '%' && !hasLower(v)
}

// translation reports words that are not written in ASCII, as those of a page are beside
// names such as reset_password. Passwords are written in it, or have digits and signs.
// Chinese, Japanese and Thai have no blanks, so a sentence with numbers is one value.
func translation(v string) bool {
	other, wide := 0, 0
	for _, c := range []byte(v) {
		if c >= utf8.RuneSelf {
			other++
		}
		if c >= 0xE0 { // the first of three bytes
			wide += 3
		}
	}
	return other > 0 && (2*wide > len(v) || !strings.ContainsAny(strings.TrimRight(v, "!?.,:;"), digits+"!#$%&*+/=?@\\^_|~"))
}

// namesNone reports the end of an element, a resource's name, the name of a key of git's, a test's result.
func namesNone(s string, lo, i, end int) bool {
	return strings.HasSuffix(s[:lo], "</") || lo > 0 && s[lo-1] == ':' && strings.Contains(s[max(0, lo-80):lo], "arn:") ||
		strings.HasSuffix(s[:lo], "user.") && fold(s[i:], "signingkey") || s[lo:end] == "PASS" && strings.HasPrefix(s[end:], ":")
}

// keyOf reports whether a key may be a secret one, by what is before its name and behind it, and says of
// which kind.
func (a *assignment) keyOf(s string) bool {
	if a.lo > 0 && s[a.lo-1] == ' ' && strings.EqualFold(a.telling, "key") {
		switch before := strings.ToLower(nameStart(s, a.lo-1)); {
		case keyWords()[before]:
			a.kind, a.promoted = tokenKind, true
		case slices.Contains(otherKeys(), before):
			return false
		case slices.Contains(passwordKeys(), before):
			a.kind = passwordKind
		}
	} else if oneFold(a.name, passwordNames()) || a.lo > 9 && endsInOne(s[:a.lo], "wireless.default.", "wireless.@wifi-iface[0].") {
		a.kind = passwordKind
	}
	return true
}

// isFlag reports whether a name that begins at i is that of a command line flag.
func isFlag(s string, i int) bool { return i < len(s) && s[i] == '-' && (i == 0 || !isWord(s[i-1])) }

// nameStart is the part before i of the name around i.
func nameStart(s string, i int) string {
	j := startOf(s, i, 64, wordBytes.or("-"))
	// The first letter may be that of an escape, or the end of a colour.
	if j > 0 && j < i && s[j-1] == '\\' && strings.IndexByte("nrt", s[j]) >= 0 {
		return s[j+1 : i]
	}
	if j > 0 && s[j-1] == '[' {
		k := endOf(s[:i], j, i, digitBytes)
		if k < i && (s[k] == 'm' || s[k] == 'K') {
			return s[k+1 : i]
		}
	}
	if j > 0 && s[j-1] == ';' {
		if k := j + strings.IndexByte(s[j:i]+"m", 'm'); k < i && only(s[j:k], digitBytes) && k > j {
			return s[k+1 : i]
		}
	}
	return s[j:i]
}
