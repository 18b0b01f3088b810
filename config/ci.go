package config

import (
	_ "embed"
	"os"
	"slices"
	"strings"
)

//go:embed ci.txt
var ciTable string

// CI returns the attributes of resources that the environment's CI names, none outside of a CI.
func (c *Config) CI() map[string]string {
	for section := range strings.SplitSeq(ciTable, "\n[") {
		mark, lines, _ := strings.Cut(section, "]\n")
		if c.vars[mark] == "" {
			continue
		}
		out := make(map[string]string)
		for line := range strings.Lines(lines) {
			words := strings.Fields(line)
			for _, word := range words[min(2, len(words)):] {
				if out[words[0]] == "" {
					out[words[0]] = ciValue(words[1], expandCI(word, c.vars))
				}
			}
		}
		return out
	}
	return nil
}

// expandCI returns a value of the table, empty if its conditions are not met.
func expandCI(word string, vars map[string]string) string {
	word, unset, _ := strings.Cut(word, "!")
	word, set, wants := strings.Cut(word, "+")
	known := vars[unset] == "" && (!wants || vars[set] != "")
	value := os.Expand(word, func(name string) string {
		known = known && vars[name] != ""
		return vars[name]
	})
	if !known {
		return ""
	}
	return value
}

// ciValue returns a value as the conventions want it, empty if it is none.
func ciValue(kind, value string) string {
	only := func(ok bool) string {
		if !ok {
			return ""
		}
		return value
	}
	branch, isBranch := strings.CutPrefix(value, "refs/heads/")
	tag, isTag := strings.CutPrefix(branch, "refs/tags/")
	switch kind {
	case "ref":
		return tag
	case "type":
		if isBranch || isTag {
			value = map[bool]string{true: "tag", false: "branch"}[isTag]
		}
		return only(value == "branch" || value == "tag")
	case "commit":
		return only(len(value) >= 40 && strings.Trim(value, "0123456789abcdef") == "") // not HEAD
	case "provider":
		value = strings.ToLower(value)
		return only(slices.Contains([]string{"github", "gitlab", "bitbucket"}, value))
	case "change":
		// The address of a pull request or its ref ends with it; Buildkite names none by "false".
		inPath := strings.Contains(value, "/pull") || strings.Contains(value, "/merge_requests/")
		plain := !strings.Contains(value, "/") && value != "false"
		value = strings.TrimSuffix(value, "/merge")
		value = value[strings.LastIndexByte(value, '/')+1:]
		return only(plain || inPath && !isBranch)
	}
	return value
}
