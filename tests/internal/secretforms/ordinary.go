package secretforms

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Kind is a kind of ordinary text. Each of its lines is one or more samples.
type Kind struct {
	Name  string
	lines []string
}

// OrdinarySample is a text in which nothing is a secret.
type OrdinarySample struct{ Kind, Text string }

// Ordinary are samples of each kind, times of each of its lines, and of the lines of
// field/ordinary.txt. Every fourth line is held out.
func Ordinary(heldOut bool, times int) []OrdinarySample {
	var out []OrdinarySample
	rng := rand.New(rand.NewPCG(5, 77)) //nolint:gosec // Nothing here is secret.
	kinds := append(slices.Clone(ordinaryKinds), Kind{"mobile and desktop", strings.Split(strings.TrimSpace(ordinary), "\n")})
	for _, kind := range kinds {
		for i, line := range kind.lines {
			for n := range times {
				text := fillOrdinary(rng, line)
				if n%2 == 1 {
					text = Frames[1+rng.IntN(len(Frames)-1)].Put(text)
				}
				if (i%4 == 3) == heldOut {
					out = append(out, OrdinarySample{kind.Name, text})
				}
			}
		}
	}
	return out
}

// fillOrdinary replaces <sha>, <sha7>, <sha256>, <sha512>, <uuid>, <n>, <word>,
// <var>, <path> and <date> by values of the kind.
func fillOrdinary(rng *rand.Rand, line string) string {
	hexes := func(n int) string {
		b := make([]byte, (n+1)/2)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return hex.EncodeToString(b)[:n]
	}
	b64 := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = sets["b64"][rng.IntN(64)]
		}
		return string(b)
	}
	words := strings.Fields("session login account button worker payment cache network config parser index handler storage invoice report signup")
	word := func() string { return words[rng.IntN(len(words))] }
	replacer := strings.NewReplacer(
		"<sha>", hexes(40), "<sha7>", hexes(7), "<sha256>", hexes(64), "<md5>", hexes(32), "<sha512>", b64(86)+"==",
		"<b64-43>", b64(43), "<b64-68>", b64(68),
		"<uuid>", fmt.Sprintf("%s-%s-4%s-a%s-%s", hexes(8), hexes(4), hexes(3), hexes(3), hexes(12)),
		"<n>", fmt.Sprint(1+rng.IntN(9999)), "<m>", fmt.Sprint(10+rng.IntN(89)),
		"<word>", word(), "<Word>", strings.ToUpper(word()[:1])+word()[1:], "<WORD>", strings.ToUpper(word()), "<word2>", word(),
		"<path>", "src/"+word()+"/"+word()+".go", "<date>", fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02dZ", 1+rng.IntN(12), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60)),
	)
	return replacer.Replace(line)
}
