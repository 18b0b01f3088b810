package redact

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Where in a clause a value is: right beside the telling word, or further on.
const (
	besideWords = 2  // words between a telling word and a value that is right beside it
	clauseWords = 12 // words of a clause that are read
	clauseBytes = 110
)

// label reads the values that are in one clause with a name, which ends at i: "Password for the
// user deploy: x", "**Password:** x", "Пароль администратора — x", "x as the password". A clause is
// known by its words and signs, whatever its language and grammar are.
func (t *text) label(a *assignment, i int) []span {
	s := t.s
	if q := closingQuotes(s, i); lineBreak(s, q) > 0 && (isFlag(s, a.lo) || q > i && strings.Contains(s[max(0, a.lo-5):a.lo], ") \"")) {
		return t.lineOf(q, a.kind.likelyLine) // In the next line; Redis numbers names and values.
	}
	if t.inProgram(a, i) {
		return nil
	}
	if out := t.calledAfter(a); len(out) > 0 {
		return out
	}
	if out := t.usedAs(a); len(out) > 0 {
		return out
	}
	r := clauseReader{text: t, a: a, from: i, beside: true, values: clauseValue}
	r.pair = strings.IndexByte("cCzZflLaA", a.telling[0]) >= 0 && hasOnePrefix(strings.ToLower(a.telling), "cred", "zugangsd", "fiants", "login", "account")
	if a.kind == tokenKind && !r.pair {
		r.values = clauseValue.or(clauseValue.others + "/")
	}
	for p, more := i, true; more && p < len(s) && p < i+clauseBytes && r.words < clauseWords; {
		if end := endOf(s, p, shortValue, r.values); end > p {
			more = r.word(p, end)
			p = end
		} else {
			p, more = r.sign(p)
		}
	}
	return r.out
}

// inProgram reports a name that is part of an address, a selector or an element, or that a program
// or a shell has: a call, a verb, camel case, $(pwd).
func (t *text) inProgram(a *assignment, i int) bool {
	s := t.s
	if a.lo > 0 && s[a.lo-1] < utf8.RuneSelf && strings.IndexByte("./\\<>$@{[=", s[a.lo-1]) >= 0 || byteIn(s, i, "(") || t.verb(a) && !byteIn(s, i, " :=\"'`") {
		return true
	}
	name := strings.TrimLeft(a.name, "-"+digits)
	return strings.HasSuffix(s[:a.lo], "$(") || upperLower(name) && isLower == classOf[name[0]] && !endsInOne(strings.ToLower(a.name), "password", "token", "secret", "key")
}

// verb reports a telling word that means much else in a sentence.
func (t *text) verb(a *assignment) bool {
	return oneFold(a.telling, verbs()) && !endsInOne(t.s[:a.lo], "the ", "my ", "la ", "el ", "das ")
}

// clauseReader reads a clause behind a telling word, which ends at from.
type clauseReader struct {
	*text
	a    *assignment
	from int
	// words is how many were read, beside says that nothing parts them from the telling word, pair
	// that a user's name is among them.
	words        int
	last         string // of the words
	beside, pair bool
	values       set
	out          []span
}

// word reads the word from p to end, and reports whether the clause goes on behind it.
func (r *clauseReader) word(p, end int) bool {
	s, a := r.s, r.a
	word := strings.TrimRight(s[p:end], ".,;:!?*_=")
	if r.verb(a) && r.words > 1 {
		return false
	}
	if word == "" { // signs of Markdown, or PASSWORD kibana = x
		return strings.Trim(s[p:end], "*_") == "" || s[p:end] == "=" && !hasLower(a.name)
	}
	c := clause{r.text, a, a.kind, r.isBeside(word, p), r.pair, r.words == 0}
	switch {
	case strings.EqualFold(a.telling, "pin") && only(word, digitBytes) && len(word) > 3 && c.beside:
		r.out = append(r.out, span{lo: p, hi: p + len(word)})
		return false
	case c.secret(s, p, p+len(word)) || len(word) < end-p && s[end-1] != '.' && c.secret(s, p, end):
		r.out = append(r.out, span{lo: p, hi: p + len(strings.TrimRight(s[p:end], ".,;:_*="))})
	case harmlessWords()[strings.ToLower(word)] && word != "type" && word != "date", strings.Contains(word, "&&"), slices.Contains(shellWords(), word) && endsInOne(strings.TrimRight(s[:p], " "), "|", "&"):
		return false // also a shell's next command
	case len(word) < end-p && byteIn(s, end, " ") && s[end-1] != ',' && r.words > 0:
		return false // the end of a sentence
	}
	r.beside = r.beside && byteIn(s, end, " :\"'`*=)") || end < len(s) && s[end] >= utf8.RuneSelf
	r.words++
	r.last = word
	return true
}

// isBeside reports whether little is between the telling word and the one at p, or a sign or a verb right before it.
func (r *clauseReader) isBeside(word string, p int) bool {
	return r.beside && r.words <= besideWords || behindSign(r.s, r.from, p) || r.a.kind == passwordKind && !isHexText(word) && slices.Contains(copulas(), r.last)
}

// sign reads what is between two words, at p, and reports whether the clause goes on behind it.
func (r *clauseReader) sign(p int) (next int, more bool) {
	s, c := r.s, r.s[p]
	switch {
	case c == '"' && r.words > 0 && byteIn(s, p+1, ",:}]"), hasOnePrefix(s[p:], "。", "？", "！", "؟", "।"): // the end of a member, of a sentence
	case lineBreak(s, p) > 0:
		alone := p > r.from && only(s[r.from:p], oneOf("*_ :\"'`=()]>")) && !strings.HasPrefix(s[r.from:], ")\"") || r.listed(r.a)
		if r.words == 0 && alone || s[p-1] == ':' {
			r.out = r.lineOf(p, r.a.kind.likelyLine)
		}
	case c == ' ' || c == '\t' || c >= utf8.RuneSelf || strings.IndexByte("\"'`*():,/\x1b[]>|", c) >= 0:
		return p + max(1, colour(s, p)), true
	}
	return p, false
}

// listed reports whether a name is alone in an item of a list.
func (t *text) listed(a *assignment) bool {
	before := t.s[lineStart(t.s, a.lo, 80):a.lo]
	return strings.Trim(before, " *-+#") == "" && strings.ContainsAny(before, "*-+#")
}

// behindSign reports whether a sign of assignment is right before p.
func behindSign(s string, from, p int) bool {
	head := strings.TrimRight(s[from:p], " \"'`*(„“«「『\u00a0")
	return endsInOne(head, ":", "=", "->", "→", "—", "–", "：", "＝", "は", "为", "為", "是")
}

// clauseValue are the bytes of the words and values of a clause.
var clauseValue = alnumBytes.or("_!@#$%^&*?~+=.-")

// clause is how a value stands to the telling word of its clause.
type clause struct {
	t    *text
	a    *assignment
	kind kind
	// beside says that little is between them, pair that a user's name is, first that nothing is.
	beside, pair, first bool
}

// vendor reports whether a vendor's name is before the telling word, or before i.
func (t *text) vendor(i int) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToLower(t.s[lineStart(t.s, i, 24):i])), func(w string) bool { return slices.Contains(vendors(), strings.TrimRight(w, ":")) })
}

// number judges a hexadecimal number, which may be a checksum.
func (c clause) number(v string, lo int) bool {
	s, a := c.t.s, c.a
	if !c.beside || len(v) < 30 || digitRuns(v) < 4 || len(v) == 40 && !c.first && !behindSign(s, max(0, lo-20), lo) {
		return false
	}
	return c.t.vendor(a.lo) || strings.Count(v, "-") != 4 && (a.promoted || containsOne(strings.ToLower(s[max(0, a.lo-16):min(len(s), a.lo+len(a.name)+24)]), hexWords()...))
}

// vendors are the first words of the rules' names.
var vendors = sync.OnceValue(func() []string {
	out := slices.Clone(wordsOf("vendors"))
	for _, p := range prefixes() {
		name, _, _ := strings.Cut(p[0], "-")
		out = append(out, name)
	}
	return out
})

// secret judges the word from lo to hi of a clause.
func (c clause) secret(s string, lo, hi int) bool {
	v := s[lo:hi]
	quoted := lo > 0 && strings.IndexByte("\"'`*", s[lo-1]) >= 0 && byteIn(s, hi, "\"'`*")
	if len(v) < 6 || !quoted && only(v, lowerBytes) || inCode(s, hi) || isHexText(v) && strings.HasSuffix(s[:lo], "  ") && strings.HasPrefix(s[hi:], "  ") {
		return false // also a checksum between columns
	}
	if lo > 0 && strings.IndexByte("\\$<%{@#/.*", s[lo-1]) >= 0 && !quoted && !(s[lo-1] == '/' && c.pair) {
		return false
	}
	return c.shape(v, lo, quoted) && !isVersion(v) && !strings.Contains(v, "...") && !placeholder(v)
}

// shape judges a word by its characters, as its telling word's kind asks for.
func (c clause) shape(v string, lo int, quoted bool) bool {
	switch {
	case c.kind == passwordKind || c.pair:
		return chosenShape(strings.TrimLeft(v, firstSigns), c.beside) || quoted && c.beside && (strings.Count(v, "-") > 2 && !hasUpper(v) && !namesPassword(v) || len(v) >= 8 && passwordKind.likely(v))
	case c.kind == keyKind:
		return len(v) >= 20 && upperLower(v) && random(v) && digitRuns(v) > 2 && c.beside
	case strings.Trim(v, hexDigits+"-") == "":
		return c.number(v, lo)
	}
	return c.token(v)
}

// inCode reports what is behind a name of a program: a bracket, a path; but not the end of an element.
func inCode(s string, i int) bool { return byteIn(s, i, "([{<\\/@") && !strings.HasPrefix(s[i:], "</") }

// token judges what a machine made.
func (c clause) token(v string) bool {
	return len(v) >= 16 && hasDigit(v) && !strings.Contains(v, ".") && (!wordy(v) && digitRuns(v) > 1 || upperLower(v) && random(v)) && (c.beside || upperLower(v)) || c.beside && c.first && upperLower(v) && chosenShape(v, false)
}

const hexDigits = "0123456789abcdefABCDEF"

// chosenShape reports a password by its characters alone: kinds of them that words do not mix.
// Of a value that is not right beside a telling word more is asked.
func chosenShape(v string, beside bool) bool {
	letters, digits, symbols := count(v)
	switch {
	case looksLikeCode(v, true), letters == 0, !isAlnum(v[0]), strings.HasPrefix(v, "0x"), containsOne(strings.ToLower(v), "passw", "token", "secret", "**"), strings.Count(v, "-") == 4 && isHexText(strings.ReplaceAll(v, "-", "")):
		return false
	case digits == 0:
		return beside && lettersAlone(v, symbols)
	case wordy(v) && containsOne(strings.ToLower(v), technical()...), !hasLower(v) && (wordy(v) || !beside):
		return false
	}
	kinds := 1 + min(symbols, 1)
	if upperLower(v) {
		kinds++
	}
	if beside {
		return len(v) >= 8 && (digits > 1 || !wordy(v) || strings.ContainsAny(v, "!#$%^&*?~+") || kinds > 2)
	}
	return len(v) >= 9 && kinds > 1 && (!wordy(v) || digits > 1 && (kinds > 2 || upperLower(v) && !hasLower(v[:1]) || symbols > 1)) && !isHexText(strings.ReplaceAll(v, "-", ""))
}

// lettersAlone judges a password without digits.
func lettersAlone(v string, symbols int) bool {
	return !looksLikeCode(v, false) && (len(v) >= 9 && gibberish(v) && (upperLower(v) || symbols > 0) || oddCase(v)) || len(v) >= 8 && strings.ContainsAny(v[:len(v)-1], "!#$%^&*?~+")
}

// usedAs reads the value before a name that says what it is: x as the password, x als Passwort.
func (t *text) usedAs(a *assignment) []span {
	s := t.s
	start := lineStart(s, a.lo, 80)
	end := a.lo
	for range 3 {
		end = beforeBlanks(s, end)
		lo := end
		for lo > start && s[lo-1] > ' ' {
			lo--
		}
		if lo == end || lo <= start {
			return nil
		}
		if word := s[lo:end]; slices.Contains(asWords(), word) {
			hi := len(strings.TrimRight(s[:beforeBlanks(s, lo)], "\"'`.,:;*()"))
			from := startOf(s, hi, shortValue, clauseValue)
			if strings.IndexByte("#/", word[0]) >= 0 && !byteIn(s, hi, "\"'`") || from == start && isHexText(s[from:hi]) {
				return nil // a comment behind program text, a commit before its subject
			}
			if rest := strings.Fields(s[a.lo:min(len(s), a.lo+60)]); from < start || word != "into" && word != "in" && len(rest) > 1 && slices.Contains(harmlessEnds(), strings.ToLower(rest[1])) {
				return nil
			}
			if (clause{t: t, a: a, kind: a.kind, beside: word != "is"}).secret(s, from, hi) && !plain(s[from:hi]) || a.kind == passwordKind && chosenShape(s[from:hi], false) && !byteIn(s, max(0, from-1), "/.$<") {
				return []span{{lo: from, hi: hi}}
			}
			return nil
		}
		end = lo
	}
	return nil
}

// calledAfter reads a token that is right before the words that say what it is: x api key.
func (t *text) calledAfter(a *assignment) []span {
	s := t.s
	if a.kind != tokenKind {
		return nil
	}
	hi := beforeBlanks(s, a.lo)
	for range 2 {
		lo := startOf(s, hi, shortValue, clauseValue)
		v := s[lo:hi]
		if len(v) >= 20 && hi < a.lo && !(lo > 0 && strings.IndexByte("/.@:", s[lo-1]) >= 0) && !wordy(v) && (upperLower(v) && random(v) && digitRuns(v) > 2 || isHexText(strings.ReplaceAll(v, "-", "")) && t.vendor(lo)) {
			return []span{{lo: lo, hi: hi}}
		}
		hi = beforeBlanks(s, lo)
	}
	return nil
}

// userPair reads the password behind a user's name and the sign at i: admin / x.
func userPair(t *text, i int) []span {
	s := t.s
	p := endOf(s, i, 12, letterBytes)
	for _, sign := range [...]string{" / ", "/", ":", " and ", " und ", " et ", " y ", " e ", " with ", " mit ", " avec ", " con ", " com ", " "} {
		if !strings.HasPrefix(s[p:], sign) {
			continue
		}
		lo := closingQuotes(s, p+len(sign))
		hi := len(strings.TrimRight(s[:endOf(s, lo, shortValue, clauseValue)], ".,;:*_"))
		line := strings.ToLower(s[lineStart(s, i, 60):i])
		login := containsOne(line, loginWords()...)
		switch {
		case hi <= lo || byteIn(s, hi, "([{<\\/@:~") || p > i && !boundaryBefore(s, startOf(s, i, 12, letterBytes)), sign == " " && !login, p == i && !login, containsOne(line, " -u", "--user"):
		case chosenShape(s[lo:hi], sign == " / " && p > i) && !placeholder(s[lo:hi]) && !isVersion(s[lo:hi]) && (sign == " / " || login || upperLower(s[lo:hi]) && (!wordy(s[lo:hi]) || longNumber(s[lo:hi]))):
			return []span{{lo: lo, hi: hi}}
		}
		return nil
	}
	return nil
}
