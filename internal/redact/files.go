package redact

import "strings"

// kubernetesSecret reads the values of a Secret, whose kind is at i: those of
// the members data and stringData before and behind it, whatever their names are.
func kubernetesSecret(t *text, i int) []span {
	s := t.s
	p := blanks(s, closingQuotes(s, i+len("kind")))
	if p >= len(s) || s[p] != ':' {
		return nil
	}
	p = closingQuotes(s, blanks(s, p+1))
	if !strings.HasPrefix(s[p:], "Secret") || p+6 < len(s) && isWord(s[p+6]) {
		return nil
	}
	const most = 16 << 10
	// To the document's other kind, or its end.
	before := s[max(0, i-most):i]
	for _, end := range [...]string{"kind", "---\n"} {
		if at := strings.LastIndex(before, end); at >= 0 {
			before = before[at:]
		}
	}
	after := s[p:min(len(s), p+most)]
	if at := strings.Index(after, "kind"); at >= 0 {
		after = after[:at]
	}
	out := t.dataIn(i-len(before), i)
	return append(out, t.dataIn(p, p+len(after))...)
}

// dataIn reads the members of data and stringData between two places.
func (t *text) dataIn(from, to int) []span {
	s := t.s
	var out []span
	for _, name := range [...]string{"data", "stringData"} {
		for at := from; at < to; at += len(name) {
			n := strings.Index(s[at:to], name)
			if n < 0 {
				break
			}
			at += n
			quotes := closingQuotes(s, at+len(name))
			p := blanks(s, quotes)
			switch {
			case at > 0 && isWord(s[at-1]) && !boundaryBefore(s, at), p >= to, s[p] != ':':
			case quotes > at+len(name):
				out = append(out, t.jsonMembers(p+1, to)...)
			default:
				out = append(out, t.yamlMembers(at, p+1, to)...)
			}
		}
	}
	return out
}

// jsonMembers reads the texts of the object behind i.
func (t *text) jsonMembers(i, to int) []span {
	s := t.s
	var out []span
	i = blanks(s, i)
	if i >= to || s[i] != '{' {
		return nil
	}
	value := false
	for ; i < to && s[i] != '}'; i++ {
		switch lo := i + 1; {
		case s[i] == ':':
			value = true
		case s[i] == '"' && value:
			i = find(s, lo, to, `"\`)
			out = append(out, t.datum(lo, i)...)
			value = false
		case s[i] == '"':
			i = find(s, lo, to, `"`)
		}
	}
	return out
}

// yamlMembers reads the lines that are indented more than the name at.
func (t *text) yamlMembers(at, i, to int) []span {
	s := t.s
	var out []span
	start := lineStart(s, at, 400)
	for n := 0; n < 200; n++ {
		i = lineEnd(s, i, keyLine)
		if i = nextLine(s, i); i < 0 || i >= to {
			break
		}
		q := below(s, start, at, i)
		if q < 0 || q-i <= at-start {
			break
		}
		end := lineEnd(s, q, keyLine)
		colon := strings.Index(s[q:end], ": ")
		if colon < 0 {
			// A block's line.
			if out != nil || strings.HasSuffix(strings.TrimRight(s[q:end], "$\"'^M,"), ":") {
				out = append(out, t.datum(q, wordEnd(s, q, end, "\"'\\$"))...)
			}
			continue
		}
		lo := closingQuotes(s, blanks(s, q+colon+1))
		out = append(out, t.datum(lo, wordEnd(s, lo, end, "\"'\\$"))...)
	}
	return out
}

// datum is a value of a Secret, unless it is short or says that it is public.
func (t *text) datum(lo, hi int) []span {
	if hi-lo < 6 || strings.HasPrefix(t.s[lo:], "LS0tLS1CRUdJTiBDRVJU") || placeholder(t.s[lo:hi]) || strings.HasSuffix(t.s[lo:hi], ":") {
		return nil
	}
	return []span{{lo: lo, hi: hi}}
}

// pgpass reads a line of .pgpass, host:port:database:user:password, of which the
// port is at i.
func pgpass(t *text, i int) []span {
	s := t.s
	p := i + 2
	if s[i+1] != '*' {
		if p = endOf(s, i+1, 6, digitBytes); p-i < 5 || p-i > 6 || !byteIn(s, p, ":") {
			return nil
		}
	}
	start := startOf(s, i, 100, wordBytes.or(".-*"))
	if start == i || s[start] == '-' && start+1 == i {
		return nil
	}
	named := false
	for range 2 { // database and user
		if !byteIn(s, p, ":") {
			return nil
		}
		field := p + 1
		p = endOf(s, field, 64, wordBytes.or("-*."))
		if p == field {
			return nil
		}
		named = named || p-field > 4 || !isHexText(strings.ToLower(s[field:p]))
	}
	if !named || !byteIn(s, p, ":") {
		return nil // groups of an IPv6 address
	}
	lo := p + 1
	hi := wordEnd(s, lo, min(len(s), lo+128), ":\"'\\")
	v := s[lo:hi]
	if byteIn(s, hi, ":") || !(t.isCutAt(hi) && len(v) >= headMin) && (!literalValue(v) || len(v) < 8) {
		return nil
	}
	return []span{{lo: lo, hi: hi}}
}

// column reads a table of which a telling name, ending at i, heads a column.
func (t *text) column(a *assignment, i int) []span {
	s := t.s
	if !besideSeparator(s, a.lo, i) {
		return nil
	}
	start := lineStart(s, a.lo, longestHeader)
	end := lineEnd(s, i, longestHeader)
	sep := separator(s[start:end], a.lo-start, i-start)
	if sep == "" {
		return nil
	}
	line := s[start:end]
	nth, cells := strings.Count(line[:a.lo-start], sep), strings.Count(line, sep)
	// The cell is the name alone.
	head, _ := cell(line, sep, nth)
	head = strings.TrimLeft(head, " \t\"'\\-+>#*")
	tail := head[max(0, strings.Index(head, a.telling)):]
	tail = strings.ToLower(strings.TrimSpace(tail[:endOf(tail, 0, len(tail), wordBytes.or("- "))]))
	if tail != strings.ToLower(a.telling) && !strings.HasSuffix(tail, " key") {
		return nil
	}
	var out []span
	ruled := false
	for n := 0; n < 20; n++ {
		next := nextLine(s, end)
		if next < 0 {
			break
		}
		end = lineEnd(s, next, 600)
		row := s[next:end]
		if only(row, oneOf(" \t\"'+,")) {
			continue // the rest of a literal
		}
		if strings.Count(row, "--") >= 2 && only(row[strings.Index(row, "--"):], oneOf("-+|: \t$\r\"',^M\\")) || containsOne(row, "───", "====") {
			ruled = true
			continue
		}
		if strings.Count(row, sep) != cells || sep != "," && sep != ";" && sep != "\t" && !ruled && sep != "│" {
			break
		}
		text, at := cell(row, sep, nth)
		v := strings.TrimLeft(text, " \t\"")
		lo := next + at + len(text) - len(v)
		v = strings.TrimRight(v, " \t\"\r$^M',\\|│")
		v = v[:find(v, 0, len(v), " \t\\\"\x1b")]
		if len(v) >= 8 && (!wordy(v) || a.kind == passwordKind && (ruled && literalValue(v) || a.kind.likely(v))) && !placeholder(v) && hasDigit(v) {
			out = append(out, span{lo: lo, hi: lo + len(v)})
		}
	}
	return out
}

// longestHeader is how much of a header's line is read on either side of a name.
const longestHeader = 400

// besideSeparator reports whether a name from lo to hi can be the cell of a header,
// which spares most names the reading of their line: behind the name is a separator or
// what a frame puts at a line's end, or before it is a separator, which no blank
// follows if it is a comma.
func besideSeparator(s string, lo, hi int) bool {
	right := s[endOf(s, hi, longestHeader, oneOf(" \"")):min(len(s), hi+longestHeader)]
	if byteIn(right, 0, ",;") && len(right) > 1 && isAlnum(right[1]) {
		return true
	}
	if end := right[endOf(right, 0, len(right), oneOf(" $M\"'n,+")):]; end == "" || strings.IndexByte("|│\t\\^\x1b\r\n", end[0]) >= 0 {
		return true
	}
	before := s[max(0, lo-longestHeader):lo]
	left := before[:startOf(before, len(before), len(before), oneOf(" \""))]
	return strings.HasSuffix(left, "|") || strings.HasSuffix(left, "│") ||
		endsInOne(left, ",", ";") && !strings.HasPrefix(before[len(left):], " ")
}

// separator is what parts the cells of a header's line, of which one is from lo
// to hi, or nothing.
func separator(line string, lo, hi int) string {
	for _, sep := range [...]string{"|", "│", "\t", `\t`, "^I", ",", ";"} {
		if !strings.Contains(line, sep) {
			continue
		}
		left := strings.TrimRight(line[:lo], " \"")
		right := strings.TrimLeft(line[hi:], " \"")
		switch {
		case sep == "|" || sep == "│":
			if frameEnd(right) || strings.HasPrefix(right, sep) || strings.HasSuffix(left, sep) && right != "" && colour(right, 0) > 0 {
				return sep
			}
		case sep == "," || sep == ";":
			first := len(right) > 1 && right[:1] == sep && isAlnum(right[1]) && !strings.Contains(left, sep)
			if (first || strings.HasSuffix(left, sep)) && namesAlone(line, lo, hi) {
				return sep
			}
		case (strings.HasPrefix(right, sep) || strings.HasSuffix(left, sep) && frameEnd(right) && !only(left, digitBytes.or(" \t-+>#*/:|"))) && frameEnd(strings.TrimLeft(right, alphanumeric+"_- \t\\^")):
			return sep
		}
	}
	return ""
}

// namesAlone reports whether a line with commas is a header, and no list of
// arguments: names with no blanks between them.
func namesAlone(line string, lo, hi int) bool {
	return !strings.Contains(line, ", ") && !strings.Contains(line[hi:], "\",") && !strings.Contains(line[:lo], "(") &&
		frameEnd(strings.TrimLeft(line[hi:], alphanumeric+"_-,; \""))
}

// frameEnd reports whether nothing is left of a line but what a frame puts there.
func frameEnd(s string) bool {
	for s != "" {
		if n := colour(s, 0); n > 0 {
			s = s[n:]
			continue
		}
		if strings.IndexByte(" $^M\"'\\n,+", s[0]) < 0 {
			return false
		}
		s = s[1:]
	}
	return true
}

// cell is the nth cell of a row, which has so many, and where it begins.
func cell(row, sep string, nth int) (text string, at int) {
	for range nth {
		at += strings.Index(row[at:], sep) + len(sep)
	}
	text, _, _ = strings.Cut(row[at:], sep)
	return text, at
}

// alignedColumn reads a table of which a name that ends at i heads a column, and blanks part
// the columns: the words below that begin or end where the name, or the line below it, does.
func (t *text) alignedColumn(a *assignment, i int) []span {
	s := t.s
	if a.kind == keyKind || a.lo > 0 && !byteIn(s, a.lo-1, " \t\n") || i < len(s) && lineBreak(s, i) == 0 && !strings.HasPrefix(s[i:], "  ") && !byteIn(s, i, " ") {
		return nil
	}
	if !strings.HasSuffix(s[:a.lo], "  ") && !strings.HasPrefix(s[i:], "  ") && !containsOne(s[i:min(len(s), i+2*longestHeader)], "--", "==") {
		return nil // neither blanks nor a line below part columns
	}
	start, end := lineStart(s, a.lo, longestHeader), lineEnd(s, i, longestHeader)
	before, behind := s[start:a.lo], s[i:end]
	next := nextLine(s, end)
	if next < 0 || strings.TrimLeft(behind, " ") != "" && behind[0] != ' ' {
		return nil
	}
	lo, hi := a.lo-start, i-start
	row := s[next:lineEnd(s, next, 600)]
	ruled := len(row) > lo && strings.IndexByte("-=", row[lo]) >= 0 && only(row, oneOf("-=+| "))
	if ruled {
		lo, hi = startOf(row, lo, lo, oneOf("-=")), endOf(row, lo, len(row), oneOf("-="))
	} else if !strings.HasSuffix(before, "  ") && !strings.HasPrefix(behind, "  ") || len(strings.Fields(s[start:end])) < 2 {
		return nil
	}
	var out []span
	names := strings.Fields(s[start:end])
	nth := len(strings.Fields(before))
	for range 20 {
		row = s[next:lineEnd(s, next, 600)]
		from := min(lo, len(row))
		if ruled {
			from = endOf(row, from, hi-lo, oneOf(" "))
		} else {
			// The columns may not be aligned, and a number may be before the cells.
			cells := strings.Fields(row)
			more := len(cells) - len(names)
			if more < 0 || more > 1 || more == 1 && !only(cells[0], digitBytes) {
				break
			}
			from = strings.Index(row, cells[nth+more])
		}
		v := row[from:wordEnd(row, from, len(row), "|\"'\\")]
		if (from == 0 || row[from-1] == ' ') && len(v) >= 8 && (a.kind.likely(v) || ruled && literalValue(v) && !isVersion(v)) {
			out = append(out, span{lo: next + from, hi: next + from + len(v)})
		}
		if next = nextLine(s, next+len(row)); next < 0 {
			break
		}
	}
	return out
}
