package redact

import (
	"math"
	"strings"
)

// contextRules are the secrets that only what stands before them gives away.
func contextRules() []*rule {
	return []*rule{
		{name: "url-password", probes: []string{"://"}, pattern: `://[^\s/?#:@"'<>\\]{0,100}:([^\s/@"'<>\\` + "`" + `]{3,})@`, lead: 4, ok: urlPassword},
		{name: "auth-header", probes: []string{"(?i)auth"}, pattern: `(?i:authorization)` + quote + `[ \t]*[:=,][ \t]*` + quote + `(?i:bearer|basic|token|digest|apikey|bot)[ \t]+([A-Za-z0-9._~+/=-]{8,})`, lead: 15, ok: notPlaceholder},
		{name: "bearer-token", probes: []string{"(?i)bear"}, pattern: `(?i:bearer)[ \t]+([A-Za-z0-9._~+/=-]{16,})`, left: true, lead: 7, ok: bearer},
		{name: "curl-password", probes: []string{"curl"}, pattern: `curl[\s\\][^|;&]{0,160}?(?:-u|--user)[ \t=]*["']?(?:[^\s:\\]{0,80}:["']?([^\s'"\\]{4,})|([^\s:'"\\]{10,100}):)`, left: true, lead: 5, ok: curlUser},
		{name: "header-secret", probes: []string{"-H", "--he"}, pattern: `(?:-H|--header)[ \t=]*\\*["'](?i:[A-Za-z0-9_-]{0,40}(?:key|token|auth|secret|cookie|session)[A-Za-z0-9_-]{0,40}):[ \t]*([^\s"'\\]{8,})`, lead: 4, ok: notPlaceholder},
		{name: "assigned-secret", probes: []string{
			"(?i)pass", "(?i)pwd", "(?i)secr", "(?i)toke", "(?i)api[_-]", "(?i)apik", "(?i)acce", "(?i)priv", "(?i)acco",
			"(?i)encr", "(?i)sign", "(?i)agen", "(?i)auth", "(?i)cred",
		}, pattern: assignment, lead: 4, ok: assigned},
	}
}

// quote is a quotation mark, or none, escaped any number of times.
const quote = "(?:\\\\*[\"'`]){0,3}"

// assignment is a telling name, a sign of assignment and a value, as JSON, env
// files, shell, YAML, command lines and program text write them.
const assignment = `(?i:password|passwd|passphrase|passwort|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|` +
	`encryption[_-]?key|signing[_-]?key|agent[_-]?key|auth[_-]?key|credentials?)` +
	`[A-Za-z0-9_-]{0,32}` + quote + `\]?` +
	`(?:,?(?:\s|\\+n)*\\*["']?value\\*["']?|:?[ \t]*(?:string|String|str))?(?:[ \t]*(?:[:?.+]{0,3}=>?|:|,|\|\||\?\?)[ \t]*|[ \t]+|(?:>|\\+u003[eE])(?:\s|\\+[nrt])*)` +
	`(?:[rbuf]?(?:\\*["'` + "`" + `]){1,3}([^"'` + "`" + `\\\s]{6,})|([A-Za-z0-9_+/=.~!@#$%^&*?:-]{6,}))`

// urlPassword leaves the passwords of examples alone. In a beginning the value
// may be a port instead, which has five digits at most.
func urlPassword(m match) bool {
	v := m.value()
	if m.head && strings.Trim(v, "0123456789") == "" && len(v) <= 5 {
		return false
	}
	return notPlaceholder(m)
}

// curlUser takes a user's name for a secret where no password follows: so keys
// are given that need none.
func curlUser(m match) bool {
	if !m.head && m.hi < len(m.text) && m.text[m.hi] == ':' && !hasDigit(m.value()) {
		return false
	}
	return notPlaceholder(m)
}

func notPlaceholder(m match) bool { return !placeholder(m.value()) }

// bearer tells tokens from prose about bearers.
func bearer(m match) bool {
	v := m.value()
	if m.head {
		return !placeholder(v) && !words(v)
	}
	return hasDigit(v) && !placeholder(v)
}

// assigned decides whether a value beside a telling name is a secret. It has
// to tell password = "x7Kq..." from password = getPassword(), and max_tokens:
// 4096 from a token.
func assigned(m match) bool {
	v := m.value()
	before := m.text[m.at:m.lo]
	name := before[:len(before)-len(strings.TrimLeft(before, nameBytes))]
	sign := before[len(name):]
	quoted := strings.IndexByte("\"'`", sign[len(sign)-1]) >= 0
	nameQuoted := strings.IndexByte("\"'`\\", sign[0]) >= 0
	if quoted {
		sign = strings.TrimRight(strings.TrimRight(sign, "\"'`\\"), "rbuf")
	}
	sign = strings.Trim(sign, "\"'`\\] \t\r\n")
	spaced := sign == ""
	element := sign != "" && (sign[0] == '>' || strings.HasPrefix(sign, "u003"))

	switch {
	case spaced && (!isFlag(m.text, m.at) || v[0] == '-'):
		return false
	case sign == "," && !(quoted && nameQuoted):
		// Arguments and lists are everywhere: this is a call with a name and a value.
		return false
	case element && strings.HasSuffix(name, "-"):
		return false // an arrow of C or PHP
	}
	if placeholder(v) || harmlessName(name) || looksLikeCode(v, quoted) {
		return false
	}
	full := nameStart(m.text, m.at) + name
	env := strings.TrimRight(before, "'\"") == name+"=" && strings.ToUpper(full) == full && strings.ContainsAny(full, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if m.head {
		// What is there of the value may not look random yet. Words are spared
		// in prose ("unexpected token: identifier") and in program text.
		return quoted || env || spaced || strings.HasSuffix(before, "=") || !words(v)
	}
	if !quoted && !element && m.hi < len(m.text) && strings.IndexByte("([{<", m.text[m.hi]) >= 0 {
		return false
	}
	if quoted && strings.ContainsAny(v, "();{") && m.hi < len(m.text) && strings.IndexByte(" \t\r\n", m.text[m.hi]) >= 0 {
		return false // What was taken for the opening quote closes a text.
	}
	v = strings.TrimRight(v, ".,;:")
	letters, digits, symbols := count(v)
	pass := len(name) > 0 && name[0]|0x20 == 'p'
	switch {
	case sign == "," && !random(v) && digitRuns(v) < 2:
		return false
	case digits == 0 && symbols == 0:
		return upperLower(v) && (len(v) >= 20 && entropy(v) >= 3.9 && !words(v) || len(v) >= 16 && random(v))
	case letters == 0:
		return pass && len(v) >= 8 && (env || quoted)
	case digits == 0:
		return (env || quoted) && pass && len(v) >= 8 && entropy(v) >= 2.8 && strings.ContainsAny(v, "!@#$%^&*?~")
	case upperLower(v) && random(v):
		return true
	case symbols == 0 && digits > 0 && len(v) >= 20 && !upperLower(v) && entropy(v) >= 3.3:
		return true
	case env || spaced:
		return len(v) >= 8 && entropy(v) >= 2.5
	case quoted:
		return len(v) >= 8 && entropy(v) >= 2.8 && (pass || symbols > 0 || digitRuns(v) > 1)
	default:
		return len(v) >= 12 && entropy(v) >= 3.0 && (digitRuns(v) > 2 || symbols > 0 && digits >= 2 && !identifier(v))
	}
}

const nameBytes = alphanumeric + "_-"

// digitRuns counts the stretches of digits; names in programs have one or two.
func digitRuns(v string) int {
	n := 0
	for i := range len(v) {
		if '0' <= v[i] && v[i] <= '9' && (i == 0 || v[i-1] < '0' || v[i-1] > '9') {
			n++
		}
	}
	return n
}

// words tells names such as lru_cache and DHPrivateKey, whole or cut, from
// random letters: their parts are longer.
func words(v string) bool {
	v = strings.TrimRight(v, ".,;:…")
	parts, letters := 0, 0
	for i := range len(v) {
		c := v[i]
		isUpper := 'A' <= c && c <= 'Z'
		switch {
		case '0' <= c && c <= '9':
			return false
		case isUpper && i > 0 && 'A' <= v[i-1] && v[i-1] <= 'Z':
		case isUpper || i == 0 || !isWord(v[i-1]) || v[i-1] == '_':
			parts++
		}
		letters++
	}
	return letters >= 3*parts
}

func identifier(v string) bool {
	for i := range len(v) {
		if !isWord(v[i]) {
			return false
		}
	}
	return true
}

// isFlag tells whether the name at i is part of a command line flag.
func isFlag(s string, i int) bool {
	start := i - len(nameStart(s, i))
	return strings.HasPrefix(s[start:], "--") && (start == 0 || !isWord(s[start-1]))
}

// nameStart is what stands before i of the name that i lies in.
func nameStart(s string, i int) string {
	j := i
	for j > 0 && i-j < 64 && (isWord(s[j-1]) || s[j-1] == '-') {
		j--
	}
	return s[j:i]
}

// harmlessName tells names that speak about a secret but do not hold one.
func harmlessName(name string) bool {
	low := strings.ToLower(strings.TrimRight(name, "_-"))
	for _, end := range []string{
		"path", "file", "dir", "url", "uri", "name", "type", "types", "count", "ttl", "expiry", "expires", "expiration", "length", "len", "size",
		"limit", "max", "min", "usage", "format", "policy", "version", "prefix", "suffix", "header", "field", "arn", "hash", "env", "ref", "store",
		"kind", "pos", "position", "index", "class", "label", "hint", "mode", "endpoint", "location", "tokens", "uuid", "source", "provider", "manager", "service",
	} {
		if strings.HasSuffix(low, end) {
			return true
		}
	}
	return false
}

// placeholder tells values that stand for a secret.
func placeholder(v string) bool {
	low := strings.ToLower(strings.Trim(v, ".,;:"))
	switch low {
	case "password", "passwd", "pass", "pwd", "secret", "token", "hunter2", "changeme", "change-me", "change_me", "apikey", "api_key", "api-key", "null", "undefined", "true", "false", "string", "required", "optional":
		return true
	}
	if strings.Trim(low, "x*.-_#") == "" {
		return true
	}
	for _, part := range []string{"${", "$(", "{{", "%s", "%v", "%q", "%d", "<", "&lt;", "your-", "your_", "yourapi", "example", "placeholder", "redacted", "xxxx", "****", "....", "process.env", "os.environ", "getenv", "secrets."} {
		if strings.Contains(low, part) && !(strings.IndexByte("%x*.", part[0]) >= 0 && random(v)) {
			return true
		}
	}
	return len(v) > 1 && v[0] == '$' && strings.Trim(v[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// looksLikeCode tells paths, addresses and, without quotes, expressions.
func looksLikeCode(v string, quoted bool) bool {
	if strings.HasPrefix(v, "/") && !strings.ContainsAny(v, "+=") || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "~/") || strings.Contains(v, "://") {
		return true
	}
	if quoted {
		return false
	}
	if strings.Contains(v, "::") || strings.HasPrefix(v, "=") && !random(v) || strings.HasPrefix(v, ":") || strings.HasPrefix(v, "&") || strings.HasPrefix(v, "*") {
		return true
	}
	// a.b.c is a selector unless a part of it looks random. Dots at the end are
	// those of a sentence or of a cut.
	v = strings.TrimRight(v, ".,;:")
	if strings.Contains(v, ".") {
		chain := strings.Contains(strings.TrimRight(v, "="), "=") // a.b = c.d = e
		for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == '.' || r == '=' }) {
			if len(part) >= 8 && (digitRuns(part) > 2 || random(part) || !chain && random(v)) {
				return false
			}
		}
		return strings.Trim(v, alphanumeric+"_.,;=") == ""
	}
	return false
}

func count(v string) (letters, digits, symbols int) {
	for _, c := range []byte(v) {
		switch {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			letters++
		default:
			symbols++
		}
	}
	return letters, digits, symbols
}

func hasDigit(v string) bool { return strings.ContainsAny(v, "0123456789") }

func upperLower(v string) bool { return strings.ToLower(v) != v && strings.ToUpper(v) != v }

// entropy is Shannon's, in bits for each byte.
func entropy(v string) float64 {
	var n [256]int
	for _, c := range []byte(v) {
		n[c]++
	}
	var sum float64
	for _, k := range n {
		if k > 0 {
			p := float64(k) / float64(len(v))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
