package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// assignment is a telling name with a value, as JSON, env files, shells, YAML,
// command lines, tables, prompts and program text write them.
type assignment struct {
	name       string // whole, as written
	lo         int    // where the name begins
	telling    string // the part of the name from its telling word on
	kind       kind
	quotedName bool
	// promoted says that what is before the word key makes it a secret one.
	promoted bool
	// named says that the name is the value of a member such as "name".
	named bool
	// sign is what is between name and value, without quotes and blanks; a
	// blank if there is nothing else.
	sign string
	// near says that no blank is between the name, the sign and the value.
	near bool
	value
}

// value is where a value is, and how it is written.
type value struct {
	from, to int
	quoted   bool
	// closed says that the quote is closed, ends that a bare value goes to the end
	// of its line, head that a cut ends the value.
	closed, ends, head bool
}

// assignedSecret reads an assignment of which the telling word is at i.
func assignedSecret(t *text, i int) []span {
	word, k := tellingWord(t.s, i)
	if word == 0 {
		return nil
	}
	s := t.s
	end := nameEnd(s, i+word)
	lo := i - len(nameStart(s, i))
	if end < 0 || namesNone(s, lo, i, end) {
		return nil
	}
	a := &t.memory.named
	*a = assignment{name: s[lo:end], lo: lo, telling: s[i:end], kind: k}
	if k == keyKind && !a.keyOf(s) || k != pairKind && !a.namesSecret(word) {
		return nil
	}
	if spans, ok := t.pairValue(a, end); ok || k == pairKind {
		return spans
	}
	if t.sign(a, end) && t.isSecret(a) {
		hi := a.to
		if a.to-a.from >= longestValue {
			hi = follow(s, a.to)
		}
		return t.further(a, []span{{lo: a.from, hi: hi}})
	}
	for _, find := range elsewhere {
		if out := find(t, a, end); len(out) > 0 {
			return out
		}
	}
	if k == keyKind && a.kind == k && !byteIn(s, end, " ") {
		return nil
	}
	return t.label(a, end)
}

// nameEnd is where the name ends whose telling word ends at i, or -1: a name has an end, what is
// behind 32 characters of it is no value.
func nameEnd(s string, i int) int {
	for n := 0; n < 32 && s[i-1] < utf8.RuneSelf && i < len(s) && (isWord(s[i]) || s[i] == '-' && !strings.HasPrefix(s[i:], "->")); n++ {
		i++
	}
	if i < len(s) && isWord(s[i]) && s[i-1] < utf8.RuneSelf {
		return -1
	}
	return i
}

// elsewhere are where values are that are not right behind a name and a sign.
var elsewhere = []func(t *text, a *assignment, end int) []span{
	(*text).byteList, (*text).listBelow, (*text).fallback, (*text).column, (*text).inLists, (*text).htmlColumn, (*text).call,
}

// sign reads what is between the name, which ends at i, and the value, and
// the value.
func (t *text) sign(a *assignment, i int) bool {
	p, q := t.behindName(a, i)
	if sign, at := t.wordSign(a, q); at > 0 {
		a.sign, a.value = sign, t.valueAt(at)
		return a.to > a.from
	}
	if a.quotedName && byteIn(t.s, q, "{") {
		return t.member(a, q) // A block of HCL.
	}
	if p = t.signBetween(a, p, q); p < 0 {
		return false
	}
	q = blanks(t.s, p)
	a.near = a.near && q == p
	if byteIn(t.s, q, "{") && a.sign != ">" {
		return t.member(a, q)
	}
	a.value = t.valueAt(t.behindSign(a, q))
	if a.quoted && a.closed && a.to == a.from { // "" => "x"
		if p = blanks(t.s, a.to+1); hasOnePrefix(t.s[p:], "=>", "->") {
			a.value = t.valueAt(blanks(t.s, p+2))
		}
	}
	return a.to > a.from
}

// behindName is where the quotes, brackets, attributes and types end that belong to a name
// which ends at i, and where the blanks behind them do.
func (t *text) behindName(a *assignment, i int) (end, next int) {
	s := t.s
	p := closingQuotes(s, i)
	a.quotedName = p > i
	if byteIn(s, p, "]") || a.quotedName && byteIn(s, p, ")") {
		p++
	}
	for _, word := range [...]string{"<blob>", ":protected]", ":private]"} {
		if strings.HasPrefix(s[p:], word) {
			p += len(word)
		}
	}
	if a.named || a.lo > 0 && s[a.lo-1] == '<' || strings.Contains(s[max(0, a.lo-16):a.lo], "<") {
		p = attributes(s, p)
	}
	p = typeOf(s, endOf(s, p, 2, oneOf("*")))
	q := detail(s, blanks(s, p), a)
	if byteIn(s, q, ",") && strings.HasPrefix(s[blanks(s, q+1):], "default=") {
		q = blanks(s, q+1) + len("default")
		p = q
	}
	if q > p && fold(s[q:], "value=") {
		q += len("value")
		p = q
	}
	return p, q
}

// wordSign is the sign that a word at i is between a name and a value, and where the value
// is, or 0.
func (t *text) wordSign(a *assignment, i int) (sign string, value int) {
	s := t.s
	switch {
	case a.quotedName && strings.HasPrefix(s[i:], "to ") && closingQuotes(s, i+3) > i+3: // a pair in Kotlin
		return "=>", i + len("to ")
	case strings.HasPrefix(s[i:], "-string "), strings.HasPrefix(s[i:], "string ") && a.lo > 0 && s[a.lo-1] == ':': // in a plist
		return "=", i + strings.IndexByte(s[i:], ' ') + 1
	case byteIn(s, i, "<:") && strings.Contains(s[i:min(len(s), i+4)], "<"): // the next text of HTML
		if p := endOfTags(s, blanks(s, i+endOf(s[i:], 0, 1, oneOf(":")))); p > i+3 {
			return ">", p
		}
	case strings.HasPrefix(s[i:], "REG_"):
		return "=", blanks(s, endOf(s, i, 20, wordBytes))
	}
	return "", 0
}

// signBetween reads the sign at q, behind a name that ends at p, and is where it ends, or -1.
func (t *text) signBetween(a *assignment, p, q int) int {
	s := t.s
	n := signAt(s[q:])
	if dots := endOf(s, q, 60, oneOf(".")); dots-q > 3 && q > p && byteIn(s, dots, " ") { // a leader
		a.sign, a.near = ":", false
		return dots
	}
	if n == 0 && q == p+1 && byteIn(s, q, digits) && byteIn(s, q+1, " ") {
		q += 2 // How routers encode a password.
	}
	a.sign, a.near = s[q:q+n], q == p
	switch a.sign {
	case "":
		if q == p {
			return -1
		}
		a.sign = " "
	case "：":
		a.sign, a.near = ":", false
	case ":: ":
		a.sign = ":"
	case "＝", "<-", "<<-":
		a.sign = "="
	}
	return q + n
}

// behindSign is where the value begins behind a sign and the blanks at i: behind a bracket,
// a line break, or what converts a text.
func (t *text) behindSign(a *assignment, i int) int {
	s := t.s
	if a.sign == ":" && byteIn(s, i, "!") { // a tag of YAML
		if p := endOf(s, i, 24, wordBytes.or("!-")); byteIn(s, p, " ") {
			i = blanks(s, p)
		}
	}
	if strings.HasPrefix(s[i:], "<<") { // a text in the lines below
		if p := endOf(s, i, 24, wordBytes.or("<-~'\"")); lineBreak(s, p) > 0 {
			i = blanks(s, p+lineBreak(s, p))
		}
	}
	if byteIn(s, i, "[({") && closingQuotes(s, textStart(s, i+1)) > i+1 && a.sign != ">" {
		i++
	} else if byteIn(s, i, "[{") && a.kind == passwordKind && a.sign == "=" {
		if v := t.valueAt(i + 1); v.to > i+6 && byteIn(s, v.to, "]}") {
			i++ // password=[x], PWD={x}
		}
	}
	switch a.sign {
	case ":", "=", ":=", "=>":
		if next := t.nextValue(a, i); next > 0 {
			i, a.near = next, false
		}
	}
	switch {
	case a.sign == ">" || strings.HasPrefix(a.sign, `\`):
		return inElement(s, i, a.quotedName || a.lo > 0 && s[a.lo-1] != ' ')
	case strings.HasSuffix(a.sign, "=") || a.sign == ":" || a.sign == "=>":
		return t.wrapped(i)
	}
	return i
}

// inElement is where the text of an element begins behind i, or that of its first child; of
// a tag also in another line.
func inElement(s string, i int, tag bool) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || lineBreak(s, i) > 0 && tag) {
		i += max(1, lineBreak(s, i))
	}
	if fold(s[i:], "<value") {
		if end := strings.IndexByte(s[i:min(len(s), i+80)], '>'); end > 0 {
			i += end + 1
		}
	}
	return i
}

// attributes skips the attributes at i, if the end of their tag is behind them.
func attributes(s string, i int) int {
	j := blanks(s, i)
	for range 6 {
		name := endOf(s, j, 40, wordBytes.or(":-"))
		value := closingQuotes(s, min(len(s), name+1))
		if name == j || !byteIn(s, name, "=") || value == name+1 {
			break
		}
		j = blanks(s, closingQuotes(s, find(s, value, min(len(s), value+80), "\"'\n")))
	}
	if byteIn(s, j, ">") {
		return j
	}
	return i
}

// signs of assignment, the longer ones first.
var signs = [...]string{":::=", "::=", ":: ", "===", "||=", "??=", ":=", "=>", "==", "?=", "+=", ".=", "||", "??", "<<-", "<-", "->", "：", "＝", "=", ":", ",", ">", "|", "│"}

func signAt(s string) int {
	if s == "" {
		return 0
	}
	if strings.IndexByte("\\:=|?+.,><-", s[0]) < 0 && s[0] != "│"[0] && s[0] != "："[0] {
		for _, w := range [...]string{"is: ", "is ", "was "} {
			if strings.HasPrefix(s, w) {
				return len(w) - 1
			}
		}
		return 0
	}
	// > and => as JSON escapes them.
	i := endOf(s, 0, 1, oneOf("="))
	if j := endOf(s, i, len(s), oneOf(`\`)); j > i && fold(s[j:], "u003e") {
		return j + 5
	}
	for _, sign := range signs {
		if sign[0] == s[0] && strings.HasPrefix(s, sign) {
			return len(sign)
		}
	}
	return 0
}

// closingQuotes skips the quotes at i, each escaped any number of times.
func closingQuotes(s string, i int) int {
	for range 3 {
		j := endOf(s, i, len(s), oneOf(`\`))
		if !byteIn(s, j, "\"'`") {
			break
		}
		i = j + 1
	}
	return i
}

// typeOf skips a type between a name and a sign of assignment: ": &'static str",
// "[]", " As String", " VARCHAR(30)", " { get; set; }", " <const>".
func typeOf(s string, i int) int {
	j := i
	switch {
	case byteIn(s, i, ":[?"), byteIn(s, i, " ") && (byteIn(s, i+1, ":<{") || byteIn(s, i+1, "As[VNCTvnPS") && slices.ContainsFunc(typeWords, func(w string) bool { return strings.HasPrefix(s[i+1:], w) })):
		j += 2
	default:
		return i
	}
	if j = endOf(s, j, 48, wordBytes.or("&'<>[]?|!,;{}(). *:")); !byteIn(s, j, "=") || strings.HasPrefix(s[j:], "==") {
		return i
	}
	k := blanks(s, j+1)
	switch typed := s[i:j]; {
	case closingQuotes(s, textStart(s, k)) > k && strings.IndexByte("|:", s[j-1]) < 0, typed[0] == ' ' && strings.HasSuffix(typed, " :") && closingQuotes(s, k) > k:
		return j - len(typed) + len(strings.TrimRight(typed, ":"))
	case wordy(typed) && strings.IndexByte(":|", s[j-1]) < 0 && k < len(s) && isAlnum(s[k]) && strings.Contains(typed, " ") && !strings.ContainsAny(typed, ",;(){}!"):
		return j
	}
	return i
}

// typeWords begin a type behind a name and a blank.
var typeWords = []string{"As ", "CONSTANT ", "string", "String", "[]byte", "VARCHAR", "NVARCHAR", "CHAR", "TEXT", "varchar", "nvarchar", "PIC ", "str "}

// textStart is where the quote is behind the signs at i that say how a text is written: rb"x", *b"x",
// R"(x)", r#"x"#, string(1) "x", or i.
func textStart(s string, i int) int {
	j := i
	if strings.HasPrefix(s[i:], "string(") || strings.HasPrefix(s[i:], "string ") {
		j = blanks(s, endOf(s, i+len("string"), 8, digitBytes.or("()")))
	}
	for j = endOf(s, j, 3, oneOf("rbufLN@$*&#R8<")); j > i; j-- {
		if byteIn(s, j, "\"'`\\") && closingQuotes(s, j) > j {
			return j
		}
	}
	return i
}

// detail skips what prompts put behind a name: [None], for 'https://h', a number.
func detail(s string, i int, a *assignment) int {
	j := i
	switch {
	case i >= len(s):
	case s[i] == '[':
		j = strings.IndexByte(s[i:min(len(s), i+40)], ']') + i + 1
	case fold(s[i:], "for ") || strings.HasPrefix(s[i:], "is generated for "):
		end := lineEnd(s, i, 120)
		if j = strings.LastIndex(s[i:end], ": ") + i; j < i && s[i] == 'F' {
			j = strings.LastIndex(s[i:end], " = ") + i + 1 // SET PASSWORD FOR
		}
	case fold(s[i:], "key") && a.kind != keyKind:
		if j = i + 3; byteIn(s, j, " ") {
			return detail(s, j+1, a)
		}
	case '1' <= s[i] && s[i] <= '9':
		j = i + 1
	}
	if j > i && byteIn(s, j, ":=") {
		return j
	}
	return i
}

// longestValue bounds how much of a value is judged; a longer
// one is removed as far as its characters go.
const longestValue = 160

// valueAt reads the value at i, quoted or bare.
func (t *text) valueAt(i int) value {
	s := t.s
	i = textStart(s, i)
	v := value{from: closingQuotes(s, i)}
	quote := byte(0)
	if v.quoted = v.from > i; v.quoted {
		quote = s[v.from-1]
	} else if n := bracketQuote(s, i); n > 0 {
		v.from, v.quoted = i+n, true
		quote = closer(s[v.from-1])
	}
	v.to = t.valueEnd(v.from, quote)
	if v.to == v.from+longestValue {
		v.closed, v.ends = v.quoted, !v.quoted
		return v
	}
	v.closed = v.quoted && (closingQuotes(s, v.to) > v.to || byteIn(s, v.to, ")]}") && s[v.to] == quote)
	v.ends = !v.quoted && endsLine(s, v.from, v.to)
	v.head = t.cut && !v.closed && t.isCutAt(v.to)
	return v
}

// valueEnd is where the value ends that begins at i, behind a quote or, if that is 0, bare.
func (t *text) valueEnd(i int, quote byte) int {
	s := t.s
	for most := min(len(s), i+longestValue); i < most; {
		c := s[i]
		if isWord(c) {
			i++
			continue
		}
		if c <= ' ' || c == quote || c == '[' && strings.HasPrefix(s[i:], "[trunc") {
			break
		}
		n := 1
		if c == '\\' {
			n = escapedSign(s, i)
		} else if quote == 0 && !bareByte(s, i) || t.cut && ellipsis(s[i:]) {
			n = 0
		}
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// endsLine reports whether nothing but a comment or what closes a text is behind a bare value.
func endsLine(s string, from, to int) bool {
	k := blanks(s, to)
	return k == len(s) || lineBreak(s, k) > 0 || to > from && byteIn(s, to-1, "\"'`") || byteIn(s, k, `"'\`) || strings.HasPrefix(s[k:], "^M$") || s[k] == '#' && k > to
}

// bracketQuote is the length of what opens a text in Perl, Ruby and Elixir: q(, %q[, ~s{.
func bracketQuote(s string, i int) int {
	if strings.HasPrefix(s[i:], "[[") { // Lua
		return 2
	}
	j := endOf(s, i, 1, oneOf("%~"))
	if n := endOf(s, j, 2, oneOf("qsQSwW")); n > j && byteIn(s, n, "([{") {
		return n + 1 - i
	}
	return 0
}

func closer(open byte) byte {
	if open == '(' {
		return ')'
	}
	return open + 2
}

// bareByte reports whether a value without quotes may hold the byte at i.
func bareByte(s string, i int) bool {
	c := s[i]
	switch {
	case isWord(c):
		return true
	case c == '&':
		// It joins the parameters of an address.
		j := endOf(s, i+1, 23, wordBytes.or("-"))
		return j == i+1 || j == len(s) || s[j] != '='
	case c == '^':
		return !strings.HasPrefix(s[i:], "^M") && !strings.HasPrefix(s[i:], "^[")
	}
	return strings.IndexByte("+/=.~!@#$%*?:-", c) >= 0
}

// escapedSign is the length of a sign within a value that JSON escapes: \/ and
// \u0026, escaped any number of times.
func escapedSign(s string, i int) int {
	j := endOf(s, i, len(s), oneOf(`\`))
	if byteIn(s, j, "/") {
		return j + 1 - i
	}
	if strings.HasPrefix(s[j:], "u00") && j+5 <= len(s) {
		switch s[j+3 : j+5] {
		case "26", "3c", "3C", "3d", "3D", "3e", "3E", "2b", "2B", "2f", "2F":
			return j + 5 - i
		}
	}
	return 0
}
