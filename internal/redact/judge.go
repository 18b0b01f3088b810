package redact

import (
	"slices"
	"strings"
)

// isSecret decides whether a value beside a telling name is a secret. It has
// to distinguish password = "x7Kq..." from password = getPassword(), and max_tokens:
// 4096 from a token.
func (t *text) isSecret(a *assignment) bool {
	c := &t.memory.judged
	*c = candidate{assignment: *a, t: t, v: t.s[a.from:a.to], flag: isFlag(t.s, a.lo)}
	if c.short() {
		return false
	}
	c.env = a.variable()
	if c.is(noValues) {
		return false
	}
	c.flag = c.flag || a.sign == "=" && a.near && isFlag(t.s, startOf(t.s, a.lo, 40, wordBytes.or(".-"))) // -Ddb.password=
	if a.head && c.beginning() {
		return true
	}
	if c.is(noWholeValues) {
		return false
	}
	if c.v = strings.TrimRight(c.v, ".,;:"); c.v == "" {
		return false
	}
	c.data = c.env || c.flag || c.element() || c.cell() || c.printed() || a.sign == " " || a.quotedName && a.quoted && (a.sign == ":" || a.sign == "=>")
	c.letters, c.digits, c.symbols = count(c.v)
	switch c.kind {
	case keyKind:
		return c.decide(keyReasons)
	case passwordKind:
		return c.decide(passwordReasons) || c.decide(tokenReasons)
	}
	return c.decide(tokenReasons)
}

// variable reports a variable of the environment.
func (a *assignment) variable() bool {
	return a.sign == "=" && a.near && (!hasLower(a.name) || strings.HasPrefix(a.name, "TF_VAR_")) && !only(a.name, digitBytes.or("_-"))
}

// candidate is a value beside a telling name, with what the properties and reasons ask of it.
type candidate struct {
	assignment
	t                        *text
	v                        string
	letters, digits, symbols int
	// env says that a variable of the environment has the value, flag that a flag of
	// a command line does, data that it is in no program text.
	env, flag, data bool
}

// short reports a value that has too few characters for a secret, or for a beginning of one.
func (c *candidate) short() bool {
	least := 6
	if c.kind == passwordKind {
		least = 4
	}
	return len(c.v) < least && !(c.head && len(c.v) >= headMin)
}

// element reports a value in an element of XML, cell one in a row of a table.
func (c *candidate) element() bool { return c.sign == ">" || strings.HasPrefix(c.sign, `\`) }
func (c *candidate) cell() bool    { return c.sign == "|" || c.sign == "│" }

// printed reports a member of an object that is printed: {User:x Password:y}, map[password:x].
func (c *candidate) printed() bool {
	next := endOf(c.t.s, c.to+1, 24, wordBytes)
	return (c.sign == ":" || c.sign == "=") && c.near && !c.quoted && (byteIn(c.t.s, c.to, "]}") || byteIn(c.t.s, c.to, " ") && next > c.to+1 && byteIn(c.t.s, next, c.sign))
}

// property is what a value may be that is beside a telling name.
type property struct {
	is    string
	holds func(c *candidate) bool
}

// is reports whether one of the properties holds.
func (c *candidate) is(properties []property) bool {
	for n := range properties {
		if properties[n].holds(c) {
			return true
		}
	}
	return false
}

// noValues are what is beside a name, whole or cut, without being its value.
var noValues = []property{
	{"a word behind a blank", func(c *candidate) bool { return c.sign == " " && !c.behindBlank() }},
	{"a flag behind a blank, as in the usage of a program", func(c *candidate) bool {
		return c.v[0] == '-' && (c.sign == " " || c.element() && byteIn(c.t.s, c.from-1, " "))
	}},
	// Arguments and lists are everywhere: this is a call with a name and a value.
	{"an argument", func(c *candidate) bool {
		return c.sign == "," && !(c.quoted && (c.quotedName || c.lo > 0 && c.t.s[c.lo-1] == '{' || strings.HasSuffix(c.t.s[:c.lo], "define(")))
	}},
	{"behind an arrow of C or PHP", func(c *candidate) bool { return c.element() && endsInOne(c.name, "-", "=") }},
	{"behind the end of an address, as in an access log", func(c *candidate) bool { return c.sign == " " && c.quotedName && c.lo > 0 && c.t.s[c.lo-1] == '/' }},
	{"a checksum, in prose", func(c *candidate) bool {
		return c.prose() && c.kind != passwordKind && isHexText(strings.Trim(c.v, ".,;:")) && !containsOne(strings.ToLower(c.t.s[max(0, c.lo-8):c.from]), hexWords()...)
	}},
	{"an expression or a path", func(c *candidate) bool { return looksLikeCode(c.v, c.quoted || c.noExpression()) }},
	{`behind a quote that closes a text, as in "PWD="+dir`, func(c *candidate) bool {
		return c.quoted && c.near && !c.quotedName && c.lo > 0 && c.t.s[c.lo-1] == c.t.s[c.from-1] && c.v[0] == '+'
	}},
	{"a placeholder", func(c *candidate) bool { return placeholder(c.v) }},
}

// noExpression reports a password with digits where no program text is: of a variable of the
// environment, behind a flag's sign, in an element.
func (c *candidate) noExpression() bool {
	if c.kind != passwordKind {
		return false
	}
	data := c.env || c.element() || c.sign == "=" && c.near && isFlag(c.t.s, startOf(c.t.s, c.lo, 60, wordBytes.or(".-")))
	return data && (hasDigit(c.v) || gibberish(c.v)) || isAlnum(c.v[0]) && longNumber(c.v) || hasDigit(c.v) && isAlnum(c.v[0]) && oddLetters(c.v) > 3 && !strings.Contains(c.v, "/")
}

// longNumber reports a number of two digits and more that no name in a program has.
func longNumber(v string) bool {
	for number := range strings.FieldsFuncSeq(v, func(r rune) bool { return r < '0' || r > '9' }) {
		if len(number) > 1 && !slices.Contains(bitNumbers(), number) {
			return true
		}
	}
	return false
}

// noWholeValues are what is no value, if no cut ends it.
var noWholeValues = []property{
	{"a call, or a type with parameters", func(c *candidate) bool {
		return !c.quoted && !c.element() && byteIn(c.t.s, c.to, "([{<") && !strings.HasPrefix(c.t.s[c.to:], "</")
	}},
	{"program text behind a quote that closes a text", func(c *candidate) bool {
		return c.quoted && strings.ContainsAny(c.v, "();{") && byteIn(c.t.s, c.to, " \t\r\n")
	}},
}

// beginning judges the beginning of a value that was cut, which may not look
// random yet. Words are left alone ("unexpected token: identifier").
func (c *candidate) beginning() bool {
	if c.kind == keyKind {
		return (c.env || c.quoted) && len(c.v) >= 8 && !plain(c.v)
	}
	if len(c.v) < headMin || c.is(noBeginnings) {
		return false
	}
	return c.quoted || c.env || c.flag && c.sign == " " || c.sign == "=" && c.near || !words(c.v)
}

var noBeginnings = []property{
	{"a few lower case letters", func(c *candidate) bool { return fewLower(c.v) && !c.env }},
	{"digits and signs", func(c *candidate) bool {
		letters, _, _ := count(c.v)
		return letters == 0 && !(c.kind == passwordKind && (c.env || c.quoted)) && !(c.env && len(c.v) >= 8)
	}},
	{"words", func(c *candidate) bool {
		return plain(c.v) && !(c.env && (c.kind == passwordKind || digitRuns(c.v) > 2 || len(c.v) >= 8 && only(c.v, digitBytes)))
	}},
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

// certain reports a value that nothing but a password is in the place of: behind a
// flag's sign, in a statement of SQL.
func (c *candidate) certain() bool {
	return c.flag && c.sign == "=" && c.kind == passwordKind || c.quoted && c.closed && c.sign == " " && (strings.EqualFold(c.name, "password") && c.inSQL() || strings.EqualFold(c.name, "key"))
}

func (c *candidate) inSQL() bool {
	before := strings.ToUpper(c.t.s[lineStart(c.t.s, c.lo, 160):c.lo])
	return containsOne(before, "USER ", "ROLE ", "LOGIN ", "WITH ", "ALTER ", "MAPPING ")
}

// passwordReasons judge what may be a person's choice: a word with digits and signs.
var passwordReasons = []reason{
	{"certain by the syntax", (*candidate).certain, func(c *candidate) bool {
		return len(c.v) >= 4 && !namesPassword(c.v) && !(c.digits == 0 && !hasLower(c.v))
	}},
	{"prose: words are more common than passwords", (*candidate).prose, func(c *candidate) bool {
		return c.letters > 0 && (c.digits > 0 && !wordy(c.v) || chosenShape(c.v, false) || c.quoted && c.closed && len(c.v) >= 8 && gibberish(c.v))
	}},
	{"only a blank is between name and value", func(c *candidate) bool { return c.sign == " " && !c.quoted }, func(c *candidate) bool {
		return c.digits > 0 && c.letters > 0 && (!wordy(c.v) || len(c.v) >= 8)
	}},
	{"no letters: a number, unless it is long", func(c *candidate) bool { return c.letters == 0 }, func(c *candidate) bool { return len(c.v) >= 8 && (c.env || c.quoted) }},
	{"no digits: a word, unless it has signs", func(c *candidate) bool { return c.digits == 0 }, func(c *candidate) bool {
		return c.passphrase() || c.near && len(c.v) >= 8 && c.strong() && c.t.besideSettings(c.lo) || c.placed() && manyWords(c.v) || (c.quoted && c.closed && c.sign != "," || c.ends && c.sign != " ") && oddCase(c.v) || c.quotedName && c.quoted && c.closed && len(c.v) >= 8 && upperLower(c.v) && !words(c.v) || (c.env || c.quoted) && len(c.v) >= 8 && (entropy(c.v) >= 2.8 && c.strong() || gibberish(c.v) && !namesPassword(c.v)) ||
			len(c.v) >= 9 && gibberish(c.v) && (c.data || c.ends && (c.sign == ":" && !c.near || c.sign == "=" && upperLower(c.v) || c.sign == "=>") || c.sign == "=" && c.near && (c.ends || c.t.besideSettings(c.lo)) || c.ends && c.strong())
	}},
	{"the name of a variable for a password", func(c *candidate) bool { return !c.data && namesPassword(c.v) }, never},
	{"data, or a text that is assigned", func(c *candidate) bool { return c.data || c.quoted && c.sign != "," }, func(c *candidate) bool {
		return len(c.v) >= 6 && (c.symbols > 0 || c.digits > 1 || !wordy(c.v) || c.env || c.quotedName || len(c.v) >= 8)
	}},
	{"a call's argument behind the name", func(c *candidate) bool { return c.quoted }, func(c *candidate) bool {
		last := c.digits > 1 && byteIn(c.t.s, closingQuotes(c.t.s, c.to), ")") && !namesPassword(c.v)
		return len(c.v) >= 8 && (!wordy(c.v) || c.strong() || !hasLower(c.name) || last)
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

// passphrase reports words that hyphens join, of a variable or of a name that says what they are.
func (c *candidate) passphrase() bool {
	low := strings.ToLower(c.telling)
	return (c.env || containsOne(low, "phrase", "psk") && (c.quoted || c.ends || c.sign == "=") || c.quoted && c.closed && c.sign != "," && !strings.Contains(low, "class")) && strings.Count(c.v, "-") >= 3 && len(c.v) >= 16 && only(c.v, lowerBytes.or("-")) && !namesPassword(c.v)
}

// placed reports a value that its syntax makes one of the name: in quotes, at the end of its line, in a list
// of settings.
func (c *candidate) placed() bool {
	return c.quoted && c.closed && c.sign != "," && c.sign != " " || c.ends && c.sign != " " && (c.sign != "=" || c.near) || c.env || c.element() || c.near && c.t.besideSettings(c.lo)
}

// setting reports a bare value with digits that nothing but its line or its list of
// settings ends.
func (c *candidate) setting() bool {
	if c.digits < 2 || len(c.v) < 6 || snakeCase(c.v) || strings.HasPrefix(c.v, "0x") {
		return false
	}
	return c.ends && (c.sign == ":" && !c.near || c.sign == "=>" || c.sign == "=" && (c.near || !namesPassword(c.v))) || (c.sign == "=" || c.sign == ":") && c.near && c.t.besideSettings(c.lo)
}

// besideSettings reports whether the name at lo is one of many in a list of settings, as of a
// connection or a form: user=x,password=y, or follows a flag that gives one.
func (t *text) besideSettings(lo int) bool {
	s := t.s
	if lo < 3 {
		return false
	}
	if s[lo-1] == ' ' && s[lo-2] == ',' {
		lo--
	}
	word := s[startOf(s, lo-1, 60, wordBytes.or("=./:-@%")) : lo-1]
	switch s[lo-1] {
	case ',', ';', '&':
		return strings.Contains(word, "=")
	case ':':
		return endsInOne(word, "/p", "/property", "-p", "-property") // MSBuild
	case ' ':
		at := strings.IndexAny(word, "=:")
		return at > 0 && at+1 < len(word) || slices.Contains(settingFlags(), word)
	}
	return false
}

// keyReasons judge the value of a name that means much else, too.
var keyReasons = []reason{
	{"a path", func(c *candidate) bool {
		at := strings.IndexByte(c.v, '/')
		return at >= 3 && words(c.v[:at]) && !strings.ContainsAny(c.v, "+=")
	}, never},
	{"what authenticates", func(c *candidate) bool { return strings.EqualFold(c.telling, "auth") && c.sign != "," }, func(c *candidate) bool {
		return len(c.v) >= 12 && !wordy(c.v) && (upperLower(c.v) || c.named && len(c.v) >= 32) && (c.quoted || c.ends || c.sign == "=")
	}},
	{"prose", (*candidate).prose, never},
	{"a short argument", func(c *candidate) bool { return c.sign == "," && len(c.v) < 32 }, never},
	{"a word behind a blank", func(c *candidate) bool {
		return c.sign == " " && !c.flag && !(len(c.v) >= 32 && random(c.v) && upperLower(c.v) && digitRuns(c.v) > 3)
	}, never},
	{"the fingerprint of an OpenPGP key", func(c *candidate) bool { return len(c.v) == 40 && only(c.v, digitBytes.or("ABCDEF")) }, never},
	{"short", func(c *candidate) bool { return len(strings.TrimPrefix(strings.TrimPrefix(c.v, "base64:"), "0x")) < 16 }, never},
	{"words", func(c *candidate) bool { return wordy(c.v) }, never},
	{"a name with a checksum, or a UUID", func(c *candidate) bool {
		return strings.Count(c.v, "-") > 3 || strings.Contains(c.v, "-") && isHexText(c.v[strings.LastIndexByte(c.v, '-')+1:])
	}, never},
	{"a variable, or a parameter of an address", func(c *candidate) bool { return c.env || c.lo > 0 && strings.IndexByte("?&", c.t.s[c.lo-1]) >= 0 }, func(c *candidate) bool {
		return random(c.v) || digitRuns(c.v) > 2
	}},
	{"a signature", func(c *candidate) bool { return fold(c.telling, "signature") }, func(c *candidate) bool { return len(c.v) >= 27 && !strings.Contains(c.v, "=:") }},
	{"of an API, in prose", func(c *candidate) bool {
		gap := c.t.s[min(c.from, c.lo+len(c.name)):c.from]
		return len(gap) > 4 && strings.Contains(strings.ToUpper(gap), "API") && !c.quoted
	}, func(c *candidate) bool { return random(c.v) || len(c.v) >= 32 && digitRuns(c.v) > 3 }},
	{"a checksum in prose", func(c *candidate) bool {
		return isHexText(c.v) && !c.quoted && !strings.ContainsAny(c.name, "_-") && !c.near
	}, never},
	{"a text, or data", always, func(c *candidate) bool {
		return len(c.v) >= 20 && (random(c.v) || digitRuns(c.v) > 3) && (c.data || c.quoted || c.ends || c.sign == "=" && c.near)
	}},
}

// tokenReasons judge what a machine made.
var tokenReasons = []reason{
	{"a number in program text", func(c *candidate) bool {
		return !c.quoted && !c.near && strings.HasPrefix(strings.TrimPrefix(c.v, "-"), "0x") && len(c.v) < 40
	}, never},
	{"a secret that a person chose", func(c *candidate) bool {
		return (c.env || c.quoted || c.element() || c.ends && c.strong() || c.sign == "=" && c.near && (c.ends || byteIn(c.t.s, c.to, ")]}"))) && strings.Contains(strings.ToLower(c.name), "secret") && chosenShape(c.v, false) && !snakeCase(c.v) && !namesPassword(c.v)
	}, always},
	{"words and numbers", func(c *candidate) bool {
		return wordy(c.v) && c.digits > 0 && !(upperLower(c.v) && random(c.v)) && !(c.env && strings.ContainsAny(c.v, "!@#%^&*?~+"))
	}, never},
	{"an argument that could be a name", func(c *candidate) bool { return c.sign == "," && !random(c.v) && digitRuns(c.v) < 2 }, never},
	{"prose", (*candidate).prose, func(c *candidate) bool { return len(c.v) >= 12 && digitRuns(c.v) > 1 }},
	{"letters alone", func(c *candidate) bool { return c.digits == 0 && c.symbols == 0 }, func(c *candidate) bool {
		return upperLower(c.v) && (len(c.v) >= 20 && entropy(c.v) >= 3.9 && !words(c.v) || len(c.v) >= 16 && random(c.v)) ||
			len(c.v) >= 10 && (c.quoted || c.data) && gibberish(c.v)
	}},
	{"no letters", func(c *candidate) bool { return c.letters == 0 }, func(c *candidate) bool { return c.kind == passwordKind && len(c.v) >= 8 && (c.env || c.quoted) }},
	{"no digits", func(c *candidate) bool { return c.digits == 0 }, func(c *candidate) bool {
		return (c.env || c.quoted) && c.kind == passwordKind && len(c.v) >= 8 && entropy(c.v) >= 2.8 && strings.ContainsAny(c.v, "!@#$%^&*?~")
	}},
	{"letters of both cases and digits in no order", func(c *candidate) bool { return upperLower(c.v) && random(c.v) }, always},
	{"letters of one case and digits, and many of them", func(c *candidate) bool {
		return c.symbols == 0 && len(c.v) >= 20 && !upperLower(c.v) && entropy(c.v) >= 3.3
	}, always},
	{"a variable, a flag, or a column", func(c *candidate) bool { return c.env || c.flag || c.sign == " " }, func(c *candidate) bool { return len(c.v) >= 8 && entropy(c.v) >= 2.5 }},
	{"a text, or data", func(c *candidate) bool { return c.quoted || c.data }, func(c *candidate) bool { return len(c.v) >= 8 && entropy(c.v) >= 2.8 }},
	{"the last of its line", func(c *candidate) bool { return c.ends }, func(c *candidate) bool { return len(c.v) >= 10 && digitRuns(c.v) > 1 }},
	{"program text or prose", always, func(c *candidate) bool {
		return len(c.v) >= 12 && entropy(c.v) >= 3.0 && (digitRuns(c.v) > 2 || c.symbols > 0 && c.digits >= 2 && !identifier(c.v))
	}},
}

// namesPassword reports the names of variables, labels and functions for passwords.
func namesPassword(v string) bool {
	return containsOne(strings.ToLower(v), "password", "passwd", "passwort", "secret", "token", "input", "field", "user") && wordy(v)
}

// behindBlank reports whether only blanks between a name and a value make
// an assignment: of a flag, in a setting, in a column of names, in SQL.
func (c *candidate) behindBlank() bool {
	if c.flag {
		return true
	}
	s := c.t.s
	start := lineStart(s, c.lo, 160)
	b := &c.t.memory.blank
	*b = blank{candidate: c, before: s[start:c.lo], gap: s[c.lo+len(c.name) : c.from]}
	b.head = strings.TrimRight(b.before, " \t")
	b.last = strings.TrimLeft(nameStart(s, start+len(b.head)), "-+")
	b.bare = strings.TrimLeft(c.name, "-+")
	for n := range blankReasons {
		if blankReasons[n].when(b) {
			return blankReasons[n].value(b)
		}
	}
	return false
}

// blank is a candidate behind blanks, with what is before its name in the line.
type blank struct {
	*candidate
	// before is the line up to the name, head the same without the blanks at its end, last
	// the word at the head's end.
	before, head, last string
	// bare is the name without signs before it, gap what is between it and the value.
	bare, gap string
}

// blankReasons decide as reasons do.
var blankReasons = []struct {
	is          string
	when, value func(b *blank) bool
}{
	{"a setting's name", func(b *blank) bool { return oneFold(b.bare, settingWords()) }, yes},
	{"an entry of .npmrc", func(b *blank) bool { return strings.HasSuffix(b.before, "/:") }, yes},
	{"a token of random characters", func(b *blank) bool {
		return (b.kind == tokenKind || len(b.v) >= 32 && !slices.Contains(otherKeys(), strings.ToLower(b.last))) && len(b.v) >= 24 && random(b.v) && digitRuns(b.v) > 2 && upperLower(b.v) || b.kind == tokenKind && len(b.v) >= 24 && digitRuns(b.v) > 4 && !hasLower(b.v) && !isHexText(b.v)
	}, yes},
	{"a password that a person chose", func(b *blank) bool {
		return b.kind == passwordKind && len(b.gap) == 1 && chosenShape(strings.TrimRight(b.v, ".,;:"), false) && upperLower(b.v)
	}, yes},
	{"the path of a value that is put", func(b *blank) bool { return strings.Contains(b.head, "put ") && strings.HasSuffix(b.before, "/") }, func(b *blank) bool { return literalValue(b.v) }},
	{"the key of a database that is attached", func(b *blank) bool {
		return b.quoted && b.closed && b.kind == keyKind && strings.Contains(b.before, "ATTACH ")
	}, func(b *blank) bool {
		b.kind = passwordKind
		return true
	}},
	// WITH PASSWORD 'x', #define WIFI_PASSWORD "x".
	{"a text", func(b *blank) bool { return b.quoted }, func(b *blank) bool {
		return b.t.s[b.from-1] != '`' && (b.bare == "PASSWORD" || b.certain() || strings.EqualFold(b.last, "with") || b.last == "define" || b.closed && b.kind.likely(b.v) && endsStatement(b.t.s, closingQuotes(b.t.s, b.to)))
	}},
	{"a command's word", func(b *blank) bool {
		return strings.HasSuffix(b.before, " ") && slices.Contains(commandWords(), b.last)
	}, yes},
	{"behind a machine, or a flag", func(b *blank) bool { return strings.Contains(b.head, "machine ") || strings.HasSuffix(b.head, "-x") }, yes},
	{"in a command with a user or a setting", func(b *blank) bool {
		return containsOne(b.head, "config ", "user ", "username ", "login ", "modify ", "write ", "put ") && b.kind.likely(b.v) && !strings.Contains(b.v, "=")
	}, yes},
	{"alone in its line", func(b *blank) bool {
		return b.ends && len(b.gap) == 1 && (columnsBefore(b.before) || b.kind == passwordKind) && b.kind.likely(b.v) && (b.bare != "PASS" || !wordy(b.v)) && !strings.Contains(b.v, "=") && !strings.HasSuffix(b.before, "/")
	}, yes},
	{"in a column, which two blanks or a tab part", func(b *blank) bool { return b.ends && len(b.gap) >= 2 }, func(b *blank) bool {
		return !strings.HasSuffix(b.head, ",") && (len(b.gap) >= 3 || strings.Contains(b.gap, "\t")) && !wordy(b.v) ||
			b.kind == passwordKind && literalValue(b.v) && columnsBefore(b.before)
	}},
}

func yes(*blank) bool { return true }

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
