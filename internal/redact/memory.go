package redact

import (
	"slices"
	"strings"
	"sync"
)

// Memory is a Redactor that remembers what it removed from the texts of a session, so that
// a value which was beside a telling name once is removed where it comes again without
// one. It is kept in memory alone. It may be used by several goroutines at once.
type Memory struct {
	r  *Redactor
	mu sync.Mutex
	// at is the offset of the event whose texts are cleaned, found where each value was.
	at    int64
	found map[string]*remembered
}

type remembered struct {
	rule string
	at   []int64
}

// Value is a value that was removed, and the name of the rule that removed it.
type Value struct{ Text, Rule string }

// mostRemembered is how many values of a task count, longestRemembered how long one may be.
const mostRemembered, longestRemembered = 100, 512

// Memory returns an empty memory of what r removes.
func (r *Redactor) Memory() *Memory { return &Memory{r: r, found: map[string]*remembered{}} }

// At says that the texts cleaned from now on are of the event at an offset.
func (m *Memory) At(offset int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = offset
}

// Clean is Redactor.Preview.
func (m *Memory) Clean(s string, max int) string { return m.r.preview(s, max, m) }

// note remembers a value that was removed.
func (m *Memory) note(v, rule string) {
	if m == nil || !recognizable(v, rule) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.found[v]
	if at == nil {
		at = &remembered{rule: strings.Clone(rule)}
		m.found[strings.Clone(v)] = at
	}
	if n := len(at.at); n == 0 || at.at[n-1] != m.at {
		at.at = append(at.at, m.at)
	}
}

// recognizable reports a value that is not met by chance: of three kinds of characters, random,
// or from where the syntax leaves no doubt.
func recognizable(v, rule string) bool {
	if len(v) < 8 || len(v) > longestRemembered || strings.ContainsAny(v, " \t\r\n\\\"'`<>{}") || looksLikeCode(v, true) || isVersion(v) {
		return false
	}
	letters, digits, symbols := count(v)
	kinds := min(digits, 1) + min(symbols, 1)
	if hasUpper(v) {
		kinds++
	}
	if hasLower(v) {
		kinds++
	}
	return len(v) >= 10 && kinds >= 3 && letters > 0 || random(v) || slices.Contains(certainRules(), rule) && digits > 0 && letters > 0
}

// Values returns what was removed from the texts of the events whose offsets belong to a task,
// the longest first, and at most a hundred.
func (m *Memory) Values(belongs func(offset int64) bool) []Value {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Value
	for text, at := range m.found {
		if slices.ContainsFunc(at.at, belongs) {
			out = append(out, Value{text, at.rule})
		}
	}
	slices.SortFunc(out, func(a, b Value) int {
		if n := len(b.Text) - len(a.Text); n != 0 {
			return n
		}
		return strings.Compare(a.Text, b.Text)
	})
	return out[:min(len(out), mostRemembered)]
}

// Again returns s with a marker in place of each value that is a word by itself.
func Again(s string, values []Value) string {
	for _, v := range values {
		if !strings.Contains(s, v.Text) {
			continue
		}
		s = replace(s, func(seg string, _ int) (out []span) {
			for lo := range occurrences(seg, v.Text) {
				out = append(out, span{lo: lo, hi: lo + len(v.Text), rule: v.Rule})
			}
			return out
		})
	}
	return s
}

// Names reports whether a value is in s as a part of a path, a host, an address or a longer
// name: it is none of a secret's places, and the value no secret there.
func (v Value) Names(s string) bool {
	for lo := range occurrences(s, v.Text) {
		hi := lo + len(v.Text)
		if lo > 0 && strings.IndexByte("/.@#$-\\", s[lo-1]) >= 0 && !strings.HasSuffix(s[:lo], `\n`) || byteIn(s, hi, "/@(-") || byteIn(s, hi, ".") && hi+1 < len(s) && isAlnum(s[hi+1]) {
			return true
		}
	}
	return false
}

// occurrences are the places of a value in s where a word begins and ends.
func occurrences(s, v string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for from := 0; ; {
			i := strings.Index(s[from:], v)
			if i < 0 {
				return
			}
			lo := from + i
			from = lo + len(v)
			if boundaryBefore(s, lo) && (from == len(s) || !isWord(s[from])) && !yield(lo) {
				return
			}
		}
	}
}
