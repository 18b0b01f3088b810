package gitleaks

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

//go:embed gitleaks.toml
var file string

// Rule is one of gitleaks' rules.
type Rule struct {
	ID string
	// Regex is nil of a rule that looks at paths only.
	Regex *regexp.Regexp
	// Entropy, in bits for each character, is what a secret must have more of.
	Entropy  float64
	Keywords []string
	// Group is the group that holds the secret; if zero, the first one that is
	// not empty, or the whole match.
	Group int

	allow []allowlist
}

// allowlist says what is no secret after all.
type allowlist struct {
	regexes   []*regexp.Regexp
	stopwords []string
	// target is what the expressions look at: the secret, or "match" or "line".
	target string
	// ofPaths says that it speaks of files only.
	ofPaths bool
}

// Rules are those of the file, with what all of them allow.
func Rules() (*Detector, error) { return parse(file) }

// parse reads the part of TOML that the file is written in.
func parse(text string) (*Detector, error) {
	d := &Detector{}
	var list *allowlist
	var rule *Rule
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			text = rest
			continue
		case line == "[[rules]]":
			d.Rules = append(d.Rules, Rule{})
			rule, list, text = &d.Rules[len(d.Rules)-1], nil, rest
			continue
		case line == "[[rules.allowlists]]" && rule != nil:
			rule.allow = append(rule.allow, allowlist{})
			list, text = &rule.allow[len(rule.allow)-1], rest
			continue
		case line == "[allowlist]":
			d.allow = append(d.allow, allowlist{})
			list, text = &d.allow[0], rest
			continue
		}
		name, value, found := strings.Cut(text, "=")
		if !found || strings.Contains(name, "\n") {
			return nil, fmt.Errorf("gitleaks.toml: line %q is none of what the file is known to hold", line)
		}
		values, after, err := scanValue(strings.TrimLeft(value, " "))
		if err == nil {
			err = set(rule, list, strings.TrimSpace(name), values)
		}
		if err != nil {
			return nil, fmt.Errorf("gitleaks.toml: %s: %w", line, err)
		}
		text = after
	}
	return d, nil
}

func set(rule *Rule, list *allowlist, name string, values []string) (err error) {
	one := ""
	if len(values) > 0 {
		one = values[0]
	}
	switch {
	case name == "description" || name == "title" || name == "minVersion":
	case list != nil && name == "regexes":
		for _, v := range values {
			re, err := regexp.Compile(v)
			if err != nil {
				return err
			}
			list.regexes = append(list.regexes, re)
		}
	case list != nil && name == "stopwords":
		list.stopwords = values
	case list != nil && name == "regexTarget":
		list.target = one
	case list != nil && (name == "paths" || name == "condition"):
		list.ofPaths = list.ofPaths || name == "condition"
	case rule == nil:
		return fmt.Errorf("no rule has begun")
	case name == "id":
		rule.ID = one
	case name == "regex":
		rule.Regex, err = regexp.Compile(one)
	case name == "entropy":
		rule.Entropy, err = strconv.ParseFloat(one, 64)
	case name == "keywords":
		rule.Keywords = values
	case name == "secretGroup":
		rule.Group, err = strconv.Atoi(one)
	case name == "path":
		// A rule for certain files is tried on every text.
	default:
		return fmt.Errorf("unknown member")
	}
	return err
}

// scanValue reads a text, a number or a list of texts, and returns what follows.
func scanValue(s string) (values []string, rest string, err error) {
	switch {
	case strings.HasPrefix(s, "'''"):
		v, rest, found := strings.Cut(s[3:], "'''")
		if !found {
			return nil, "", fmt.Errorf("no end of a text")
		}
		return []string{v}, rest, nil
	case strings.HasPrefix(s, `"`):
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return nil, "", err
		}
		v, err := strconv.Unquote(quoted)
		return []string{v}, s[len(quoted):], err
	case strings.HasPrefix(s, "["):
		s = s[1:]
		for {
			s = strings.TrimLeft(s, " \t\r\n,")
			if strings.HasPrefix(s, "]") {
				return values, s[1:], nil
			}
			one, rest, err := scanValue(s)
			if err != nil || len(one) == 0 {
				return nil, "", fmt.Errorf("list: %w", err)
			}
			values, s = append(values, one...), rest
		}
	}
	v, rest, _ := strings.Cut(s, "\n")
	return []string{strings.TrimSpace(v)}, rest, nil
}
