package redact

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reference finds secrets the slow way: it tries every probe of every rule at every
// place, one stage after the other, and remembers nothing. Probes are in groups of
// 64, since overlapping finds of two groups become one.
type reference struct {
	stages [][]probes
	user   []*rule
}

// probes has, for the byte that a probe may begin with, the probes in order.
type probes [256][]probed

// probed is a rule with one of its probes.
var markers = regexp.MustCompile(`\[REDACTED:[a-z0-9-]+\]`)

type probed struct {
	*rule
	probe string
}

func newReference(user []Rule) *reference {
	ref := &reference{}
	for _, rules := range [][]*rule{slices.Concat(keyRules(), tokenRules(), serviceRules(), prefixRules()), contextRules()} {
		var groups []probes
		n := 0
		for _, r := range rules {
			r.prepare()
			for i, p := range r.probes {
				if !r.loose || i == 0 {
					if n%64 == 0 {
						groups = append(groups, probes{})
					}
					n++
				}
				g := &groups[len(groups)-1]
				for c := range g {
					if probeFits(p, string([]byte{byte(c)})) {
						g[c] = append(g[c], probed{r, p})
					}
				}
			}
		}
		ref.stages = append(ref.stages, groups)
	}
	for _, u := range user {
		ref.user = append(ref.user, userRule(u))
	}
	return ref
}

func (ref *reference) redact(s string, cut bool) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	for range rounds {
		before := s
		for _, groups := range ref.stages {
			s = ref.replace(s, func(seg string, last bool) (found []span) {
				t := &text{s: seg, cut: cut, last: last, memory: new(textMemory)}
				for _, group := range groups {
					found = append(found, ref.scan(t, group)...)
				}
				return merge(found)
			})
		}
		s = ref.replace(s, func(seg string, _ bool) []span { return longKeys(seg, 0) })
		for _, u := range ref.user {
			s = ref.replace(s, func(seg string, last bool) []span { return u.scanAll(seg, cut, last) })
		}
		if s == before {
			break
		}
	}
	return s
}

// replace finds the markers with an expression.
func (*reference) replace(s string, find func(seg string, last bool) []span) string {
	out, done := "", 0
	stretch := func(lo, hi int) {
		for _, sp := range find(s[lo:hi], hi == len(s)) {
			out += s[done:lo+sp.lo] + "[REDACTED:" + sp.rule + "]"
			done = lo + sp.hi
		}
	}
	from := 0
	for _, loc := range markers.FindAllStringIndex(s, -1) {
		if loc[0] > from || from == 0 {
			stretch(from, loc[0])
		}
		from = loc[1]
	}
	stretch(from, len(s))
	return out + s[done:]
}

func (*reference) scan(t *text, group probes) (found []span) {
	taken, free := 0, 0
	for i := 0; i+3 < len(t.s); i++ {
		for _, p := range group[t.s[i]] {
			if taken <= i && i < free || !probeFits(p.probe, t.s[i:i+4]) {
				continue
			}
			spans := p.slowly(t, i, free)
			if len(spans) == 0 {
				continue
			}
			found = append(found, spans...)
			if spans[0].hi > free {
				taken, free = spans[0].lo, spans[0].hi
			}
			break
		}
	}
	return found
}

// slowly is at without the tests that spare the rule's expression.
func (p probed) slowly(t *text, i, done int) []span {
	if p.read == nil {
		p.opening()
	}
	r := *p.rule
	r.opening, r.needs, r.plausible = func() []byteSet { return nil }, "", nil
	return r.at(t, i, done)
}

// probeFits reports whether a text fits a probe as far as the text goes.
func probeFits(probe, s string) bool {
	probe, fold := strings.CutPrefix(probe, "(?i)")
	for n := 0; n < len(s) && probe != ""; n++ {
		class, rest := probe[:1], probe[1:]
		if class == "[" {
			class, rest, _ = strings.Cut(rest, "]")
		}
		if !strings.Contains(class, s[n:n+1]) && !(fold && strings.Contains(strings.ToUpper(class), s[n:n+1])) {
			return false
		}
		probe = rest
	}
	return true
}

// drawnTexts draws texts in which secrets, their beginnings, what looks like
// one, markers, cut marks and ordinary text are side by side, whole or cut.
func drawnTexts(seed uint64) func() string {
	rng := rand.New(rand.NewPCG(seed, 21))
	planted, begins := plant(), beginnings()
	between := []string{"", "", " ", " ", "\n", `\n`, "\t", "=", ": ", `": "`, "'", `"`, ",", "|", "...", "…", "-", "_", "\x1b[31m", "\xff", "[REDACTED:a]", "[REDACTED:", "é", `\u0026`, "\r\n", "@", "://"}
	ordinary := []string{"if err != nil {", "login_0", "password?: string", "github.com/a/b", "the key of the map", "https://h.example/p?q=1", "user", "x7Kq2Lm9", "aB3dE5fG7hJ9kL2m", "0123456789ab", "tokens: 12", "npm test", "MIIEvQIBADANBgkqhkiG9w0BAQ", "sketch-api", "kind: Pod"}
	return func() string {
		var b strings.Builder
		for range 1 + rng.IntN(7) {
			var piece string
			switch rng.IntN(4) {
			case 0:
				piece = planted[rng.IntN(len(planted))].Text()
			case 1:
				piece = begins[rng.IntN(len(begins))]
			default:
				piece = ordinary[rng.IntN(len(ordinary))]
			}
			if rng.IntN(4) == 0 {
				lo := rng.IntN(len(piece) + 1)
				piece = piece[lo:]
			}
			if rng.IntN(4) == 0 {
				piece = piece[:rng.IntN(len(piece)+1)]
			}
			b.WriteString(piece + between[rng.IntN(len(between))])
		}
		return b.String()
	}
}

// TestRedactorEqualsReference compares the redactor with the slow way on drawn texts,
// complete ones and cut ones. HOOKSPAN_REDACT_TEXTS is how many texts; if unset, 4,000.
func TestRedactorEqualsReference(t *testing.T) {
	n := 4000
	if s := os.Getenv("HOOKSPAN_REDACT_TEXTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatalf("HOOKSPAN_REDACT_TEXTS: %v", err)
		}
	}
	user, err := ParseRules(strings.NewReader("ours OUR-[A-Z0-9]{6,}\nlogins login_[0-9]\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, ref, draw, found := New(user), newReference(user), drawnTexts(uint64(n)), 0
	// Secrets alone come first: some rules need the last four bytes of a text.
	texts := []string{"0a1b2c3d4e5f60718293a4b5c6d7e8f9" + "-us1"}
	for _, p := range plant() {
		texts = append(texts, p.Text(), p.Text()[1:])
	}
	for k := range len(texts) + n {
		s := draw()
		if k < len(texts) {
			s = texts[k]
		}
		for _, cut := range []bool{false, true} {
			redact := r.String
			if cut {
				redact = r.Tail
			}
			got, want := redact(s), ref.redact(s, cut)
			if got != want {
				t.Fatalf("cut %v: %q\n got %q\nwant %q", cut, s, got, want)
			}
			// What is known to be clean is not scanned again.
			if again := redact(got); again != ref.redact(got, cut) {
				t.Fatalf("cut %v, second time: %q\n got %q", cut, got, again)
			}
			if got != s {
				found++
			}
		}
	}
	if found < n/4 {
		t.Errorf("%d of %d texts had secrets: the texts test too little", found, 2*n)
	}
}
