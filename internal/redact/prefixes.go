package redact

import (
	_ "embed" // prefixes are a list
	"strings"
	"sync"
)

//go:embed prefixes.txt
var prefixList string

// prefixes are the list's lines: a rule, a probe, the beginning, the rest and, if that is not
// enough, what decides on a match.
var prefixes = sync.OnceValue(func() [][]string {
	var out [][]string
	for line := range strings.Lines(strings.ReplaceAll(prefixList, "<uuid>", `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)) {
		if line != "\n" && line[0] != '#' {
			out = append(out, strings.Fields(line))
		}
	}
	return out
})

// prefixRules are the rules of the list.
func prefixRules() []*rule {
	out := []*rule{
		{name: "mailchimp-key", probes: []string{"-us[0123456789]"}, pattern: `-us[0-9]{1,2}`, right: true, back: 32, lead: 4, ok: afterMD5},
		{name: "encoded-json", probes: []string{"eyJ"}, pattern: `eyJ[A-Za-z0-9+/]{160,}={0,2}`, left: true, lead: 3, reach: 512, ok: func(m match) bool { return mixed(m) && noSourceMap(m) }},
	}
	for _, f := range prefixes() {
		r := &rule{name: f[0], probes: []string{f[1]}, pattern: f[2] + f[3], left: true, lead: max(2, strings.IndexAny(f[2]+"(", `([\`))}
		if len(f) > 4 {
			r.ok = decisions[f[4]]
		}
		out = append(out, r)
	}
	return out
}

// afterMD5 reports whether 32 hexadecimal digits end before the match.
func afterMD5(m match) bool {
	return !m.head && m.at >= 32 && isHexText(m.text[m.at-32:m.at]) && boundaryBefore(m.text, m.at-32)
}

// noSourceMap reports whether a match is not within an address of data: the map of a
// source, an image's description.
func noSourceMap(m match) bool {
	return !strings.HasSuffix(m.text[max(0, m.at-8):m.at], ";base64,") && !strings.HasPrefix(m.value(), "eyJ2ZXJzaW9uIj")
}
