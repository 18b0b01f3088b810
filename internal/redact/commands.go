package redact

import (
	_ "embed" // commands are a list
	"slices"
	"strconv"
	"strings"
)

// Signs of commands that hold their secrets in another way.
const (
	userInfo   = "@"      // user:password@host
	lastWord   = "last"   // the last word, if a flag says that it is one
	cookieForm = "cookie" // a cookie
	oracleUser = "/"      // user/password, with @host behind it
	anyMember  = "="      // name=value, whatever the name is
)

// command is a program that takes secrets on its command line.
type command struct {
	// probe finds it: four bytes of its name.
	probe string
	names []string
	// needs is a word that must be among the arguments, such as login.
	needs string
	// flags have the secret behind them: in the next word if they end with a
	// blank, in the same word if not.
	flags []string
	// switches are the letters of flags without a value, which may be before another in its
	// word: -su.
	switches set
	// sign is before the secret in an argument, as in user:password. If empty, the
	// whole argument is secret.
	sign string
	// words come right before a secret that is a word by itself; skip is how many
	// words are between.
	words []string
	skip  int
	// statement says that it is no program but a statement of one, which is in no list of words.
	statement bool

	// before has how many bytes each name has before the probe's.
	before []int
}

//go:embed commands.txt
var commandList string

// commandTable returns the commands of the list.
func commandTable() []command {
	var table []command
	for f := range columns(commandList) {
		last := len(f) - 1
		c := command{probe: f[0], names: strings.Split(f[last], ",")}
		for _, field := range f[1:last] {
			switch name, v, _ := strings.Cut(field, "="); name {
			case "needs":
				c.needs = v
			case "flags":
				c.flags = strings.Split(v, ",")
			case "switches":
				c.switches = oneOf(v)
			case "words":
				c.words = strings.Split(v, ",")
			case "skip":
				c.skip, _ = strconv.Atoi(v)
			case "sign":
				c.sign = v
			case "statement":
				c.statement = true
			}
		}
		table = append(table, c)
	}
	return table
}

func commandRules() []*rule {
	var rules []*rule
	table := commandTable()
	for i := range table {
		c := &table[i]
		fixed := c.probe[:find(c.probe, 0, len(c.probe), "[ ")]
		for _, name := range c.names {
			c.before = append(c.before, strings.Index(name, fixed))
		}
	}
	for rest := table; len(rest) > 0; {
		n := 1 // how many commands have the same probe
		for n < len(rest) && rest[n].probe == rest[0].probe {
			n++
		}
		list := rest[:n]
		rest = rest[n:]
		name := "command-secret"
		if list[0].probe == "curl" {
			name = "curl-password"
		}
		rules = append(rules, &rule{name: name, probes: []string{list[0].probe}, read: func(t *text, i int) (spans []span) {
			for n := range list {
				// Words may fit two lines, a flag is one's.
				if c := &list[n]; len(spans) == 0 || len(c.flags) > 0 {
					spans = append(spans, t.command(c, i)...)
				}
			}
			return spans
		}})
	}
	return rules
}

// longestCommand bounds how far a command line is read.
const longestCommand = 600

// argument is a word of a command line, without the quotes around it.
type argument struct {
	lo, hi int
	quoted bool
	// flag is what is before the quotes: -p'x', --user="x".
	flag string
}

// command reads the command line with the name at i, or around it.
func (t *text) command(c *command, i int) []span {
	s := t.s
	lo, hi := c.nameAt(s, i)
	if hi < 0 || i < t.read[c] {
		return nil
	}
	var words []argument
	switch {
	case byteIn(s, hi, " \t"):
		words = t.words(lo)
	case c.statement || lo == 0 || strings.IndexByte(`"'/\`, s[lo-1]) < 0:
	default:
		words = t.elements(lo, hi)
		if words == nil {
			words = t.behindQuoted(lo, hi)
		}
	}
	// What is read once needs no second look, even if it names the program again;
	// what is in quotes may be another command.
	if t.read == nil {
		t.read = map[*command]int{}
	}
	for _, w := range words {
		if t.read[c] = w.lo; w.quoted {
			break
		}
	}
	if c.needs != "" && !slices.ContainsFunc(words, func(w argument) bool { return s[w.lo:w.hi] == c.needs }) {
		return nil
	}
	var out []span
	for n := range words {
		if sp, ok := t.secretArgument(c, words, n); ok {
			out = append(out, sp)
		}
	}
	return out
}

// nameAt is where the command's name is, with a blank or quotes behind it, of which the probe
// fits at i; hi is -1 if it is none of the names.
func (c *command) nameAt(s string, i int) (lo, hi int) {
	for n, name := range c.names {
		lo := i - c.before[n]
		hi := lo + len(name)
		if strings.HasPrefix(s[min(hi, len(s)):], ".exe") {
			hi += len(".exe")
		}
		if lo >= 0 && byteIn(s, hi, " \t\\\"'") && strings.HasPrefix(s[lo:], name) && boundaryBefore(s, lo) {
			return lo, hi
		}
	}
	return 0, -1
}

// secretArgument reads the secret of one word, if it has one or leads to one.
func (t *text) secretArgument(c *command, words []argument, n int) (span, bool) {
	if sp, ok := t.afterWord(c, words, n); ok {
		return sp, ok
	}
	w := words[n]
	v := t.s[w.lo:w.hi]
	switch at := strings.LastIndexByte(v, '@'); {
	case c.sign == lastWord && len(v) > 1 && v[0] == '-' && strings.Contains(v, "b") && n+2 < len(words):
		return t.part(words[len(words)-1], "")
	case c.sign == oracleUser && n > 0:
		// user/password@host, also behind userid=.
		w.lo += strings.LastIndexByte(v[:max(0, strings.IndexByte(v, '/'))], '=') + 1
		if strings.Contains(t.s[w.lo:w.hi], "@") {
			w.hi = w.lo + strings.LastIndexByte(t.s[w.lo:w.hi], '@')
		}
		return t.part(w, oracleUser)
	case c.sign == anyMember:
		return t.part(w, anyMember)
	case c.sign == userInfo && n > 0 && at >= 0:
		w.hi = w.lo + at
		return t.part(w, ":")
	}
	return t.afterFlag(c, words, n)
}

// afterWord reads the secret that is a word by itself, if the nth word leads to it.
func (t *text) afterWord(c *command, words []argument, n int) (span, bool) {
	s := t.s
	v := s[words[n].lo:words[n].hi]
	for _, lead := range c.words {
		if v != lead && !(strings.HasSuffix(lead, ":") && strings.HasPrefix(v, lead)) || n+1+c.skip >= len(words) {
			continue
		}
		next := words[n+1+c.skip]
		if strings.HasPrefix(s[next.lo:], "--") {
			next = words[len(words)-1]
		}
		got := s[next.lo:next.hi]
		if t.isLiteral(next, got) && (c.skip > 0 || len(got) >= 10 && !wordy(got) || passwordKind.likely(got)) && !looksLikeCode(got, true) {
			return t.part(next, c.sign)
		}
	}
	return span{}, false
}

// afterFlag reads the secret behind a flag, which is the nth word or begins it.
func (t *text) afterFlag(c *command, words []argument, n int) (span, bool) {
	w := words[n]
	v := t.s[w.lo:w.hi]
	if w.flag != "" {
		v = w.flag
	}
	if at := endOf(v, 1, len(v), c.switches); at > 1 && v[0] == '-' {
		v = "-" + v[at:]
		if w.flag == "" {
			w.lo += at - 1
		}
	}
	for _, f := range c.flags {
		if w.flag != "" {
			if v == f || v == f+"=" {
				return t.part(w, c.sign)
			}
			continue
		}
		flag, next := strings.CutSuffix(f, " ")
		rest, found := strings.CutPrefix(v, flag)
		switch {
		case !found:
		case next && rest == "" && n+1 < len(words):
			return t.part(words[n+1], c.sign)
		case !next && rest != "" && !(len(f) == 2 && f != "-p" && rest[0] == '-'):
			w.lo += len(f)
			return t.part(w, c.sign)
		}
	}
	return span{}, false
}

// part is the part of a word that is secret, behind the sign.
func (t *text) part(w argument, sign string) (span, bool) {
	s := t.s
	if sign == cookieForm {
		if spans := t.cookies(w.lo, false); len(spans) > 0 {
			return spans[0], true
		}
		return span{}, false
	}
	if sign != "" {
		user, password, found := strings.Cut(s[w.lo:w.hi], sign)
		switch {
		case !found, sign == "pass:" && user != "", sign == oracleUser && (user == "" || !only(user, wordBytes)), sign == anyMember && !tokenKind.likely(password):
			return span{}, false
		case len(password) <= 1 && sign == ":" && len(user) > 9 && unwordy(match{text: user, hi: len(user)}):
			// A key that needs no password is in the user's place.
			return span{lo: w.lo, hi: w.lo + len(user)}, true
		case user == password:
			return span{}, false
		}
		w.lo += len(user) + len(sign)
	}
	if q := closingQuotes(s[:w.hi], w.lo); q > w.lo {
		w.lo, w.hi = q, q+len(strings.TrimRight(s[q:w.hi], "\\\"'`"))
	}
	if !t.isLiteral(w, s[w.lo:w.hi]) {
		return span{}, false
	}
	return span{lo: w.lo, hi: w.hi}, true
}

// isLiteral is literalValue, with the beginning of one before a cut.
func (t *text) isLiteral(w argument, v string) bool {
	if t.isCutAt(w.hi) {
		return len(v) >= headMin && !placeholder(v) && strings.IndexByte("$-<", v[0]) < 0
	}
	printed := w.lo > 0 && t.s[w.lo-1] == '`' && strings.Contains(v, " ") // by a command
	return (literalValue(v) || manyWords(v)) && !printed
}

// words reads the words of a command from its name on, or those behind the ones it gets: to the line's
// end, or to a sign that ends a command.
func (t *text) words(i int, out ...argument) []argument {
	s := t.s
	for end := min(len(s), i+longestCommand); ; {
		if i = endOf(s[:end], i, end, oneOf(" \t")); i >= end {
			break
		}
		// A backslash joins two lines.
		if i > 0 && s[i-1:i+1] == "\\\n" {
			i++
			continue
		}
		if strings.HasPrefix(s[i:], "\\\n") {
			i += 2
			continue
		}
		// Escaped, as in JSON, the backslash has twice the backslashes of the line break.
		if n := endOf(s, i, end-i, oneOf(`\`)) - i; n > 0 && n%3 == 0 && byteIn(s, i+n, "n") {
			i += n + 1
			continue
		}
		if lineBreak(s, i) > 0 || strings.IndexByte("|;&)", s[i]) >= 0 {
			break
		}
		w, next := t.wordAt(i, end)
		if next == i || len(out) > 0 && s[w.lo:w.hi] == s[out[0].lo:out[0].hi] {
			break // Nothing, or the next command.
		}
		out = append(out, w)
		i = next
	}
	return out
}

// wordAt reads one word. Quotes around it, or around what follows a flag or a
// sign of assignment in it, do not belong to it.
func (t *text) wordAt(i, end int) (w argument, next int) {
	s := t.s
	j := i
	for j < end && s[j] > ' ' && strings.IndexByte("|;)", s[j]) < 0 && !(t.cut && ellipsis(s[j:])) && lineBreak(s, j) == 0 {
		q := closingQuotes(s[:min(end, j+8)], j)
		if q == j {
			if strings.HasPrefix(s[j:end], `\\`) {
				j++
			}
			j++
			continue
		}
		// What follows a quote goes to the next one of its kind.
		length := strings.IndexByte(s[q:end], s[q-1])
		switch {
		case length < 0 && j == i:
			return argument{lo: q, hi: q}, end
		case length < 0, j > i && !opensValue(s, i, j, q):
			return argument{lo: i, hi: j}, end // The quote closes a text around the command.
		case j == i, s[i] == '-', s[i:j] == "$":
			stop := q + len(strings.TrimRight(s[q:q+length], `\`))
			next := q + length + 1
			password := closingQuotes(s[:end], next+1)
			if byteIn(s[:end], next, ":") && endOf(s[:end], password, 1, wordBytes.or(firstSigns)) > password { // "user":password
				j = next
				continue
			}
			return argument{lo: q, hi: stop, quoted: true, flag: strings.TrimSuffix(s[i:j], "$")}, next
		}
		j = q + length + 1
	}
	return argument{lo: i, hi: j}, j
}

// opensValue reports whether the quotes from j to q, in the word at i, are before what a flag of one
// letter, or two, or behind switches, or a sign of assignment has: they do not close a text around the command.
func opensValue(s string, i, j, q int) bool {
	if byteIn(s, q, ",;)}] \r\n") {
		return false
	}
	switches := endOf(s, i+1, j-i-2, oneOf("#JLOSfgiksv")) == j-1 // as in -fsSLu
	return byteIn(s, j-1, "=:$") || s[i] == '-' && (j-i <= 3 || switches) && byteIn(s, j-1, "pPubUwE")
}
