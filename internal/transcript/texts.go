package transcript

import (
	"strings"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// MaxText bounds the texts that one reading keeps, in bytes. Only
// sessions of some hundred megabytes come near it.
const MaxText = 8 << 20

// maxWhole is MaxText for a reading of whole texts.
const maxWhole = 256 << 20

// TextLimit bounds the texts that the reading keeps, in bytes.
func (q *Query) TextLimit() int {
	if q.Whole != nil {
		return maxWhole
	}
	return MaxText
}

const (
	// firstTextCut and lastTextCut bound what a text is cut to.
	firstTextCut = 1 << 20
	lastTextCut  = 128
)

// Texts keeps the texts of a transcript within a bound, so that memory
// does not follow the file. Texts are whole until they add up to the bound;
// then all are cut to one length, the largest power of two that halves the sum.
type Texts struct {
	// Max is the bound in bytes.
	Max int
	// None leaves all texts out.
	None bool

	kept int
	cut  int // 0 while texts are whole
}

// Keep counts a text and returns it, cut to the current length.
func (b *Texts) Keep(s string) string { return b.keep(s, cutText) }

// KeepJSON is Keep for a tool call's input.
func (b *Texts) KeepJSON(s string) string { return b.keep(s, cutJSON) }

func (b *Texts) keep(s string, cut func(string, int) string) string {
	if b.None {
		return ""
	}
	if b.cut > 0 {
		s = cut(s, b.cut)
	}
	b.kept += len(s)
	return s
}

// cutJSON is cutText for JSON, which it leaves.
func cutJSON(s string, n int) string {
	short, _ := rawjson.Shorten(s, rawjson.Limit{Max: n})
	return short
}

// Join is Keep for a further part of a text that is kept. w has the memory in which the text
// grows: that of many parts is not copied for each.
func (b *Texts) Join(w *strings.Builder, text, more string) string {
	if b.None || b.cut > 0 && len(text) >= b.cut {
		return text
	}
	if w.Len() != len(text) { // it was cut meanwhile
		w.Reset()
		_, _ = w.WriteString(text) // never fails, as the next
	}
	_, _ = w.WriteString(more)
	out := w.String()
	if b.cut > 0 {
		out = cutText(out, b.cut)
	}
	b.kept += len(out) - len(text)
	return out
}

// Drop uncounts bytes of texts that are no longer kept.
func (b *Texts) Drop(n int) { b.kept -= n }

// Over reports that Shrink has to be called.
func (b *Texts) Over() bool { return b.kept > b.Max && b.cut != lastTextCut }

// Shrink cuts all texts that a reading has kept. each calls text with every text
// and input with every tool call's input.
func (b *Texts) Shrink(each func(text, input func(*string))) {
	if b.cut == 0 {
		b.cut = 2 * firstTextCut
	}
	for b.kept > b.Max/2 && b.cut > lastTextCut {
		b.cut /= 2
		b.kept = 0
		shorten := func(cut func(string, int) string) func(*string) {
			return func(s *string) {
				*s = cut(*s, b.cut)
				b.kept += len(*s)
			}
		}
		each(shorten(cutText), shorten(cutJSON))
	}
}

// cutText returns at most n bytes of s, whole characters and in their own
// memory.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}
