package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// longestHeader is how much of a header's line is read, longestRow of a row's; tableRows is how
// many rows are.
const (
	longestHeader, longestRow = 400, 900
	tableRows                 = 40
)

// bars part the cells of tables that are drawn.
var bars = []string{"|", "│", "┆", "┃", "║", "¦", "┬", "┌", "┐"}

// column reads the column that a name, which ends at i, heads: of a table whose cells bars, tabs,
// commas or blanks part.
func (t *text) column(a *assignment, i int) []span {
	s := t.s
	if !headsColumn(s, a.lo, i) {
		return nil
	}
	start, end := lineStart(s, a.lo, longestHeader), lineEnd(s, i, longestHeader)
	line := s[start:end]
	if nextLine(s, end) < 0 || strings.ContainsAny(line, "={}<>[]") {
		return nil
	}
	for _, sep := range [...]byte{'|', '&', '!', '\t', ',', ';', ':', '2', '1'} {
		if (sep > '2' && sep < '|' || sep < '1') && strings.IndexByte(line, sep) < 0 && (sep != '\t' || !strings.ContainsAny(line, `\^`)) {
			continue
		}
		head := cells(t.memory.head[:0], s, start, end, sep)
		t.memory.head = head
		nth := slices.IndexFunc(head, func(c span) bool { return c.lo <= a.lo && a.lo < c.hi })
		if nth < 0 || !t.isHeader(a, head, nth, sep) {
			continue
		}
		if out := t.rows(a, head, nth, end, sep); len(out) > 0 {
			return out
		}
	}
	return nil
}

// headsColumn spares most names the reading of their line: before and behind the name is what
// parts cells, or the line's end.
func headsColumn(s string, lo, hi int) bool {
	name := hi
	hi = endOf(s, hi, 40, alnumBytes.or("\"'*`$_- "))
	if hi < len(s) && !strings.Contains(s[name:hi], "  ") && lineBreak(s, hi) == 0 && strings.IndexByte("|\t\\^,;:&!,", s[hi]) < 0 && s[hi] < utf8.RuneSelf && s[hi-1] != ' ' {
		return false
	}
	lo = startOf(s, startOf(s, lo, 40, alnumBytes.or("\"'*`_- ")), longestHeader, oneOf(" "))
	return lo == 0 || strings.IndexByte("|\t\nI,;:&!+>#", s[lo-1]) >= 0 || s[lo-1] >= utf8.RuneSelf || byteIn(s, lo, "nrt") && s[lo-1] == '\\'
}

// isHeader reports whether the cells are names, of which the nth tells of secrets.
func (t *text) isHeader(a *assignment, head []span, nth int, sep byte) bool {
	s := t.s
	if len(head) < 2 && (sep != '|' && sep != '2' || a.kind == keyKind) {
		return false
	}
	name := strings.Trim(s[head[nth].lo:head[nth].hi], " \"'*`:#─")
	program := strings.Contains("12:", string(sep)) && upperLower(a.name) && (hasLower(a.name[:1]) || hasUpper(a.name[1:]))
	if name == "" || program || strings.ContainsAny(name, ":,;|&/\\()") || !namesAlone(s, head, sep) {
		return false // also part of a line, a name in a program
	}
	name = strings.ToLower(name)
	first, _, _ := strings.Cut(name, " ")
	return len(name) <= 40 && !harmlessWords()[name[strings.LastIndexAny(name, " _-")+1:]] && !slices.Contains(otherTokens(), first)
}

// namesAlone reports whether cells can be names, and enough of them.
func namesAlone(s string, head []span, sep byte) bool {
	named := 0
	for _, c := range head {
		if c.hi > c.lo {
			named++
		}
		v := strings.Trim(s[c.lo:c.hi], " \"'*`$^M\\,")
		if len(v) > 60 || strings.ContainsAny(v, "=;{}[]<>") || sep == '1' && strings.ContainsAny(v, ":/.,") || strings.Contains(v, "(") && sep != '|' && sep != '2' {
			return false
		}
		if (sep == ',' || sep == ':') && byteIn(s, c.lo, " ") && c.lo > 0 && s[c.lo-1] == sep {
			return false // a list in a sentence
		}
	}
	if sep == '1' && byteIn(s, head[0].lo, "#") {
		return false // #define
	}
	return named > 1 || strings.Contains("|2", string(sep))
}

// rowReader reads the nth cells of the rows behind a header.
type rowReader struct {
	*text
	head []span
	nth  int
	sep  byte
	// lo and hi are where in its line the header's cell is, ruled says that a line parts it from the
	// rows, pending has the cells of a row that is in many lines.
	lo, hi  int
	ruled   bool
	pending []span
}

// rows reads the nth cells of the rows behind the header's line, which ends at end.
func (t *text) rows(a *assignment, head []span, nth, end int, sep byte) (out []span) {
	s, start := t.s, lineStart(t.s, head[nth].lo, longestHeader)
	r := rowReader{text: t, head: head, nth: nth, sep: sep, lo: head[nth].lo - start, hi: head[nth].hi - start}
	if sep == '!' {
		r.sep = '|' // of a wiki, whose rows have bars
	}
	odd := 0
	for range tableRows {
		next := nextLine(s, end)
		if next < 0 {
			break
		}
		end = lineEnd(s, next, longestRow)
		row := s[next:end]
		if isRule(row) {
			r.rule(row)
			continue
		}
		if strings.Trim(row, " \t\r\"'+$^M,\\") == "" {
			if odd++; odd > 1 {
				break
			}
			continue
		}
		c, ok := r.cell(next, end)
		if !ok {
			if odd++; odd > 2 || len(out) > 0 {
				break
			}
			continue
		}
		if !r.ruled && len(head) == 1 {
			break // a line alone is no header
		}
		if v := t.cellValue(a, c, r.ruled || r.sep != '1' && r.sep != ':'); v.hi > v.lo {
			out = append(out, v)
		}
	}
	return out
}

// rule reads a line that parts the rows. It may say how wide the column is.
func (r *rowReader) rule(row string) {
	r.ruled = true
	if r.sep == '2' && r.lo < len(row) && byteIn(row, r.lo, "-=─") {
		r.lo, r.hi = startOf(row, r.lo, r.lo, oneOf("-=")), endOf(row, r.lo, len(row), oneOf("-="))
	}
}

// cell is the cell of the row between two places.
func (r *rowReader) cell(next, end int) (span, bool) {
	var buf [16]span
	got := cells(buf[:0], r.s, next, end, r.sep)
	switch more := len(got) - len(r.head); {
	case more == 0:
		return got[r.nth], true
	case more == 1 && only(r.s[got[0].lo:got[0].hi], digitBytes.or(" ")):
		return got[r.nth+1], true
	case more < 0 && r.sep == '|' && len(r.pending)+len(got) <= len(r.head): // cells in lines
		if r.pending = append(r.pending, got...); len(r.pending) < len(r.head) {
			return span{}, true
		}
		c := r.pending[r.nth]
		r.pending = nil
		return c, true
	case r.sep == '2' && (r.ruled || len(r.head) > 1):
		return under(r.s, next, r.s[next:end], r.lo, r.hi)
	}
	return span{}, false
}

// isRule reports a line that only parts the rows of a table.
func isRule(row string) bool {
	marks := 0
	for _, r := range row {
		switch {
		case r == '-' || r == '=' || r >= '─' && r <= '╿':
			marks++
		case strings.ContainsRune("+|: \t$\r\"',^M\\#>", r):
		default:
			return false
		}
	}
	return marks > 1 || strings.TrimSpace(row) == "|-" || strings.HasPrefix(row, "|=")
}

// under is the word of a row that is below the columns from lo to hi.
func under(s string, start int, row string, lo, hi int) (span, bool) {
	if lo >= len(row) {
		return span{}, false
	}
	var from int
	for lo > 0 && !utf8.RuneStart(row[lo]) {
		lo--
	}
	if row[lo] == ' ' {
		from = endOf(row, lo, hi-lo, oneOf(" "))
	} else {
		from = startOf(row, lo, lo, alnumBytes.or("_!@#$%^&*?~+=.-/"))
	}
	to := wordEnd(row, from, len(row), "|\"'\\")
	return span{lo: start + from, hi: start + to}, to > from
}

// cellValue is the value in a cell.
func (t *text) cellValue(a *assignment, c span, certain bool) span {
	s := t.s
	lo, hi := c.lo, c.hi
	for n := 1; n > 0 && lo < hi; lo += n {
		if n = colour(s, lo); n == 0 && byteIn(s, lo, " \"'`*") {
			n = 1
		} else if n == 0 && s[lo] == '<' && strings.IndexByte(s[lo:hi], '>') > 0 {
			n = strings.IndexByte(s[lo:hi], '>') + 1
		}
	}
	v := s[lo:max(lo, hi)]
	v = v[:find(v, 0, len(v), " \t\\\"\x1b<`")]
	if v = strings.TrimRight(v, ",;|*'"); len(v) < 6 || strings.Contains(strings.TrimRight(s[lo+len(v):hi], "\"' `*\\$^M,|"), " ") && !byteIn(s, lo+len(v), "\\\x1b<") {
		return span{}
	}
	if !a.inCell(v, certain) {
		return span{}
	}
	return span{lo: lo, hi: lo + len(v)}
}

// inCell judges the word in a cell below a name.
func (a *assignment) inCell(v string, certain bool) bool {
	if a.kind != passwordKind && len(v) < leastLikely || looksLikeCode(v, true) || placeholder(v) || isVersion(v) || strings.Contains(v, "/") && (wordy(v) || !random(v)) || strings.ContainsAny(v, "(){}") || strings.HasPrefix(v, "--") {
		return false
	}
	if a.kind == passwordKind {
		return chosenShape(v, false) || certain && (certainShape(v) || literalValue(v) && (!wordy(v) || len(v) >= 10 && upperLower(v) && hasDigit(v)))
	}
	return a.kind.likely(v) || len(v) >= 16 && chosenShape(v, false)
}

// cells are the places of what is between the separators of a line: bars and the like, or two
// blanks and more, or any; without the empty ones beside a frame. They are appended to out.
func cells(out []span, s string, start, end int, sep byte) []span {
	quoted, framed, begins := false, strings.IndexByte("|!12", sep) >= 0, &separators[sep&0x7f]
	lo := start
	for p := start; p <= end; {
		n := 0
		switch {
		case p == end:
			n = 1
		case s[p] == '"' && (sep == ',' || sep == ';'):
			quoted = !quoted
		case !quoted && begins[s[p]]:
			n = separator(s[p:end], sep)
		}
		if n == 0 {
			p++
			continue
		}
		c := span{lo: endOf(s[:p], lo, p, oneOf(" ")), hi: p}
		if c.hi = startOf(s, p, p-lo, oneOf(" ")); sep == ',' || sep == ':' || sep == ';' || c.lo > c.hi {
			c.lo = lo
		}
		c.hi = max(c.lo, c.hi)
		if c.hi > c.lo || !framed {
			out = append(out, c)
		}
		p += n
		lo = p
	}
	return out
}

// separators has, for each kind of separator, the bytes that may begin it.
var separators = func() (of [128][256]bool) {
	for _, sep := range "|&!\t,;:21" {
		for _, c := range []byte(map[rune]string{'\t': "\t\\^", '2': " \t\xc2\xe2|", '1': " \t\xc2\xe2", '|': "|\xc2\xe2"}[sep] + string(sep)) {
			of[sep][c] = true
		}
	}
	return of
}()

// separator is the length of the separator at the beginning of s, or 0.
func separator(s string, sep byte) int {
	switch sep {
	case '\t':
		for _, tab := range [...]string{"\t", `\t`, "^I"} {
			if strings.HasPrefix(s, tab) {
				return len(tab)
			}
		}
	case '1', '2':
		n := 0
		for n < len(s) && (s[n] == ' ' || s[n] == '\t' || s[n] >= utf8.RuneSelf && barAt(s[n:]) > 0) {
			n += max(1, barAt(s[n:]))
		}
		if n > 1 || sep == '1' {
			return n
		}
	case '|':
		return barAt(s)
	default:
		if s[0] == sep {
			return 1
		}
	}
	return 0
}

func barAt(s string) int {
	if s[0] == '|' {
		return 1
	}
	for _, bar := range bars {
		if s[0] >= utf8.RuneSelf && strings.HasPrefix(s, bar) {
			return len(bar)
		}
	}
	return 0
}

// inLists reads the lists behind a list of names, of which one ends at i: ["user", "password"],
// (name, password) VALUES.
func (t *text) inLists(a *assignment, i int) []span {
	s := t.s
	end := closingQuotes(s, i)
	if !byteIn(s, end, ",)]") {
		return nil
	}
	from := max(0, a.lo-longestHeader)
	open := from + strings.LastIndexAny(s[from:a.lo], "([")
	if open < from || s[open] == '[' && end == i {
		return nil
	}
	end = find(s, end, min(len(s), end+longestHeader), ")]")
	if strings.ContainsAny(s[open+1:end], "=:;{}(") || s[open] == '(' && !strings.Contains(strings.ToUpper(s[end:min(len(s), end+20)]), "VALUES") {
		return nil
	}
	var out []span
	nth, last := strings.Count(s[open:a.lo], ","), len(s)
	if before := s[max(0, open-longestHeader):open]; strings.HasSuffix(before, "columns=") { // pandas has the rows first
		if at := strings.IndexAny(before, "[("); at >= 0 {
			end, last = open-len(before)+at, open
		}
	}
	for range 20 {
		p := find(s, end, min(len(s), end+40), s[open:open+1])
		if p = endOf(s, p, 3, oneOf("([")); p == end || p > last || !byteIn(s, p-1, s[open:open+1]) {
			break
		}
		for cell := 0; ; cell++ {
			v := t.valueAt(endOf(s, p, 8, oneOf(" \t\r\n")))
			end = blanks(s, closingQuotes(s, v.to))
			if cell == nth && v.quoted && (v.closed || v.head) && t.cellValue(a, span{lo: v.from, hi: v.to}, true).hi > 0 {
				out = append(out, span{lo: v.from, hi: v.to})
			}
			if !byteIn(s, end, ",") || cell > nth {
				break
			}
			p = end + 1
		}
		end = find(s, end, min(len(s), end+longestHeader), ")]")
	}
	return out
}

// htmlColumn reads the column of a table of HTML of which a name, ending at i, is in a header.
func (t *text) htmlColumn(a *assignment, i int) (out []span) {
	s := t.s
	if !byteIn(s, i, "<") || !hasOnePrefix(s[i:], "</th", "</td") {
		return nil
	}
	from := max(0, a.lo-longestHeader)
	row := max(0, strings.LastIndex(s[from:a.lo], "<tr"))
	rows := strings.Split(s[i:min(len(s), i+4*longestHeader)], "<tr")
	nth := strings.Count(s[from+row:a.lo], "<th") + strings.Count(s[from+row:a.lo], "<td")
	at := i + len(rows[0])
	for _, row := range rows[1:] {
		at += len("<tr")
		parts := strings.Split(row, "<td")
		if nth < len(parts) && nth > 0 {
			lo := at + len(strings.Join(parts[:nth], "<td")) + len("<td")
			lo = find(s, lo, at+len(row), ">") + 1
			if hi := find(s, min(lo, len(s)), len(s), "<"); hi > lo {
				if v := t.cellValue(a, span{lo: lo, hi: hi}, true); v.hi > 0 {
					out = append(out, v)
				}
			}
		}
		at += len(row)
	}
	return out
}

// endOfTags is where the tags at i end.
func endOfTags(s string, i int) int {
	for n := 0; n < 6 && byteIn(s, i, "<"); n++ {
		end := strings.IndexByte(s[i:min(len(s), i+120)], '>')
		if end < 0 {
			break
		}
		if at := strings.Index(s[i:i+end], "value="); at > 0 {
			return closingQuotes(s, i+at+len("value=")) // a field of a form
		}
		i = endOf(s, i+end+1, 20, oneOf(" \t\r\n:"))
	}
	return i
}
