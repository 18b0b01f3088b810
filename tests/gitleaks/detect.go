package gitleaks

import (
	"math"
	"regexp"
	"strings"
)

// Detector finds secrets as gitleaks does.
type Detector struct {
	Rules []Rule

	allow []allowlist
}

// Finding is what a rule takes for a secret.
type Finding struct {
	Rule, Secret string
}

// Find tries every rule.
func (d *Detector) Find(text string) []Finding {
	var out []Finding
	low := strings.ToLower(text)
	for i := range d.Rules {
		out = append(out, d.find(&d.Rules[i], text, low)...)
	}
	return out
}

// FindBy tries one rule.
func (d *Detector) FindBy(r *Rule, text string) []Finding {
	return d.find(r, text, strings.ToLower(text))
}

func (d *Detector) find(r *Rule, text, low string) []Finding {
	if r.Regex == nil || !hasAny(low, r.Keywords) {
		return nil
	}
	var out []Finding
	for _, at := range r.Regex.FindAllStringIndex(text, -1) {
		found := strings.Trim(text[at[0]:at[1]], "\n")
		secret := found
		if groups := r.Regex.FindStringSubmatch(found); len(groups) > 1 {
			if r.Group > 0 {
				secret = groups[r.Group]
			} else {
				for _, g := range groups[1:] {
					if g != "" {
						secret = g
						break
					}
				}
			}
		}
		if r.Entropy != 0 && entropy(secret) <= r.Entropy {
			continue
		}
		begin := strings.LastIndexByte(text[:at[0]], '\n') + 1
		line := text[begin:]
		if end := strings.IndexByte(text[at[1]:], '\n'); end >= 0 {
			line = text[begin : at[1]+end]
		}
		if !allowed(d.allow, secret, found, line) && !allowed(r.allow, secret, found, line) {
			out = append(out, Finding{r.ID, secret})
		}
	}
	return out
}

func hasAny(low string, words []string) bool {
	for _, w := range words {
		if strings.Contains(low, w) {
			return true
		}
	}
	return len(words) == 0
}

func allowed(lists []allowlist, secret, found, line string) bool {
	for _, l := range lists {
		if l.ofPaths {
			continue
		}
		target := secret
		switch l.target {
		case "match":
			target = found
		case "line":
			target = line
		}
		if matchAny(l.regexes, target) || len(l.stopwords) > 0 && hasAny(strings.ToLower(secret), l.stopwords) {
			return true
		}
	}
	return false
}

func matchAny(list []*regexp.Regexp, s string) bool {
	for _, re := range list {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

// entropy is Shannon's, in bits for each character.
func entropy(s string) float64 {
	n := map[rune]int{}
	for _, c := range s {
		n[c]++
	}
	sum := 0.0
	for _, k := range n {
		p := float64(k) / float64(len(s))
		sum -= p * math.Log2(p)
	}
	return sum
}
