package jsonedit

import (
	"bytes"
	"cmp"
	"slices"
)

// inline is the style for an element among others on one line.
func (st Style) inline() Style {
	st.Newline, st.Indent = "", ""
	return st
}

// AddMember appends a member to the object c.
func (st Style) AddMember(text []byte, c *Node, f Field) []byte { return st.AddElement(text, c, f) }

// AddElement appends an element to the array c, laid out as those before it. In
// an empty container it replaces the white space. Comments stay where they are.
func (st Style) AddElement(text []byte, c *Node, v any) []byte {
	if n := len(c.Items); n > 0 {
		end := c.Items[n-1].End()
		indent, ok := c.ownLine(text, n-1)
		if !ok {
			return Splice(text, end, end, st.Comma+st.inline().Render(v, ""))
		}
		at := lineComments(text, end)
		return slices.Concat(text[:end], []byte(","), text[end:at], []byte(st.Newline+indent+st.Render(v, indent)), text[at:])
	}
	inside := commentsIn(text, c.Start+1, c.End-1)
	at := c.Start + 1
	if len(inside) > 0 {
		last := inside[len(inside)-1]
		at = last.end
		if st.Newline == "" && bytes.HasPrefix(text[last.start:], []byte("//")) {
			st.Newline = "\n"
		}
	}
	if st.Newline == "" {
		return Splice(text, at, c.End-1, st.Render(v, ""))
	}
	outer := lineIndent(text, c.Start)
	indent := outer + st.Indent
	return Splice(text, at, c.End-1, st.Newline+indent+st.Render(v, indent)+st.Newline+outer)
}

// lineComments is the end of the comments that follow a place on its line.
func lineComments(text []byte, at int) int {
	for _, c := range commentsIn(text, at, len(text)) {
		if len(bytes.Trim(text[at:c.start], " \t")) > 0 {
			break
		}
		at = c.end
		if bytes.IndexByte(text[c.start:c.end], '\n') >= 0 {
			break
		}
	}
	return at
}

// Put writes a value in n's place. It stays on one line if that did. Comments
// inside n come before the new value.
func (st Style) Put(text []byte, n *Node, v any) []byte {
	indent := lineIndent(text, n.Start)
	var before string
	for _, c := range commentsIn(text, n.Start, n.End) {
		before += string(text[c.start:c.end]) + cmp.Or(st.Newline, "\n") + indent
	}
	if !bytes.Contains(n.Raw(text), []byte("\n")) {
		st = st.inline()
	}
	return Splice(text, n.Start, n.End, before+st.Render(v, indent))
}

// Cut takes the element with the index i out of the object or array c. Its comments,
// and those beside it, stay.
func Cut(text []byte, c *Node, i int) []byte {
	gone := make([]bool, len(c.Items))
	gone[i] = true
	return CutAll(text, map[*Node][]bool{c: gone})
}

// CutAll takes many elements out at once: of each object or array those that are
// true. They may be inside one another.
func CutAll(text []byte, gone map[*Node][]bool) []byte {
	out, _ := CutGaps(text, gone)
	return out
}

// Gap is a part that was cut out of a text: At is where it was in the text without
// it.
type Gap struct {
	At   int    `json:"at"`
	Text string `json:"text"`
}

// CutGaps is CutAll that also returns what it has cut, in the order of the text.
func CutGaps(text []byte, gone map[*Node][]bool) (out []byte, gaps []Gap) {
	var spans []span
	for c, items := range gone {
		first := slices.Index(items, false)
		switch {
		case first < 0:
			spans = append(spans, span{c.Start + 1, c.End - 1})
			continue
		case first > 0:
			spans = append(spans, span{c.Items[0].Start, c.Items[first].Start})
		}
		for i := first + 1; i < len(items); i++ {
			if items[i] {
				spans = append(spans, span{c.Items[i-1].End(), c.Items[i].End()})
			}
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	out = make([]byte, 0, len(text))
	at, done := 0, 0
	for _, whole := range spans {
		if whole.start < done {
			continue
		}
		done = whole.end
		for _, s := range whole.withoutComments(text) {
			out = append(out, text[at:s.start]...)
			gaps = append(gaps, Gap{At: len(out), Text: string(text[s.start:s.end])})
			at = s.end
		}
	}
	return append(out, text[at:]...), gaps
}

// span is a part of a text.
type span struct{ start, end int }

// withoutComments are the parts of a span that is cut out. Comments stay, with the
// white space before them, and with the end of their line where it is needed.
func (s span) withoutComments(text []byte) (out []span) {
	at, line := s.start, false
	for _, c := range append(commentsIn(text, s.start, s.end), span{s.end, s.end}) {
		cut := span{at, c.start}
		if blank := len(bytes.TrimRight(text[at:c.start], whiteSpace)); c.start < s.end || line && blank == 0 {
			cut.end = at + blank
		}
		if next := bytes.TrimLeft(text[cut.end:], " \t\r"); line && !bytes.HasPrefix(next, []byte("\n")) {
			for cut.start < cut.end && (text[cut.start] == '\r' || text[cut.start] == '\n') {
				cut.start++
			}
		}
		if cut.start < cut.end {
			out = append(out, cut)
		}
		at, line = c.end, bytes.HasPrefix(text[c.start:], []byte("//"))
	}
	return out
}

// Fill puts back what CutGaps has cut. It reports false for gaps of another text.
func Fill(text []byte, gaps []Gap) ([]byte, bool) {
	var out []byte
	at := 0
	for _, g := range gaps {
		if g.At < at || g.At > len(text) {
			return nil, false
		}
		out = append(append(out, text[at:g.At]...), g.Text...)
		at = g.At
	}
	return append(out, text[at:]...), true
}

// Splice returns the text with a part of it replaced; text itself stays.
func Splice(text []byte, start, end int, with string) []byte {
	return slices.Concat(text[:start], []byte(with), text[end:])
}
