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
	scanner *scanner
	user    []*rule
	clean   cleanTexts
}

// New returns a Redactor with the built-in rules and the user's.
func New(user []Rule) *Redactor {
	// A key of a known form gets the name of its rule even if a telling name is
	// beside it.
	r := &Redactor{scanner: newScanner(slices.Concat(keyRules(), tokenRules(), serviceRules(), prefixRules()), contextRules()), clean: newCleanTexts()}
	for _, u := range user {
		r.user = append(r.user, userRule(u))
	}
	return r
}

// String returns s without secrets. s must be complete: the beginning of a key at
// its end, too short to be a key, stays.
func (r *Redactor) String(s string) string {
	out, _ := r.redact(s, false, nil)
	return out
}

// Tail is String for texts that may have been cut. A beginning of a secret at the
// end of s or before a mark such as "..." is removed too.
func (r *Redactor) Tail(s string) string { return r.tail(s, nil) }

func (r *Redactor) tail(s string, m *Memory) string {
	h := r.clean.hash(s)
	if r.clean.has(h) {
		return s
	}
	out, settled := r.redact(s, true, m)
	if settled {
		r.remember(out, s, h)
	}
	return out
}

// remember remembers the clean result of s, whose hash is h.
func (r *Redactor) remember(clean, s string, h textHash) {
	if clean != s {
		h = r.clean.hash(clean)
	}
	r.clean.add(h)
}

// Preview is Tail, cut to at most max characters, of which the last is then "…". If
// max is zero or less, nothing is cut. Only the beginning of a long text is read,
// so the cost does not grow with it.
func (r *Redactor) Preview(s string, max int) string { return r.preview(s, max, nil) }

func (r *Redactor) preview(s string, max int, m *Memory) string {
	if max <= 0 {
		return r.tail(s, m)
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
	h := r.clean.hash(window)
	out, settled := window, false
	if !r.clean.has(h) {
		out, settled = r.redact(window, true, m)
	}
	keep := runesEnd(out, max-1)
	if !cut && keep+runesEnd(out[keep:], 1) == len(out) {
		if settled {
			r.remember(out, window, h)
		}
		return out
	}
	return out[:keep] + "…"
}

// runesEnd is where the first n characters of s end.
func runesEnd(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	end := 0
	for ; n >= 8 && end+8 <= len(s) && isASCII(s[end:end+8]); n -= 8 {
		end += 8
	}
	for ; n > 0 && end < len(s); n-- {
		if s[end] < utf8.RuneSelf {
			end++
			continue
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return end
}

// isASCII reports whether none of eight bytes is part of a longer character.
func isASCII(s string) bool { return (s[0]|s[1]|s[2]|s[3]|s[4]|s[5]|s[6]|s[7])&utf8.RuneSelf == 0 }

// rounds bounds redact. Two are usual; more than a few need a user's rule that
// matches again beside each marker, such as one anchored at the beginning.
const rounds = 16

// redact repeats until nothing changes, which makes it idempotent; settled reports
// that the last round changed nothing. m, if any, remembers what is removed.
func (r *Redactor) redact(s string, cut bool, m *Memory) (out string, settled bool) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	var few [64]place
	read, places := "", few[:0]
	for range rounds {
		before := s
		read, places = r.scanner.replace(read, places, s, cut, m)
		s = read
		if longKeys(s, 0) != nil { // no marker has one
			s = m.replace(s, longKeys)
		}
		for _, u := range r.user {
			s = m.replace(s, func(seg string, at int) []span { return u.scanAll(seg, cut, at+len(seg) == len(s)) })
		}
		if s == before {
			return s, true
		}
		places = nearMarkers(places, s)
	}
	return s, false
}

// span is a secret's place in a text.
type span struct {
	lo, hi int
	rule   string
	// group is that of the rule among its stage's; of spans that begin at one place
	// the lowest group's comes first.
	group int
}

// unless is the span between two places, if it is no other thing.
func unless(other bool, lo, hi int) []span {
	if other {
		return nil
	}
	return []span{{lo: lo, hi: hi}}
}

// replace is Memory.replace without a memory.
func replace(s string, find func(seg string, at int) []span) string {
	return (*Memory)(nil).replace(s, find)
}

// replace puts markers in place of what find returns for the stretches between the
// markers that the text has already: spans in ascending order, without overlap. at
// is where a stretch begins. find sees no marker, so none is replaced.
func (m *Memory) replace(s string, find func(seg string, at int) []span) string {
	var b strings.Builder
	done := 0 // how much of s is written
	for from := 0; ; {
		lo, hi := nextMarker(s, from)
		for _, sp := range find(s[from:lo], from) {
			if done == 0 {
				b.Grow(len(s))
			}
			b.WriteString(s[done : from+sp.lo])
			b.WriteString(markerHead + sp.rule + "]")
			m.note(s[from+sp.lo:from+sp.hi], sp.rule)
			done = from + sp.hi
		}
		if from = hi; lo == len(s) {
			break
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

const markerHead = "[REDACTED:"

// nextMarker finds the first marker from from on; lo and hi are len(s) if there is none.
func nextMarker(s string, from int) (lo, hi int) {
	for {
		i := strings.Index(s[from:], markerHead)
		if i < 0 {
			return len(s), len(s)
		}
		lo, from = from+i, from+i+len(markerHead)
		hi = from
		for hi < len(s) && isNameByte(s[hi]) {
			hi++
		}
		if hi > from && byteIn(s, hi, "]") {
			return lo, hi + 1
		}
	}
}

// isNameByte reports a byte that can be in a rule's name.
func isNameByte(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' }

// Rule is a user's pattern of secrets. The secret is the whole match or, if there
// are groups, what the first one that takes part matches.
type Rule struct {
	// Name is shown in the marker: lower case letters, digits and hyphens.
	Name string
	// Pattern matches the secret.
	Pattern *regexp.Regexp
}
