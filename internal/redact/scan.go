package redact

import (
	"cmp"
	"math/bits"
	"regexp"
	"regexp/syntax"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// rule is a Rule with what makes it quick and careful.
type rule struct {
	name string
	// probes are tests of the four bytes at a possible match: plain bytes or
	// classes such as [pousr]. A leading (?i) ignores case.
	probes []string
	// pattern is the match's expression, without an anchor. needs is a text before the
	// secret of every match; without it an expensive expression is not tried.
	pattern, needs string
	// plausible, if set, reports whether the expression can match a text that begins
	// with a probe of the rule, at a lower cost.
	plausible func(string) bool
	// left and right require that no word continues on that side of the match.
	left, right bool
	// lead is the minimum of bytes before the random part; if zero, four. A
	// beginning of fewer than lead+headMin bytes is not removed.
	lead int
	// reach is how many bytes the expression may need to see; if zero, 256,
	// which keeps regexp on its quicker way.
	reach int
	// back is how many characters of words, dots and ~ before a match belong to the
	// secret too, for keys that are known by something in their middle.
	back int
	// ok decides on a match; nil means yes.
	ok func(match) bool
	// loose says that read decides on its own whether a probe fits, so that the rule's
	// probes, however many, need one bit in a group.
	loose bool
	// read finds secrets at a place by hand, where an expression would be slow
	// or could not; pattern is empty then. The spans are in order.
	read func(t *text, i int) []span

	// opening has the sets of bytes of which the first bytes of every match are, and
	// of every beginning that is long enough to be removed.
	opening func() []byteSet
	re      func() *regexp.Regexp
	head    func() *regexp.Regexp
}

// match is a possible secret, as ok sees it.
type match struct {
	text string
	// at is where the match begins; lo and hi bound the secret.
	at, lo, hi int
	// head reports that the match is a beginning, at a cut.
	head bool
}

func (m match) value() string { return m.text[m.lo:m.hi] }

// digitsBefore is the number of digits right before the match.
func (m match) digitsBefore() int { return m.at - startOf(m.text, m.at, m.at, digitBytes) }

// headMin is how much of a secret's random part may stay at a cut.
const headMin = 5

// prepare defers the work until a text needs it: most rules never match. The
// expressions are there behind the first call of opening.
func (r *rule) prepare() {
	if r.lead == 0 {
		r.lead = 4
	}
	if r.read != nil {
		return
	}
	r.opening = sync.OnceValue(func() []byteSet {
		r.re = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(?:" + r.pattern + ")") })
		r.head = sync.OnceValue(func() *regexp.Regexp { return headPattern("^", r.pattern, "") })
		parsed, err := syntax.Parse(r.pattern, syntax.Perl)
		if err != nil {
			panic(err) // A table has an expression that is wrong.
		}
		sets, _ := opening(parsed)
		return sets[:min(len(sets), r.lead+headMin)]
	})
}

// scanner tries many rules in one pass over a text. A hash of three bytes decides
// whether any probe may begin at a place, so that most places cost one load, then one
// of four bytes. What is left is looked up in four tables of bit sets, in the groups
// that have a probe with this hash; a bit that is in all four is that of a probe that
// fits.
type scanner struct {
	// three has the first three bytes of the probes, four all four of them or, of
	// the probes that have no fourth, three.
	three, four filter
	// groups has a bit for each group with a probe of such three bytes.
	groups [1 << filterBits]uint16
	// made is how many groups there are.
	made int
	// stages run one after the other, each on what the one before it has left.
	stages [][]*group
	// texts are memory for the stretches that are read.
	texts sync.Pool
}

// filterBits is the size of the filter: it must fit into a processor's first cache.
const filterBits = 17

// filter is a set of hashes of bytes, the first of which is the lowest.
type filter [1 << filterBits / 64]uint64

// hashOf has a factor with which program text has few bytes that only look like a probe's.
func hashOf(bytes uint32) uint32 { return bytes * 0x9B104B8D >> (32 - filterBits) }

// bit is 1 if the bytes are in the set, and 0 if not.
func (f *filter) bit(bytes uint32) uint64 {
	bit := hashOf(bytes)
	return f[bit>>6] >> (bit & 63) & 1
}

func (f *filter) add(bytes uint32) {
	bit := hashOf(bytes)
	f[bit>>6] |= 1 << (bit & 63)
}

// maxGroups is how many bits place.groups has.
const maxGroups = 16

type group struct {
	tables [4][256]uint64
	// bit is the group's in groups.
	bit   uint16
	rules []*rule // at most 64
}

func newScanner(stages ...[]*rule) *scanner {
	s := &scanner{texts: sync.Pool{New: func() any { return &text{memory: new(textMemory)} }}}
	every := make([]byte, 256)
	for c := range every {
		every[c] = byte(c)
	}
	anyByte := string(every)
	for _, rules := range stages {
		var groups []*group
		var g *group
		for _, r := range rules {
			r.prepare()
			for _, p := range r.probes {
				if g == nil || len(g.rules) == 64 {
					g = &group{bit: 1 << s.made}
					s.made++
					groups = append(groups, g)
				}
				s.add(g, r, p, anyByte)
			}
		}
		s.stages = append(s.stages, groups)
	}
	return s
}

// add enters a probe of r into the filter and into g. The bytes behind the probe's
// end have the class anyByte.
func (s *scanner) add(g *group, r *rule, probe, anyByte string) {
	probe, fold := strings.CutPrefix(probe, "(?i)")
	classes := [4]string{anyByte, anyByte, anyByte, anyByte}
	for pos := 0; probe != ""; pos++ {
		class, rest := probe[:1], probe[1:]
		if class == "[" {
			class, rest, _ = strings.Cut(rest, "]")
		}
		if fold {
			class += strings.ToUpper(class)
		}
		classes[pos], probe = class, rest
	}
	for _, a := range []byte(classes[0]) {
		for _, b := range []byte(classes[1]) {
			for _, c := range []byte(classes[2]) {
				three := uint32(a) | uint32(b)<<8 | uint32(c)<<16
				s.three.add(three)
				s.groups[hashOf(three)] |= g.bit
				if classes[3] == anyByte {
					s.four.add(three)
					continue
				}
				for _, d := range []byte(classes[3]) {
					s.four.add(three | uint32(d)<<24)
				}
			}
		}
	}
	if n := len(g.rules); n == 0 || !r.loose || g.rules[n-1] != r {
		g.rules = append(g.rules, r)
	}
	bit := uint64(1) << (len(g.rules) - 1)
	for pos, class := range classes {
		for _, c := range []byte(class) {
			g.tables[pos][c] |= bit
		}
	}
}

// replace removes what the stages find, and returns the text and where probes may begin in it. All
// stages, and the next call for what this one returned, share one pass over the text: places are
// those of the text read.
func (s *scanner) replace(read string, places []place, whole string, cut bool, m *Memory) (string, []place) {
	t := s.texts.Get().(*text)
	defer s.texts.Put(t)
	for _, groups := range s.stages {
		if read != whole {
			if len(whole) > 1<<12 && read == "" {
				places = make([]place, 0, len(whole)/24) // spares growing
			}
			read, places = whole, s.places(places[:0], whole)
		}
		if len(places) == 0 {
			break
		}
		var found []span
		whole = m.replace(read, func(seg string, at int) []span {
			from := sort.Search(len(places), func(n int) bool { return int(places[n].at) >= at })
			to := sort.Search(len(places), func(n int) bool { return int(places[n].at) >= at+len(seg)-3 })
			if from >= to {
				return nil
			}
			*t = text{s: seg, cut: cut, last: at+len(seg) == len(read), marks: t.marks[:0], memory: t.memory}
			spans := scan(groups, t, places[from:to], at)
			for _, sp := range spans {
				found = append(found, span{lo: at + sp.lo, hi: at + sp.hi, rule: sp.rule})
			}
			return spans
		})
		if len(found) > 0 {
			places = moved(places, found)
		}
		read = whole
	}
	return whole, places
}

// moved are the places where they are with markers for the spans; those in spans and markers need no
// look.
func moved(places []place, spans []span) []place {
	kept, by := places[:0], 0
	for _, p := range places {
		for len(spans) > 0 && int(p.at) >= spans[0].hi {
			by += len(markerHead) + len(spans[0].rule) + 1 - (spans[0].hi - spans[0].lo)
			spans = spans[1:]
		}
		if len(spans) == 0 || int(p.at) < spans[0].lo {
			p.at = uint32(int(p.at) + by) //nolint:gosec // No text has 4 GiB.
			kept = append(kept, p)
		}
	}
	return kept
}

// farthest is farther than a rule looks from a place where it finds nothing.
const farthest = 64 << 10

// nearMarkers are the places where a marker may change what a rule finds.
func nearMarkers(places []place, s string) []place {
	kept, end := places[:0], -farthest
	lo, hi := nextMarker(s, 0)
	for _, p := range places {
		for int(p.at) >= hi && lo < len(s) {
			end = hi
			lo, hi = nextMarker(s, hi)
		}
		if int(p.at) < end+farthest || lo < len(s) && int(p.at) > lo-farthest {
			kept = append(kept, p)
		}
	}
	return kept
}

// place is where a probe of some groups may begin.
type place struct {
	at     uint32
	groups uint16
}

// places appends where a probe may begin.
func (s *scanner) places(out []place, text string) []place {
	i := 0
	// Eight bytes have the first three of a probe at five places, and its fourth.
	for ; i+8 < len(text); i += 5 {
		t := text[i : i+8]
		eight := uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
			uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
		//nolint:gosec // Of each only the lowest 24 bits count.
		hit := s.three.bit(uint32(eight)&0xFFFFFF) | s.three.bit(uint32(eight>>8)&0xFFFFFF)<<1 | s.three.bit(uint32(eight>>16)&0xFFFFFF)<<2 |
			s.three.bit(uint32(eight>>24)&0xFFFFFF)<<3 | s.three.bit(uint32(eight>>32)&0xFFFFFF)<<4
		for ; hit != 0; hit &= hit - 1 {
			n := bits.TrailingZeros64(hit)
			four := uint32(eight >> (8 * n)) //nolint:gosec // The bits above are the next places'.
			if three := four & 0xFFFFFF; s.four.bit(four)|s.four.bit(three) != 0 {
				out = append(out, place{uint32(i + n), s.groups[hashOf(three)]}) //nolint:gosec // as above
			}
		}
	}
	for ; i+3 < len(text); i++ {
		if three := uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16; s.three.bit(three) != 0 {
			out = append(out, place{uint32(i), s.groups[hashOf(three)]}) //nolint:gosec // as above
		}
	}
	return out
}

// scan finds the secrets at the places of a text that is at an offset. If groups of
// probes find overlapping ones, their union is removed under the name of the first.
func scan(groups []*group, t *text, places []place, offset int) []span {
	var taken, free [maxGroups]int // where each group's last find begins and ends
	var found []span
	s := t.s
	first, every := bits.TrailingZeros16(groups[0].bit), uint16(0)
	for _, g := range groups {
		every |= g.bit
	}
	for _, place := range places {
		for left := place.groups & every; left != 0; left &= left - 1 {
			n := bits.TrailingZeros16(left) - first
			g, i := groups[n], int(place.at)-offset
			hits := g.tables[0][s[i]] & g.tables[1][s[i+1]] & g.tables[2][s[i+2]] & g.tables[3][s[i+3]]
			if hits == 0 || taken[n] <= i && i < free[n] {
				continue
			}
			for ; hits != 0; hits &= hits - 1 {
				if spans := g.rules[bits.TrailingZeros64(hits)].at(t, i, free[n]); len(spans) > 0 {
					for k := range spans {
						spans[k].group = n
					}
					found = append(found, spans...)
					// Behind the first of many spans, others may be between them.
					if spans[0].hi > free[n] {
						taken[n], free[n] = spans[0].lo, spans[0].hi
					}
					break
				}
			}
		}
	}
	return merge(found)
}

// at tries the rule at one place. The secret does not begin before done.
func (r *rule) at(t *text, i, done int) []span {
	if r.left && !boundaryBefore(t.s, i) {
		return nil
	}
	if r.read != nil {
		spans := r.read(t, i)
		for n := range spans {
			spans[n].rule = r.name
		}
		return spans
	}
	sp, ok := r.match(t, i)
	if !ok {
		return nil
	}
	for n := 0; n < r.back && sp.lo > done && inKey(t.s[sp.lo-1]); n++ {
		sp.lo--
	}
	return []span{sp}
}

// match tries the rule's expression.
func (r *rule) match(t *text, i int) (span, bool) {
	seg := t.s
	for n, set := range r.opening() {
		if i+n >= len(seg) || seg[i+n] >= utf8.RuneSelf || !set[seg[i+n]] {
			return span{}, false
		}
	}
	end := min(len(seg), i+max(r.reach, 256))
	if !strings.Contains(seg[i:end], r.needs) || r.plausible != nil && !r.plausible(seg[i:end]) {
		return span{}, false
	}
	lo, hi, open, ok := r.find(r.re(), seg, i, end)
	if !ok || r.right && hi < len(seg) && isWord(seg[hi]) || r.ok != nil && !r.ok(match{text: seg, at: i, lo: lo, hi: hi}) {
		return r.matchHead(t, i, end)
	}
	if open {
		hi = follow(seg, hi)
	}
	return span{lo: lo, hi: hi, rule: r.name}, true
}

// matchHead tries the expression of the beginnings. The search is the most expensive part: a
// beginning must reach the text's end or a cut mark.
func (r *rule) matchHead(t *text, i, end int) (span, bool) {
	seg := t.s
	if !t.cut || end+longestMark < len(seg) && t.nextMark(i, end+longestMark) < 0 || r.head() == nil {
		return span{}, false
	}
	lo, hi, open, ok := r.find(r.head(), seg, i, end)
	if mark := t.nextMark(lo, hi); ok && mark > lo {
		hi, open = mark, false // A password may hold any sign, a mark's too.
	}
	random := max(lo, i+r.lead)
	if !ok || open || hi-random < headMin || fewLower(seg[random:hi]) || !t.isCutAt(hi) ||
		r.ok != nil && !r.ok(match{text: seg, at: i, lo: lo, hi: hi, head: true}) {
		return span{}, false
	}
	return span{lo: lo, hi: hi, rule: r.name}, true
}

// fewLower reports a few lower case letters, which are a word far more often than
// the beginning of a key.
func fewLower(v string) bool { return len(v) < 8 && only(v, lowerBytes) }

// find matches an anchored expression at i. It looks at the text up to end, which
// bounds the cost of texts full of false beginnings; open reports that the match
// reaches that end, so that the secret may be longer.
func (r *rule) find(re *regexp.Regexp, seg string, i, end int) (lo, hi int, open, ok bool) {
	loc := re.FindStringSubmatchIndex(seg[i:end])
	if loc == nil {
		return 0, 0, false, false
	}
	lo, hi = secretIn(loc)
	return i + lo, i + hi, i+hi == end && end < len(seg), hi > lo
}

// follow is the end of a long secret, where its characters end.
func follow(seg string, i int) int {
	for i < len(seg) {
		n := 0
		if seg[i] == '\\' {
			n = escapedSign(seg, i)
		} else if isWord(seg[i]) || strings.IndexByte("+/=.-%~!@#$^&*?:", seg[i]) >= 0 {
			n = 1
		}
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// secretIn is the place of the first group that takes part, or of the whole match
// of an expression without groups. It is empty if no group takes part.
func secretIn(loc []int) (lo, hi int) {
	if len(loc) == 2 {
		return loc[0], loc[1]
	}
	for g := 2; g+1 < len(loc); g += 2 {
		if loc[g] >= 0 {
			return loc[g], loc[g+1]
		}
	}
	return 0, 0
}

// merge orders the spans by their place; overlapping ones become one.
func merge(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Or(a.lo-b.lo, a.group-b.group) })
	out := spans[:0]
	for _, sp := range spans {
		if n := len(out); n > 0 && sp.lo < out[n-1].hi {
			out[n-1].hi = max(out[n-1].hi, sp.hi)
		} else {
			out = append(out, sp)
		}
	}
	return out
}
