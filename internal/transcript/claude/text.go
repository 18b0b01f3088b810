package claude

import (
	"strings"
	"unicode/utf8"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// maxText bounds the texts that one reading keeps, in bytes. Only
// sessions of some hundred megabytes come near it.
const maxText = 8 << 20

const (
	// firstTextCut and lastTextCut bound what a text is cut to.
	firstTextCut = 1 << 20
	lastTextCut  = 128
)

// textBudget keeps the texts of a transcript within a bound, so that memory
// does not follow the file. Texts are whole until they add up to the bound;
// then all are cut to one length, the largest power of two that halves the sum.
type textBudget struct {
	max  int
	kept int
	cut  int // 0 while texts are whole
	// none leaves all texts out.
	none bool
}

// keep counts a text and returns it, cut to the current length.
func (b *textBudget) keep(s string) string {
	if b.none {
		return ""
	}
	if b.cut > 0 {
		s = cutText(s, b.cut)
	}
	b.kept += len(s)
	return s
}

// keepJSON is keep for a tool call's input.
func (b *textBudget) keepJSON(s string) string {
	if b.none {
		return ""
	}
	if b.cut > 0 {
		s = cutJSON(s, b.cut)
	}
	b.kept += len(s)
	return s
}

// over reports that shrink has to be called.
func (b *textBudget) over() bool { return b.kept > b.max && b.cut != lastTextCut }

// shrink cuts all texts that a reading has kept.
func (b *textBudget) shrink(calls []*response, results []hook.ToolResult, prompts []hook.Prompt, ends []hook.TurnEnd) {
	if b.cut == 0 {
		b.cut = 2 * firstTextCut
	}
	for b.kept > b.max/2 && b.cut > lastTextCut {
		b.cut /= 2
		b.kept = 0
		cut := func(s *string) {
			*s = cutText(*s, b.cut)
			b.kept += len(*s)
		}
		for i := range calls {
			cut(&calls[i].Text)
		}
		for i := range results {
			cut(&results[i].Text)
			results[i].Input = cutJSON(results[i].Input, b.cut)
			b.kept += len(results[i].Input)
		}
		for i := range prompts {
			cut(&prompts[i].Text)
		}
		for i := range ends {
			cut(&ends[i].Result)
		}
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

// cutJSON cuts the strings inside an object until it is at most n bytes long,
// so that it stays JSON. What is longer for another reason becomes empty.
func cutJSON(s string, n int) string {
	if len(s) <= n {
		return s
	}
	v, ok := rawjson.Parse([]byte(s))
	if !ok {
		return cutText(s, n)
	}
	for each := n / 2; each >= 16; each /= 4 {
		v = cutStrings(v, each)
		if short := rawjson.Encode(v); len(short) <= n {
			return short
		}
	}
	return ""
}

// cutStrings cuts every string within a decoded value.
func cutStrings(v any, n int) any {
	switch v := v.(type) {
	case string:
		return cutText(v, n)
	case []any:
		for i := range v {
			v[i] = cutStrings(v[i], n)
		}
	case map[string]any:
		for key := range v {
			v[key] = cutStrings(v[key], n)
		}
	}
	return v
}
