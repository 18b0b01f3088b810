package config

import (
	"cmp"
	"errors"
	"io/fs"
)

// Protected returns nil, or the *Problem for which nothing may be delivered: the
// name of the env file or of a file with redaction rules is wrong, or such a file
// exists or was named and cannot be read. Then it is not known what the user wants
// to keep private. Protected reads the rules' files again at each call, with
// Input.ReadFile, without checking their contents. If HOOKSPAN_REDACT is false, no
// rules are needed.
func (c *Config) Protected() error {
	if p := cmp.Or(c.value(configFile).problem, c.unread); p != nil {
		return p
	}
	if !c.Redact {
		return nil
	}
	if p := c.value(redactFile).problem; p != nil {
		return p
	}
	if c.read == nil {
		return nil
	}
	for _, f := range c.RedactFiles() {
		_, err := c.read(f.Path)
		if err == nil || errors.Is(err, fs.ErrNotExist) && !f.Named {
			continue
		}
		return &Problem{Source: f.Path, Reason: "cannot be read: " + reason(err), Allowed: "a readable file of redaction rules"}
	}
	return nil
}

// RulesFile is a file with redaction rules.
type RulesFile struct {
	Path string
	// Named reports that HOOKSPAN_REDACT_FILE names it: then it must exist.
	Named bool
}

// RedactFiles are the files with redaction rules, all of which count: the user's
// own, named in the env file or beside it, one that the environment names, and the
// administrator's.
func (c *Config) RedactFiles() []RulesFile {
	by := c.value(redactFile).by
	var out []RulesFile
	if own := by[ofUser]; own != "" {
		out = append(out, RulesFile{own, true})
	} else if c.ConfigDir != "" {
		out = append(out, RulesFile{Path: join(c.goos, c.ConfigDir, "redact.rules")})
	}
	for _, s := range []side{ofEnvironment, ofMachine} {
		if more := by[s]; more != "" {
			out = append(out, RulesFile{more, true})
		}
	}
	return out
}
