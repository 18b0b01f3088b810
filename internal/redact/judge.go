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
	env := a.sign == "=" && a.near && strings.ToUpper(a.name) == a.name && !only(a.name, digitBytes.or("_-"))
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
	if a.kind == keyKind {
		return t.isKey(a, v, env, data)
	}
	c := candidate{assignment: *a, t: t, v: v, env: env, flag: flag, data: data}
	c.letters, c.digits, c.symbols = count(v)
	return a.kind == passwordKind && c.decide(passwordReasons) || c.decide(tokenReasons)
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

// candidate is a value beside a telling name, with what the reasons ask of it.
type candidate struct {
	assignment
	t                        *text
	v                        string
	letters, digits, symbols int
	// env says that a variable of the environment has the value, flag that a flag of
	// a command line does, data that it is in no program text.
	env, flag, data bool
}

// reason decides on the values that it is for. Of several the first one does.
type reason struct {
	is     string
	when   func(c *candidate) bool
	secret func(c *candidate) bool
}

func never(*candidate) bool  { return false }
func always(*candidate) bool { return true }

// decide asks the reasons, of which the last is for every value.
func (c *candidate) decide(reasons []reason) bool {
	for n := range reasons {
		if reasons[n].when(c) {
			return reasons[n].secret(c)
		}
	}
	return false
}

func (c *candidate) prose() bool  { return c.sign == "is" || c.sign == "was" }
func (c *candidate) strong() bool { return strings.ContainsAny(c.v, "!@#$%^&*?~+/=") }

// passwordReasons judge what may be a person's choice: a word with digits and signs.
var passwordReasons = []reason{
	{"prose: words are more common than passwords", (*candidate).prose, func(c *candidate) bool { return c.digits > 0 && c.letters > 0 && !wordy(c.v) }},
	{"only a blank is between name and value", func(c *candidate) bool { return c.sign == " " && !c.quoted }, func(c *candidate) bool {
		return c.digits > 0 && c.letters > 0 && (!wordy(c.v) || len(c.v) >= 8)
	}},
	{"no letters: a number, unless it is long", func(c *candidate) bool { return c.letters == 0 }, func(c *candidate) bool { return len(c.v) >= 8 && (c.env || c.quoted) }},
	{"no digits: a word, unless it has signs", func(c *candidate) bool { return c.digits == 0 }, func(c *candidate) bool {
		return (c.env || c.quoted) && len(c.v) >= 8 && entropy(c.v) >= 2.8 && c.strong()
	}},
	{"the name of a variable for a password", func(c *candidate) bool { return !c.data && namesPassword(c.v) }, never},
	{"data, or a text that is assigned", func(c *candidate) bool { return c.data || c.quoted && c.sign != "," }, func(c *candidate) bool {
		return len(c.v) >= 6 && (c.symbols > 0 || c.digits > 1 || !wordy(c.v) || c.env || c.quotedName)
	}},
	{"a call's argument behind the name", func(c *candidate) bool { return c.quoted }, func(c *candidate) bool {
		last := c.digits > 1 && byteIn(c.t.s, closingQuotes(c.t.s, c.to), ")") && !namesPassword(c.v)
		return len(c.v) >= 8 && (!wordy(c.v) || c.strong() || strings.ToUpper(c.name) == c.name || last)
	}},
	{"a type or a word of a sentence", func(c *candidate) bool { return !c.ends && !strings.Contains(c.v, "!") && c.sign == ":" }, func(c *candidate) bool { return !wordy(c.v) && len(c.v) >= 8 }},
	{"a setting, alone in its line or in a list of settings", (*candidate).setting, always},
	{"letters and digits, as names of variables have them", func(c *candidate) bool { return only(c.v, wordBytes.or("-.")) }, func(c *candidate) bool {
		trailing := len(c.v) - len(strings.TrimRight(c.v, digits))
		return len(c.v) >= 6 && !(trailing == c.digits && c.digits <= 3) && !strings.Contains(c.v, "_v") || random(c.v)
	}},
	{"signs that no expression has", always, func(c *candidate) bool {
		return len(c.v) >= 6 && (c.strong() || !wordy(c.v)) && !strings.ContainsAny(c.v, "*/=&") || !wordy(c.v) && len(c.v) >= 8
	}},
}

// setting reports a bare value with digits that nothing but its line or its list of
// settings ends.
func (c *candidate) setting() bool {
	if c.digits < 2 || len(c.v) < 6 || snakeCase(c.v) || strings.HasPrefix(c.v, "0x") {
		return false
	}
	return c.ends && (c.sign == ":" && !c.near || c.sign == "=" && (c.near || !namesPassword(c.v))) || c.sign == "=" && c.near && c.t.besideSettings(c.lo)
}

// besideSettings reports whether the name at lo is one of many in a list of settings, as of a
// connection or a form: user=x,password=y, or follows a flag that gives one.
func (t *text) besideSettings(lo int) bool {
	s := t.s
	if lo < 2 {
		return false
	}
	word := s[startOf(s, lo-1, 60, wordBytes.or("=./:-@%")) : lo-1]
	switch s[lo-1] {
	case ',', ';', '&':
		return strings.Contains(word, "=")
	case ':':
		return endsInOne(word, "/p", "/property", "-p", "-property") // MSBuild
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
	case len(v) == 40 && only(v, digitBytes.or("ABCDEF")):
		return false // the fingerprint of an OpenPGP key
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

// tokenReasons judge what a machine made.
var tokenReasons = []reason{
	{"a number in program text", func(c *candidate) bool {
		return !c.quoted && !c.near && strings.HasPrefix(strings.TrimPrefix(c.v, "-"), "0x") && len(c.v) < 40
	}, never},
	{"words and numbers", func(c *candidate) bool {
		return wordy(c.v) && c.digits > 0 && !(upperLower(c.v) && random(c.v)) && !(c.env && strings.ContainsAny(c.v, "!@#%^&*?~+"))
	}, never},
	{"an argument that could be a name", func(c *candidate) bool { return c.sign == "," && !random(c.v) && digitRuns(c.v) < 2 }, never},
	{"prose", (*candidate).prose, func(c *candidate) bool { return len(c.v) >= 12 && digitRuns(c.v) > 1 }},
	{"letters alone", func(c *candidate) bool { return c.digits == 0 && c.symbols == 0 }, func(c *candidate) bool {
		return upperLower(c.v) && (len(c.v) >= 20 && entropy(c.v) >= 3.9 && !words(c.v) || len(c.v) >= 16 && random(c.v))
	}},
	{"no letters", func(c *candidate) bool { return c.letters == 0 }, func(c *candidate) bool {
		return c.kind == passwordKind && len(c.v) >= 8 && (c.env || c.quoted)
	}},
	{"no digits", func(c *candidate) bool { return c.digits == 0 }, func(c *candidate) bool {
		return (c.env || c.quoted) && c.kind == passwordKind && len(c.v) >= 8 && entropy(c.v) >= 2.8 && strings.ContainsAny(c.v, "!@#$%^&*?~")
	}},
	{"letters of both cases and digits in no order", func(c *candidate) bool { return upperLower(c.v) && random(c.v) }, always},
	{"letters of one case and digits, and many of them", func(c *candidate) bool {
		return c.symbols == 0 && len(c.v) >= 20 && !upperLower(c.v) && entropy(c.v) >= 3.3
	}, always},
	{"a variable, a flag, or a column", func(c *candidate) bool { return c.env || c.flag || c.sign == " " }, func(c *candidate) bool { return len(c.v) >= 8 && entropy(c.v) >= 2.5 }},
	{"a text, or data", func(c *candidate) bool { return c.quoted || c.data }, func(c *candidate) bool {
		return len(c.v) >= 8 && entropy(c.v) >= 2.8 && (c.kind == passwordKind || c.symbols > 0 || digitRuns(c.v) > 1)
	}},
	{"the last of its line", func(c *candidate) bool { return c.ends }, func(c *candidate) bool { return len(c.v) >= 10 && digitRuns(c.v) > 1 }},
	{"program text or prose", always, func(c *candidate) bool {
		return len(c.v) >= 12 && entropy(c.v) >= 3.0 && (digitRuns(c.v) > 2 || c.symbols > 0 && c.digits >= 2 && !identifier(c.v))
	}},
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
	i = endOf(s, blanks(s, i), 3, oneOf(";,)}]."))
	return i == len(s) || lineBreak(s, i) > 0 || s[i] == ' ' || s[i] == '"'
}

// columnsBefore reports whether a name is the first word of its line.
func columnsBefore(before string) bool {
	return strings.Trim(before, " \t-+#*/>;:|│\"'0123456789") == "" || endsInOne(before, "| ", "] ", "Z ", ") ")
}

// commandWords are before a name and a value that a blank parts.
var commandWords = []string{"ENV", "setenv", "setx", "-x", "set", "login", "home", "connect", "enable"}
