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

// chance is the share of a rule's secrets that may stay in any case: a random one
// looks like a word now and then.
const chance = 0.01

// mayStay are the rules of which more may, with the share and the reason.
var mayStay = map[string]struct {
	share  float64
	reason string
}{
	"asana-client-id":        {1, digitsAlone},
	"discord-client-id":      {1, digitsAlone},
	"private-key":            {1, "what is made after it has no base64 behind its first line; keys as programs write them are planted"},
	"kubernetes-secret-yaml": {1, "the values have free names; those with a known name or a known form are found"},
	"curl-auth-user":         {0.65, "gitleaks takes the user's name for a part of the secret, and reads on behind the line's end; these stay"},
	"airtable-api-key":       {0.04, oneCase},
	"sumologic-access-id":    {0.20, oneCase},
	"slack-app-token":        {0.03, tooShort},
	"slack-legacy-token":     {0.03, tooShort},
	"finnhub-access-token":   {0.02, oneCase},
	"looker-client-secret":   {0.03, oneCase},
	"confluent-access-token": {0.05, oneCase},
	"dropbox-api-token":      {0.15, oneCase},
	"finicity-client-secret": {0.05, oneCase},
	"linkedin-client-id":     {0.15, oneCase},
	"linkedin-client-secret": {0.15, oneCase},
	"looker-client-id":       {0.25, oneCase},
	"generic-api-key":        {0.10, oneCase},
	"nuget-config-password":  {0.30, oneCase},
	"vault-service-token":    {0.10, oneCase},
	"hashicorp-tf-password":  {0.10, oneCase},
	"sidekiq-secret":         {0.05, oneCase},
}

const (
	digitsAlone = "digits alone, which name an application and are no secret"
	tooShort    = "what is made after it is shorter than any real one now and then"
	oneCase     = "short and by chance all letters of one case, or with hardly a digit: it looks like a word"
)

// gitleaksRows ask others' rules.
var gitleaksRows = []proof.Row{{
	Name:  "secrets made after each rule of gitleaks, in 35 ways to write them down",
	Rule:  "gitleaks finds at most one in a hundred secrets of a rule again; exceptions are listed with their reasons",
	Short: 60_000, Long: 1_000_000,
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
		whole, stayed := 0, 0
		for _, id := range tried {
			stayed += counts[id][1]
			if left[id] == "" {
				whole++
			}
			if l := left[id]; l != "" && float64(counts[id][1]) > 2+max(chance, mayStay[id].share)*float64(counts[id][0]) {
				r.Break("%-35s %v: %s", id, counts[id], strings.ReplaceAll(l, "\n", "⏎"))
			}
		}
		r.Note("%d of gitleaks' %d rules tried, nothing of %d found again; %d secrets stayed", len(tried), len(d.Rules), whole, stayed)
	},
}}
