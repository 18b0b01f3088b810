package redact

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
)

// ParseRules reads the user's rules: one on each line, a name, blanks, and a
// regular expression in RE2 syntax up to the end of the line. Empty
// lines and lines that begin with # are skipped. Names are lower case letters,
// digits and hyphens. If the expression has groups, only what the first one
// that takes part matches is removed. The error joins one for each wrong line;
// the rules of the other lines are returned with it.
func ParseRules(r io.Reader) ([]Rule, error) {
	var rules []Rule
	var errs []error
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(sc.Text(), "\uFEFF"))
		if line == "" || line[0] == '#' {
			continue
		}
		rule, err := parseRule(line)
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		rules = append(rules, rule)
	}
	if err := sc.Err(); err != nil {
		errs = append(errs, fmt.Errorf("read redaction rules: %w", err))
	}
	return rules, errors.Join(errs...)
}

func parseRule(line string) (Rule, error) {
	name, pattern := line, ""
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		name, pattern = line[:i], strings.TrimSpace(line[i:])
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f || !isNameByte(byte(r)) }) { //nolint:gosec // At most 0x7f here.
		return Rule{}, fmt.Errorf("rule name %.60q: allowed lower case letters, digits and hyphens", name)
	}
	if pattern == "" {
		return Rule{}, fmt.Errorf("rule %s: found no regular expression: allowed name, blank, expression", name)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return Rule{}, fmt.Errorf("rule %s: %w", name, err)
	}
	if re.MatchString("") {
		return Rule{}, fmt.Errorf("rule %s: expression %q matches the empty text and so everything: allowed one that asks for a character", name, pattern)
	}
	return Rule{Name: name, Pattern: re}, nil
}

// userRule prepares a user's rule, which is tried everywhere.
func userRule(u Rule) *rule {
	prefix, _ := u.Pattern.LiteralPrefix()
	return &rule{
		name: u.Name, lead: len(prefix),
		re:   func() *regexp.Regexp { return u.Pattern },
		head: sync.OnceValue(func() *regexp.Regexp { return headPattern("", u.Pattern.String(), `\z`) }),
	}
}

// scanAll finds the matches of a user's rule, and the beginnings of some before
// each cut mark and at the end of a cut text.
func (r *rule) scanAll(seg string, cut, last bool) []span {
	var whole, heads []span
	matches := r.re().FindAllStringSubmatchIndex(seg, -1)
	for _, loc := range matches {
		if lo, hi := secretIn(loc); hi > lo {
			whole = append(whole, span{lo: lo, hi: hi, rule: r.name})
		}
	}
	if !cut || r.head() == nil {
		return whole
	}
	// A beginning is looked for behind the mark before it, so that each stretch of
	// text is read once, and behind the last match, which is removed.
	done, from := 0, 0
	for {
		lo, hi := nextMark(seg, from)
		end := lo
		if lo < 0 {
			end = len(seg)
		}
		for len(matches) > 0 && matches[0][0] < end {
			if a, b := secretIn(matches[0]); b > a {
				done = matches[0][1]
			}
			matches = matches[1:]
		}
		if lo < 0 {
			break
		}
		if from = max(from, done); from < lo {
			heads = r.appendHead(heads, strings.TrimRight(seg[from:lo], " \r\n\t"), from)
		}
		from = hi
	}
	if last {
		// Dots may belong to the secret, so marks are ignored here.
		heads = r.appendHead(heads, seg[done:], done)
	}
	return merge(append(whole, heads...))
}

// appendHead adds the beginning of a match at the end of text, which is at the
// offset. An expression that starts with fixed text is recognized by that; the
// beginning of another must be long and mixed, or the last word before every cut
// could be one.
func (r *rule) appendHead(out []span, text string, offset int) []span {
	loc := r.head().FindStringSubmatchIndex(text)
	if loc == nil {
		return out
	}
	lo, hi := secretIn(loc)
	whole := match{text: text, at: loc[0], lo: loc[0], hi: loc[1]}
	if hi <= lo || loc[1]-loc[0] < r.lead+headMin || r.lead < 3 && (hi-lo < 12 || !mixed(whole)) {
		return out
	}
	return append(out, span{lo: offset + lo, hi: offset + hi, rule: r.name})
}
