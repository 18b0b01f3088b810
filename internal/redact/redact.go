package redact

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// edge is how many bytes behind its own end Preview looks at, so that a secret
// which the preview's end would split is seen whole.
const edge = 8 << 10

// Redactor removes secrets. It may be used by several goroutines at once.
type Redactor struct {
	// stages run one after the other, so that a key of a known form gets the name
	// of its rule even if a telling name is beside it.
	stages []*scanner
	user   []*rule
}

// New returns a Redactor with the built-in rules and the user's.
func New(user []Rule) *Redactor {
	r := &Redactor{stages: []*scanner{newScanner(slices.Concat(keyRules(), tokenRules(), serviceRules(), prefixRules())), newScanner(contextRules())}}
	for _, u := range user {
		r.user = append(r.user, userRule(u))
	}
	return r
}

// String returns s without secrets. s must be complete: the beginning of a key at
// its end, too short to be a key, stays.
func (r *Redactor) String(s string) string { return r.redact(s, false) }

// Tail is String for texts that may have been cut. A beginning of a secret at the
// end of s or before a mark such as "..." is removed too.
func (r *Redactor) Tail(s string) string { return r.redact(s, true) }

// Preview is Tail, cut to at most max characters, of which the last is then "…". If
// max is zero or less, nothing is cut. Only the beginning of a long text is read,
// so the cost does not grow with it.
func (r *Redactor) Preview(s string, max int) string {
	if max <= 0 {
		return r.Tail(s)
	}
	end := runesEnd(s, max)
	window := s
	if len(s) > end+edge {
		end += edge
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		window = s[:end]
	}
	cut := len(window) < len(s)
	// The text may have been cut before: a part of a secret that stays now cannot be
	// found later, when its beginning is gone.
	out := r.redact(window, true)
	keep := runesEnd(out, max-1)
	if !cut && (keep == len(out) || utf8.RuneCountInString(out[keep:]) == 1) {
		return out
	}
	return out[:keep] + "…"
}

// runesEnd is where the first n characters of s end.
func runesEnd(s string, n int) int {
	end := 0
	for ; n > 0 && end < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return end
}

// rounds bounds redact. Two are usual; more than a few need a user's rule that
// matches again beside each marker, such as one anchored at the beginning.
const rounds = 16

// redact repeats until nothing changes, which makes it idempotent.
func (r *Redactor) redact(s string, cut bool) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	for range rounds {
		before := s
		for _, st := range r.stages {
			s = replace(s, cut, st.scan)
		}
		for _, u := range r.user {
			s = replace(s, cut, u.scanAll)
		}
		if s == before {
			break
		}
	}
	return s
}

// span is a secret's place in a text.
type span struct {
	lo, hi int
	rule   string
}

// A scan finds the secrets of one text in ascending order, without overlap. cut
// says that the text may have been cut: beginnings of secrets at its end and before
// cut marks are then found too.
type scan func(seg string, cut, last bool) []span

// replace puts markers in place of what scan finds between the markers that the text
// has already. No scan sees a marker, so none is replaced.
func replace(s string, cut bool, find scan) string {
	var b strings.Builder
	changed := false
	rest := s
	for {
		lo, hi := nextMarker(rest)
		seg := rest[:lo]
		done := 0
		for _, sp := range find(seg, cut, hi == lo) {
			changed = true
			b.WriteString(seg[done:sp.lo])
			b.WriteString(markerHead + sp.rule + "]")
			done = sp.hi
		}
		if !changed && hi == lo {
			return s
		}
		b.WriteString(seg[done:])
		if hi == lo {
			return b.String()
		}
		b.WriteString(rest[lo:hi])
		rest = rest[hi:]
	}
}

const markerHead = "[REDACTED:"

// nextMarker finds the first marker; lo and hi are len(s) if there is none.
func nextMarker(s string) (lo, hi int) {
	from := 0
	for {
		i := strings.Index(s[from:], markerHead)
		if i < 0 {
			return len(s), len(s)
		}
		lo = from + i
		hi = lo + len(markerHead)
		for hi < len(s) && isNameByte(s[hi]) {
			hi++
		}
		if hi < len(s) && s[hi] == ']' && hi > lo+len(markerHead) {
			return lo, hi + 1
		}
		from = lo + len(markerHead)
	}
}

// isNameByte reports a byte that can be in a rule's name.
func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-'
}

// Rule is a user's pattern of secrets. The secret is the whole match or, if there
// are groups, what the first one that takes part matches.
type Rule struct {
	// Name is shown in the marker: lower case letters, digits and hyphens.
	Name string
	// Pattern matches the secret.
	Pattern *regexp.Regexp
}
