package secretforms

import (
	_ "embed" // the forms are files
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

//go:embed field/development.txt
var development string

//go:embed field/measured.txt
var measured string

//go:embed field/ordinary.txt
var ordinary string

// Development are forms of the field, seventeen classes by where one meets them, that
// the rules may be written for.
func Development() []Class { return parse(development) }

// Measured are forms of the same classes that were written when the rules were done.
func Measured() []Class { return parse(measured) }

// parse reads classes: each begins with "=== " and its name, its forms are parted by
// lines of "--".
func parse(text string) []Class {
	var out []Class
	for part := range strings.SplitSeq("\n"+strings.TrimSpace(text), "\n=== ") {
		if name, forms, found := strings.Cut(part, "\n"); found && name != "" {
			out = append(out, Class{name, strings.Split(forms, "\n--\n")})
		}
	}
	return out
}

// Drawn are the class's forms without a frame, each as often as given with fresh values.
func (c Class) Drawn(times int) []Sample {
	var out []Sample
	for _, form := range c.forms {
		for n := range times {
			h := fnv.New64a()
			fmt.Fprint(h, form, n)
			v := &values{rng: rand.New(rand.NewPCG(h.Sum64(), 2))} //nolint:gosec // Nothing here is secret.
			text := v.fill(form)
			out = append(out, Sample{Form: form, Frame: "none", Text: text, Secrets: v.secrets})
		}
	}
	return out
}
