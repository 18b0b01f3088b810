package rawjson

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limit bounds a JSON text. A number that is zero bounds nothing.
type Limit struct {
	// Max bounds the text, Each every string in it that is no name, without its quotes.
	Max, Each int
	// Least is to what strings are cut before anything is left out; if zero, 12.
	Least int
	// Characters reports that the numbers count characters and not bytes.
	Characters bool
}

// ellipsis ends a string that was cut. As a name, in an object or, in the place of an element,
// in one that has nothing else, its value is how many members or elements were left out.
const ellipsis = "…"

// Shorten returns a JSON text within a limit, and how many elements and members it leaves out.
// First the longest strings lose their ends. If that is not enough, lists keep their first
// elements, as many of each as fit, and then objects the first of their members in the order of
// their names. The result is empty only if no value of the kind fits. A text that is not JSON
// becomes a JSON string.
func Shorten(text string, l Limit) (short string, left int) {
	if text == "" {
		return "", 0
	}
	l.Max, l.Each = cmp.Or(l.Max, math.MaxInt), cmp.Or(l.Each, math.MaxInt)
	text = strings.ToValidUTF8(text, "\ufffd")
	var v any = text
	if valid(text) {
		if len(text) <= min(l.Max, l.Each) {
			return text, 0
		}
		v, _ = Parse([]byte(text))
		v = sorted(v)
	}
	most := min(l.Max, len(text))
	keep := min(most, l.Each)
	s := shortener{limit: l, whole: v, keep: keep, elements: most, members: most}
	if s.fits() {
		return string(s.out), 0
	}
	least := min(keep, cmp.Or(l.Least, 12))
	s.keep = least
	if fits, left := s.fits(), s.left; !fits {
		s.elements = 1
		fits = s.fits()
		if s.left > left { // else no list has several elements
			s.raise(&s.elements, 1, most)
			fits = s.fits()
		}
		if !fits {
			s.raise(&s.members, 0, most)
			s.raise(&s.elements, 0, most)
		}
	}
	s.raise(&s.keep, least, keep)
	if !s.fits() {
		s.raise(&s.keep, 0, least)
	}
	if s.fits() {
		return string(s.out), s.left
	}
	if empty := string(s.out[:1]) + string(s.out[len(s.out)-1:]); len(empty) <= l.Max && strings.ContainsAny(empty, "{[") {
		return empty, s.left
	}
	return "", 0
}

// shortener writes a value again, less of it at each attempt.
type shortener struct {
	limit Limit
	whole any
	// keep bounds strings, elements and members how many of them stay.
	keep, elements, members int

	out  []byte
	left int
}

// raise gives a bound, one of s, the greatest value with which the text fits, or else the least.
func (s *shortener) raise(bound *int, least, most int) {
	if *bound = most; s.fits() { // as members and elements mostly do
		return
	}
	*bound = least + sort.Search(most-least, func(n int) bool { *bound = least + n + 1; return !s.fits() })
}

// fits writes the text and reports whether it is within the limit.
func (s *shortener) fits() bool {
	s.out, s.left = s.out[:0], 0
	s.write(s.whole)
	return len(s.out) <= s.limit.Max || s.limit.Characters && utf8.RuneCount(s.out) <= s.limit.Max
}

func (s *shortener) write(v any) {
	n := 0 // how many are left out
	switch v := v.(type) {
	case string:
		s.out = AppendString(s.out, s.limit.cut(v, s.keep))
	case json.Number:
		s.out = append(s.out, v...)
	case []any:
		kept := min(len(v), s.elements)
		s.out = append(s.out, '[')
		for i, e := range v[:kept] {
			s.comma(i)
			s.write(e)
		}
		for _, e := range v[kept:] {
			f := Field{}
			if o, _ := e.(Ordered); len(o) == 1 {
				f = o[0]
			}
			n += weight(f)
		}
		if n > 0 {
			s.comma(kept)
			s.out = append(appendCount(append(s.out, '{'), n), '}')
		}
		s.out = append(s.out, ']')
	case Ordered:
		kept := min(len(v), s.members)
		s.out = append(s.out, '{')
		for i, f := range v[:kept] {
			s.comma(i)
			s.out = append(AppendString(s.out, f.Name), ':')
			s.write(f.Value)
		}
		for _, f := range v[kept:] {
			n += weight(f)
		}
		if n > 0 {
			s.comma(kept)
			s.out = appendCount(s.out, n)
		}
		s.out = append(s.out, '}')
	default:
		s.out = append(s.out, Encode(v)...)
	}
	s.left += n
}

// comma parts the item with a number from the one before it.
func (s *shortener) comma(item int) {
	if item > 0 {
		s.out = append(s.out, ',')
	}
}

// appendCount appends the member that says how many were left out.
func appendCount(to []byte, n int) []byte {
	return strconv.AppendInt(append(to, `"`+ellipsis+`":`...), int64(n), 10)
}

// sorted returns a value with the members of objects in the order of their names, the count of
// those that were left out before as the last.
func sorted(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = sorted(v[i])
		}
	case map[string]any:
		o := make(Ordered, 0, len(v))
		for name, m := range v {
			o = append(o, Field{name, sorted(m)})
		}
		slices.SortFunc(o, func(a, b Field) int {
			switch ellipsis {
			case a.Name:
				return 1
			case b.Name:
				return -1
			}
			return strings.Compare(a.Name, b.Name)
		})
		return o
	}
	return v
}

// weight is 1, or what a count of what was left out before says.
func weight(f Field) int {
	if number, ok := f.Value.(json.Number); ok && f.Name == ellipsis {
		n, _ := number.Int64()
		return int(min(max(1, n), math.MaxInt32))
	}
	return 1
}

// cut returns a text of a length, of which the end is a mark if it lacks a part.
func (l Limit) cut(s string, keep int) string {
	if len(s) <= keep || l.Characters && len(s) <= keep*utf8.UTFMax && utf8.RuneCountInString(s) <= keep {
		return s
	}
	size := func(c rune) int { return utf8.RuneLen(c) }
	if l.Characters {
		size = func(rune) int { return 1 }
	}
	room := keep - size('…')
	for end, c := range s {
		if room < 0 {
			return ""
		}
		room -= size(c)
		if room < 0 {
			return s[:end] + ellipsis
		}
	}
	return s
}
