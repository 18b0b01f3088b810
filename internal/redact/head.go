package redact

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// headPattern derives from an expression the one that matches every beginning of
// its matches, the longest first. It returns nil if that is too big for the regexp
// package, which happens to users' expressions only.
func headPattern(before, pattern, after string) *regexp.Regexp {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	re, err := regexp.Compile(before + "(?:" + heads(parsed) + ")" + after)
	if err != nil {
		return nil
	}
	re.Longest()
	return re
}

// byteSet is a set of ASCII bytes.
type byteSet [utf8.RuneSelf]bool

// longestOpening is how many repetitions of an expression opening looks at.
const longestOpening = 16

// opening returns sets of ASCII bytes of which the first bytes of every match of re
// are. whole reports that the matches have no bytes behind these.
func opening(re *syntax.Regexp) (sets []byteSet, whole bool) {
	switch {
	case re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase == 0:
		for _, r := range re.Rune {
			if r >= utf8.RuneSelf {
				return sets, false
			}
			var set byteSet
			set[byte(r)] = true //nolint:gosec // It is ASCII.
			sets = append(sets, set)
		}
		return sets, true
	case re.Op == syntax.OpCharClass && len(re.Rune) > 0 && re.Rune[len(re.Rune)-1] < utf8.RuneSelf:
		sets = make([]byteSet, 1)
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				sets[0][c] = true
			}
		}
		return sets, true
	case re.Op == syntax.OpCapture:
		return opening(re.Sub[0])
	case re.Op == syntax.OpPlus:
		sets, _ = opening(re.Sub[0])
		return sets, false
	case re.Op == syntax.OpRepeat && re.Min > 0:
		part, all := opening(re.Sub[0])
		if !all {
			return part, false
		}
		return slices.Repeat(part, min(re.Min, longestOpening)), re.Min == re.Max && re.Min <= longestOpening
	case re.Op == syntax.OpConcat:
		whole = true
		for n := 0; n < len(re.Sub) && whole; n++ {
			var part []byteSet
			part, whole = opening(re.Sub[n])
			sets = append(sets, part...)
		}
		return sets, whole
	case re.Op == syntax.OpAlternate:
		return openingOfAny(re.Sub)
	}
	return nil, false
}

// openingOfAny is opening for expressions of which one matches.
func openingOfAny(subs []*syntax.Regexp) (sets []byteSet, whole bool) {
	sets, whole = opening(subs[0])
	for _, sub := range subs[1:] {
		part, all := opening(sub)
		whole = whole && all && len(part) == len(sets)
		sets = sets[:min(len(sets), len(part))]
		for n := range sets {
			for c, in := range part[n] {
				sets[n][c] = sets[n][c] || in
			}
		}
	}
	return sets, whole
}

// heads writes the expression of all beginnings of re's matches. A group stays
// a group, so that the secret's place is known in a beginning too.
func heads(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		open, end := "", ""
		for _, r := range re.Rune {
			one := syntax.Regexp{Op: syntax.OpLiteral, Flags: re.Flags, Rune: []rune{r}}
			open += "(?:" + one.String()
			end += ")?"
		}
		return open + end
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "(?:" + source(re) + ")?"
	case syntax.OpCapture:
		return "(" + heads(re.Sub[0]) + ")"
	case syntax.OpQuest:
		return heads(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus:
		return repeated(re.Sub[0], -1)
	case syntax.OpRepeat:
		return repeated(re.Sub[0], re.Max)
	case syntax.OpConcat:
		out := heads(re.Sub[len(re.Sub)-1])
		for i := len(re.Sub) - 2; i >= 0; i-- {
			out = fmt.Sprintf("(?:(?:%s)%s|%s)", source(re.Sub[i]), out, heads(re.Sub[i]))
		}
		return out
	case syntax.OpAlternate:
		alts := make([]string, len(re.Sub))
		for i, sub := range re.Sub {
			alts[i] = heads(sub)
		}
		return "(?:" + strings.Join(alts, "|") + ")"
	default:
		// Anchors and word boundaries match no text, and the text behind a cut is
		// not known.
		return ""
	}
}

// repeated is the beginnings of up to most repetitions; -1 means any number.
func repeated(sub *syntax.Regexp, most int) string {
	single := sub.Op == syntax.OpCharClass || sub.Op == syntax.OpAnyChar || sub.Op == syntax.OpAnyCharNotNL ||
		sub.Op == syntax.OpLiteral && len(sub.Rune) == 1
	last := ""
	if !single {
		last = heads(sub)
		if most > 0 {
			most--
		}
	}
	if most < 0 {
		return fmt.Sprintf("(?:%s)*%s", source(sub), last)
	}
	return fmt.Sprintf("(?:%s){0,%d}%s", source(sub), most, last)
}

// source is re.String() at a lower cost: for a negated class such as [^x] that
// computes the letter case of each character of Unicode, and does so again for
// every expression around it.
func source(re *syntax.Regexp) string {
	var b strings.Builder
	switch re.Op {
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return re.String() // Matches nothing.
		}
		b.WriteByte('[')
		for i := 0; i < len(re.Rune); i += 2 {
			fmt.Fprintf(&b, `\x{%x}-\x{%x}`, re.Rune[i], re.Rune[i+1])
		}
		b.WriteByte(']')
	case syntax.OpCapture:
		b.WriteString("(" + source(re.Sub[0]) + ")")
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		b.WriteString("(?:" + source(re.Sub[0]) + ")" + times(re))
		if re.Flags&syntax.NonGreedy != 0 {
			b.WriteByte('?')
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			b.WriteString(source(sub))
		}
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			b.WriteString([]string{"(?:", "|"}[min(i, 1)] + source(sub))
		}
		b.WriteByte(')')
	default:
		return re.String()
	}
	return b.String()
}

func times(re *syntax.Regexp) string {
	switch {
	case re.Op != syntax.OpRepeat:
		return map[syntax.Op]string{syntax.OpStar: "*", syntax.OpPlus: "+", syntax.OpQuest: "?"}[re.Op]
	case re.Max < 0:
		return fmt.Sprintf("{%d,}", re.Min)
	}
	return fmt.Sprintf("{%d,%d}", re.Min, re.Max)
}
