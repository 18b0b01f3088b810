package gitleaks

import (
	"math/rand/v2"
	"testing"
)

// TestRulesFindTheirSamples shows that the rules are read and tried as they are
// meant: each finds most of the secrets that were made for it.
func TestRulesFindTheirSamples(t *testing.T) {
	d, err := Rules()
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Rules) != 222 {
		t.Errorf("%d rules, want 222", len(d.Rules))
	}
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // Nothing here is secret.
	for i := range d.Rules {
		r := &d.Rules[i]
		if r.Regex == nil {
			t.Logf("%s looks at paths only", r.ID)
			continue
		}
		found, made := 0, 0
		for range 40 {
			name, secret, whole := r.Sample(rng)
			list := []string{secret}
			if !whole {
				list = Texts(name, secret)
			}
			for _, text := range list {
				made++
				if len(d.FindBy(r, text)) > 0 {
					found++
				}
			}
		}
		if found < made/4 {
			name, secret, whole := r.Sample(rng)
			t.Errorf("%s finds %d of %d samples such as %q %q %v", r.ID, found, made, name, secret, whole)
		}
	}
}

func TestWhatIsNoSecret(t *testing.T) {
	d, err := Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`token = "${TOKEN}"`, `api_key = "aaaaaaaaaaaaaaaaaaaaaaaaa"`, `AWS=AKIAIOSFODNN7EXAMPLE`, "the key to a good life is sleep",
	} {
		if got := d.Find(text); len(got) > 0 {
			t.Errorf("found %v in %q", got, text)
		}
	}
}
