package redact

import (
	"slices"
	"strings"
)

// isSecret decides whether a value beside a telling name is a secret. It has
// to distinguish password = "x7Kq..." from password = getPassword(), and max_tokens:
// 4096 from a token.
func (t *text) isSecret(a *assignment) bool {
	s := t.s
	v := s[a.from:a.to]
	least := 6
	if a.kind == passwordKind {
		least = 4
	}
	if len(v) < least && !(a.head && len(v) >= headMin) {
		return false
	}
	flag := isFlag(s, a.lo)
	element := a.sign == ">" || strings.HasPrefix(a.sign, `\`)
	cell := a.sign == "|" || a.sign == "│"
	switch {
	case a.sign == " " && !t.blankMeansValue(a, flag):
		return false
	case a.sign == " " && v[0] == '-', a.name == "PASS" && a.sign == ":": // A flag; a test's result.
		return false
	case a.sign == "," && !(a.quoted && a.quotedName):
		return false // Arguments and lists are everywhere: this is a call with a name and a value.
	case element && (strings.HasSuffix(a.name, "-") || strings.HasSuffix(a.name, "=")):
		return false // an arrow of C or PHP
	case placeholder(v) || looksLikeCode(v, a.quoted):
		return false
	case a.quoted && a.near && !a.quotedName && a.lo > 0 && s[a.lo-1] == s[a.from-1] && v[0] == '+':
		return false // "PWD="+dir: the quote closes a text.
	}
	env := a.sign == "=" && a.near && strings.ToUpper(a.name) == a.name && !only(a.name, "-_0123456789")
	if a.head && t.isBeginning(a, v, env, flag) {
		return true
	}
	if !a.quoted && !element && byteIn(s, a.to, "([{<") {
		return false
	}
	if a.quoted && strings.ContainsAny(v, "();{") && byteIn(s, a.to, " \t\r\n") {
		return false // What was taken for the opening quote closes a text.
	}
	if v = strings.TrimRight(v, ".,;:"); v == "" {
		return false
	}
	// Data says more than program text: a member of JSON, an element, a cell, a
	// flag, a variable of the environment.
	data := env || flag || element || cell || a.sign == " " || a.quotedName && a.quoted && (a.sign == ":" || a.sign == "=>")
	switch {
	case a.kind == keyKind:
		return t.isKey(a, v, env, data)
	case a.kind == passwordKind && t.isPassword(a, v, env, data):
		return true
	}
	return isToken(a, v, env, flag, data)
}

// isBeginning judges the beginning of a value that was cut, which may not look
// random yet. Words are left alone ("unexpected token: identifier").
func (t *text) isBeginning(a *assignment, v string, env, flag bool) bool {
	if a.kind == keyKind {
		return (env || a.quoted) && len(v) >= 8 && !plain(v)
	}
	letters, _, _ := count(v)
	if len(v) < headMin || fewLower(v) && !env || letters == 0 && !(a.kind == passwordKind && (env || a.quoted)) && !(env && len(v) >= 8) || plain(v) && !(env && a.kind == passwordKind) {
		return false
	}
	return a.quoted || env || flag && a.sign == " " || a.sign == "=" && a.near || !words(v)
}

// isPassword judges what may be a person's choice: a word with digits and signs.
func (t *text) isPassword(a *assignment, v string, env, data bool) bool {
	letters, digits, symbols := count(v)
	strong := strings.ContainsAny(v, "!@#$%^&*?~+/=")
	switch {
	case a.sign == "is" || a.sign == "was":
		return digits > 0 && letters > 0 && !wordy(v)
	case a.sign == " " && !a.quoted:
		return digits > 0 && letters > 0 && (!wordy(v) || len(v) >= 8)
	case letters == 0:
		return len(v) >= 8 && (env || a.quoted)
	case digits == 0:
		return (env || a.quoted) && len(v) >= 8 && entropy(v) >= 2.8 && strong
	case !data && namesPassword(v):
		return false
	case data || a.quoted && a.sign != ",":
		return len(v) >= 6 && (symbols > 0 || digits > 1 || !wordy(v) || env || a.quotedName)
	case a.quoted:
		return len(v) >= 8 && (!wordy(v) || strong || strings.ToUpper(a.name) == a.name || digits > 1 && byteIn(t.s, closingQuotes(t.s, a.to), ")") && !namesPassword(v))
	case !a.ends && !strings.Contains(v, "!") && a.sign == ":":
		return !wordy(v) && len(v) >= 8
	}
	// Bare: a setting's value, or the name of a variable.
	snake := snakeCase(v)
	if a.ends && (a.sign == ":" && !a.near || a.sign == "=" && a.near) && len(v) >= 6 && digits > 1 && !snake {
		return true
	}
	if digits > 1 && !strings.HasPrefix(v, "0x") && !snake && (a.sign == "=" && a.ends && !namesPassword(v) || a.sign == "=" && a.near && t.besideSettings(a)) {
		return true
	}
	if only(v, alphanumeric+"_-.") {
		trailing := len(v) - len(strings.TrimRight(v, "0123456789"))
		return len(v) >= 6 && !(trailing == digits && digits <= 3) && !strings.Contains(v, "_v") || random(v)
	}
	return len(v) >= 6 && (strong || !wordy(v)) && !strings.ContainsAny(v, "*/=&") || !wordy(v) && len(v) >= 8
}

// besideSettings reports whether a name is one of many in a list of settings, as of a
// connection or a form: user=x,password=y, or follows a flag that gives one.
func (t *text) besideSettings(a *assignment) bool {
	s := t.s
	if a.lo < 2 {
		return false
	}
	word := s[startOf(s, a.lo-1, 60, wordBytes+"=./:-@%") : a.lo-1]
	switch s[a.lo-1] {
	case ',', ';', '&':
		return strings.Contains(word, "=")
	case ' ':
		at := strings.IndexByte(word, '=')
		return at > 0 && at+1 < len(word) || slices.Contains(settingFlags, word)
	}
	return false
}

// settingFlags come before a setting on a command line.
var settingFlags = []string{"-F", "-d", "-e", "-D", "--data", "--form", "--env", "--set", "POST", "PUT"}

// isKey judges the value of a name that means much else, too.
func (t *text) isKey(a *assignment, v string, env, data bool) bool {
	if at := strings.IndexByte(v, '/'); at >= 3 && words(v[:at]) && !strings.ContainsAny(v, "+=") {
		return false // a path
	}
	body := strings.TrimPrefix(strings.TrimPrefix(v, "base64:"), "0x")
	switch {
	case strings.EqualFold(a.telling, "auth") && a.sign != ",":
		return len(v) >= 12 && !wordy(v) && upperLower(v) && (a.quoted || a.ends || a.sign == "=")
	case a.sign == "is" || a.sign == "was" || a.sign == "," && len(v) < 32 || a.sign == " " && !isFlag(t.s, a.lo):
		return false
	case len(body) < 16 || wordy(v) || strings.Count(v, "-") > 3 || strings.Contains(v, "-") && isHexText(v[strings.LastIndexByte(v, '-')+1:]):
		return false
	case env || a.lo > 0 && (t.s[a.lo-1] == '?' || t.s[a.lo-1] == '&'):
		return random(v) || digitRuns(v) > 2
	}
	if strings.HasPrefix(strings.ToLower(a.telling), "signature") {
		return len(v) >= 27
	}
	return len(v) >= 20 && (random(v) || digitRuns(v) > 3) && (data || a.quoted || a.ends || a.sign == "=" && a.near) &&
		!(isHexText(v) && !a.quoted && !strings.ContainsAny(a.name, "_-") && !a.near)
}

// isToken judges what a machine made.
func isToken(a *assignment, v string, env, flag, data bool) bool {
	letters, digits, symbols := count(v)
	pass := a.kind == passwordKind
	spaced := a.sign == " "
	switch {
	case !a.quoted && !a.near && strings.HasPrefix(strings.TrimPrefix(v, "-"), "0x") && len(v) < 40:
		return false // a number in program text
	case wordy(v) && digits > 0 && !(upperLower(v) && random(v)) && !(env && symbols > 0 && strings.ContainsAny(v, "!@#%^&*?~+")):
		return false
	case a.sign == "," && !random(v) && digitRuns(v) < 2:
		return false
	case a.sign == "is" || a.sign == "was":
		return len(v) >= 12 && digitRuns(v) > 1
	case digits == 0 && symbols == 0:
		return upperLower(v) && (len(v) >= 20 && entropy(v) >= 3.9 && !words(v) || len(v) >= 16 && random(v))
	case letters == 0:
		return pass && len(v) >= 8 && (env || a.quoted)
	case digits == 0:
		return (env || a.quoted) && pass && len(v) >= 8 && entropy(v) >= 2.8 && strings.ContainsAny(v, "!@#$%^&*?~")
	case upperLower(v) && random(v):
		return true
	case symbols == 0 && len(v) >= 20 && !upperLower(v) && entropy(v) >= 3.3:
		return true
	case env || spaced || flag:
		return len(v) >= 8 && entropy(v) >= 2.5
	case a.quoted || data:
		return len(v) >= 8 && entropy(v) >= 2.8 && (pass || symbols > 0 || digitRuns(v) > 1)
	case a.ends:
		return len(v) >= 10 && digitRuns(v) > 1
	default:
		return len(v) >= 12 && entropy(v) >= 3.0 && (digitRuns(v) > 2 || symbols > 0 && digits >= 2 && !identifier(v))
	}
}

// namesPassword reports the names of variables, labels and functions for passwords.
func namesPassword(v string) bool {
	return containsOne(strings.ToLower(v), "password", "passwd", "passwort", "secret", "token", "input", "field", "user") && wordy(v)
}

// settingWords are names that a blank parts from their value.
var settingWords = []string{"requirepass", "masterauth", "bindpw", "bind_pw"}

// blankMeansValue reports whether only blanks between a name and a value make
// an assignment: of a flag, in a setting, in a column of names, in SQL.
func (t *text) blankMeansValue(a *assignment, flag bool) bool {
	s := t.s
	if flag {
		return true
	}
	start := lineStart(s, a.lo, 160)
	before := s[start:a.lo]
	head := strings.TrimRight(before, " \t")
	name := strings.TrimLeft(a.name, "-+")
	gap := a.from - (a.lo + len(a.name))
	last := strings.TrimLeft(nameStart(s, start+len(head)), "-+")
	v := s[a.from:a.to]
	switch {
	case slices.Contains(settingWords, strings.ToLower(name)), strings.HasSuffix(before, "/:"):
		return true
	case a.kind == tokenKind && len(v) >= 24 && random(v) && digitRuns(v) > 2 && upperLower(v):
		return true
	case strings.Contains(head, "put ") && strings.HasSuffix(before, "/"):
		return literalValue(v)
	case a.quoted:
		// WITH PASSWORD 'x', #define WIFI_PASSWORD "x".
		return s[a.from-1] != '`' && (name == "PASSWORD" || strings.EqualFold(last, "with") || last == "define" || a.closed && a.kind.likely(v) && endsStatement(s, closingQuotes(s, a.to)))
	case strings.HasSuffix(before, " ") && slices.Contains(commandWords, last):
		return true
	case strings.Contains(head, "machine ") || strings.HasSuffix(head, "-x"), containsOne(head, "config ", "user ", "username ", "login ", "modify ", "write ", "put ") && a.kind.likely(v) && !strings.Contains(v, "="):
		return true
	case a.ends && gap == 1 && (columnsBefore(before) || a.kind == passwordKind) && a.kind.likely(v) && (name != "PASS" || !wordy(v)) && !strings.Contains(v, "=") && !strings.HasSuffix(before, "/"):
		return true
	}
	// Two blanks or a tab part columns.
	return a.ends && gap >= 2 &&
		(!strings.HasSuffix(head, ",") && (gap >= 3 || strings.Contains(s[a.lo+len(a.name):a.from], "\t")) && !wordy(v) ||
			a.kind == passwordKind && literalValue(v) && columnsBefore(before))
}

// endsStatement reports whether nothing but a sign that ends a statement, a list or a
// sentence is at i.
func endsStatement(s string, i int) bool {
	i = endOf(s, blanks(s, i), 3, ";,)}].")
	return i == len(s) || lineBreak(s, i) > 0 || s[i] == ' ' || s[i] == '"'
}

// columnsBefore reports whether a name is the first word of its line.
func columnsBefore(before string) bool {
	return strings.Trim(before, " \t-+#*/>;:|│\"'0123456789") == "" || endsInOne(before, "| ", "] ", "Z ", ") ")
}

// commandWords are before a name and a value that a blank parts.
var commandWords = []string{"ENV", "setenv", "setx", "-x", "set", "login", "home", "connect", "enable"}
