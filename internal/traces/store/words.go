package store

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/otelmap/step"
)

// ErrText reports a search text without a letter or digit.
var ErrText = errors.New("want at least one letter or digit")

// WordsError reports a search text of so many words that an answer would take long. It is
// an ErrText.
type WordsError int

// MaxWords bounds the words of a search text: more are pasted, not typed.
const MaxWords = 64

// Error names the limit.
func (e WordsError) Error() string {
	return fmt.Sprintf("search text of %d words: want at most %d", int(e), MaxWords)
}

// Is makes the error match ErrText.
func (e WordsError) Is(target error) bool { return target == ErrText }

// maxWord bounds a word in the index, in bytes: only its head is compared.
const maxWord = 64

// unspaced are the scripts that put no spaces between words. Each of their
// characters is a word, and a text in them is found as a phrase.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// eachWord calls f with the words of a text, in lower case and without accents,
// and their place in the text. A word consists of letters and digits. f must not keep it.
func eachWord(text string, f func(word []byte, start, end int) bool) {
	word := make([]byte, 0, maxWord+utf8.UTFMax)
	start := 0
	for i := 0; i <= len(text); {
		// Most texts are ASCII.
		for ; i < len(text); i++ {
			c := text[i]
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			} else if (c < 'a' || 'z' < c) && (c < '0' || '9' < c) {
				break
			}
			if len(word) == 0 {
				start = i
			}
			if len(word) < maxWord {
				word = append(word, c)
			}
		}
		r, size := rune(0), 1
		if i < len(text) {
			if r = rune(text[i]); r >= utf8.RuneSelf {
				r, size = utf8.DecodeRuneInString(text[i:])
			}
		}
		alone := r >= utf8.RuneSelf && unicode.In(r, unspaced...)
		inWord := r >= utf8.RuneSelf && r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
		if (!inWord || alone) && len(word) > 0 {
			if !f(word, start, i) {
				return
			}
			word = word[:0]
		}
		if inWord {
			if len(word) == 0 {
				start = i
			}
			if len(word) < maxWord {
				word = appendFolded(word, r)
			}
			if alone && len(word) > 0 {
				if !f(word, i, i+size) {
					return
				}
				word = word[:0]
			}
		}
		i += size
	}
}

// appendFolded appends a character in lower case, without accents.
func appendFolded(to []byte, r rune) []byte {
	for _, r := range norm.NFKD.String(string(r)) {
		if r = unicode.ToLower(r); unicode.IsLetter(r) || unicode.IsNumber(r) {
			to = utf8.AppendRune(to, r)
		}
	}
	return to
}

// minPrefix is the length of a word from which on it may lack its end: too many
// words begin with fewer letters.
const minPrefix = 4

// phrase is a sequence of words. If prefix is set, the last one is a beginning.
type phrase struct {
	words  []string
	prefix bool
}

// phrases returns what a search text asks for: each word as typed, whose end may
// be missing after four letters, and each text in quotes. Punctuation within a word only separates.
// All of them must be in a span.
func phrases(text string) (out []phrase, err error) {
	quoted, words := false, 0
	for part := range strings.SplitSeq(text, `"`) {
		texts := []string{part}
		if !quoted {
			texts = strings.Fields(part)
		}
		for _, t := range texts {
			var p phrase
			eachWord(t, func(word []byte, _, _ int) bool { p.words = append(p.words, string(word)); return true })
			if n := len(p.words); n > 0 {
				words += n
				p.prefix = !quoted && utf8.RuneCountInString(p.words[n-1]) >= minPrefix
				out = append(out, p)
			}
		}
		quoted = !quoted
	}
	if words > MaxWords {
		return nil, WordsError(words)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("search text %q: %w", text, ErrText)
	}
	return out, nil
}

// place is where a phrase is in a text, in bytes.
type place struct{ start, end int }

// find returns the first place of a phrase in a text.
func (p phrase) find(text string) (found place, ok bool) {
	var recent []string
	var starts []int
	eachWord(text, func(word []byte, start, end int) bool {
		recent, starts = append(recent, string(word)), append(starts, start)
		n := len(p.words)
		if len(recent) < n {
			return true
		}
		recent, starts = recent[len(recent)-n:], starts[len(starts)-n:]
		for i, want := range p.words {
			if recent[i] != want && !(p.prefix && i == n-1 && strings.HasPrefix(recent[i], want)) {
				return true
			}
		}
		found, ok = place{starts[0], end}, true
		return false
	})
	return found, ok
}

// snippetRunes is the length of a snippet.
const snippetRunes = 160

// snippet returns the part of the first text that has the first phrase, on one
// line, or "" if a phrase is in none of the texts.
func snippet(texts []string, want []phrase) string {
	out := ""
	for i, p := range want {
		found := false
		for _, text := range texts {
			at, ok := p.find(text)
			if !ok {
				continue
			}
			found = true
			if i == 0 {
				out = around(text, at)
			}
			break
		}
		if !found {
			return ""
		}
	}
	return out
}

// around returns a place in a text with what is before and after it, on one line.
func around(text string, at place) string {
	from := max(0, at.start-snippetRunes/3)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	before := strings.Join(strings.Fields(text[from:at.start]), " ")
	if from > 0 {
		before = "…" + before
	}
	if at.start > 0 && unicode.IsSpace(rune(text[at.start-1])) && before != "" && before != "…" {
		before += " "
	}
	return before + oneLine(text[at.start:], snippetRunes)
}

// Plain is JSON, or the beginning of it that a result was cut to, as people read it: without
// brackets, quotes and escapes, which would join words. Another text stays as it is.
func Plain(text string) string {
	if strings.HasPrefix(text, `"`) && rawjson.Check([]byte(text)) == nil {
		return rawjson.Unquote([]byte(text))
	}
	inner := strings.TrimLeft(text, "{[ \t\r\n")
	if len(inner) == len(text) || !strings.HasPrefix(inner, `"`) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			begin, escaped := i, false
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i, escaped = i+1, true
				}
			}
			part := text[begin+1 : min(i, len(text))]
			if escaped {
				part = cmp.Or(rawjson.Unquote([]byte(`"`+part+`"`)), part) // The end may be missing.
			}
			out = append(out, part...)
		case ':', ',':
			out = append(out, c, ' ')
		case '{', '}', '[', ']':
			out = append(out, ' ')
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// textParts are what a search looks at.
var textParts = []step.Part{step.PartKind, step.PartTool, step.PartServer, step.PartArguments, step.PartResult, step.PartFailure, step.PartTexts, step.PartEvents, step.PartHooks}

// textsOf returns the texts of a span that a search looks at.
func textsOf(s *tracepb.Span) (out []string) {
	add := func(text string) {
		if text != "" {
			out = append(out, text)
		}
	}
	one := step.Of(s)
	if step.Own(one.Server(), one.Tool()) {
		return nil // it repeats what others found
	}
	// Calls, their results and prompts are texts of the spans that they belong to, and no
	// second time of a request.
	if one.Kind() != step.KindRequest {
		out = append(out, one.Given()...)
	}
	out = append(out, one.Said()...)
	add(Plain(one.Arguments()))
	add(Plain(one.Result()))
	add(s.GetStatus().GetMessage())
	for e := range one.Events() {
		add(e.Text())
		add(e.HookCommand())
		add(e.HookReason())
		if _, message := e.Exception(); message != s.GetStatus().GetMessage() {
			add(message)
		}
	}
	add(s.GetName())
	return out
}
