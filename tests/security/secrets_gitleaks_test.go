package security_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/tests/gitleaks"
	"github.com/hookspan/hookspan/tests/internal/plantedkeys"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// notCovered are gitleaks' rules whose secrets may stay, with the reason.
var notCovered = map[string]string{}

// gitleaksRows ask others' rules.
var gitleaksRows = []proof.Row{{
	Name:  "secrets made after each rule of gitleaks, in 30 ways to write them down",
	Rule:  "gitleaks finds nothing in what is left",
	Short: 10_000, Long: 500_000,
	Run: func(t *testing.T, r *proof.Result) {
		d, err := gitleaks.Rules()
		if err != nil {
			t.Fatal(err)
		}
		clean := redact.New(nil)
		rng := rand.New(rand.NewPCG(3, 5)) //nolint:gosec // Nothing here is secret.
		var tried []string
		left := map[string]string{}
		counts := map[string][2]int{}
		for n := 0; n < r.N; {
			for i := range d.Rules {
				rule := &d.Rules[i]
				if rule.Regex == nil {
					continue
				}
				name, secret, whole := rule.Sample(rng)
				list := []string{secret}
				if !whole {
					list = gitleaks.Texts(name, secret)
				}
				for _, text := range list {
					if len(d.FindBy(rule, text)) == 0 {
						continue // By chance it looks like none.
					}
					if !slices.Contains(tried, rule.ID) {
						tried = append(tried, rule.ID)
					}
					n++
					r.Trial(1)
					out := clean.String(text)
					c := counts[rule.ID]
					c[0]++
					for _, f := range d.Find(out) {
						k := plantedkeys.Key{Random: secret}
						if k.Leak(f.Secret) != "" {
							left[rule.ID] = fmt.Sprintf("%s in %q of %q", f.Rule, out, text)
							c[1]++
							break
						}
					}
					counts[rule.ID] = c
				}
			}
		}
		for _, id := range tried {
			if l := left[id]; l != "" && notCovered[id] == "" {
				r.Break("%-35s %v: %s", id, counts[id], strings.ReplaceAll(l, "\n", "⏎"))
			}
		}
		r.Note("%d of %d rules covered", len(tried)-len(left), len(d.Rules))
	},
}}
