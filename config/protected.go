package config

import (
	"errors"
	"io/fs"
)

// Protected returns nil, or the *Problem for which nothing may be delivered:
// the env file or a file with redaction rules is there, or was asked for
// by name, and its name is wrong or it cannot be read. What the user wanted
// kept in is not known then. It reads the rules' files once more at each call,
// with Input.ReadFile, and does not look into them. Where HOOKSPAN_REDACT is
// false, there are no rules to miss.
func (c *Config) Protected() error {
	if c.unread != nil {
		return c.unread
	}
	if !c.Redact {
		return nil
	}
	if c.noRules != nil {
		return c.noRules
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
	// Named reports that HOOKSPAN_REDACT_FILE names it: then it must be there.
	Named bool
}

// RedactFiles are the files with redaction rules, all of which count: the user's
// own, named in the env file or beside it, and one that the environment names.
func (c *Config) RedactFiles() []RulesFile {
	const name = "HOOKSPAN_REDACT_FILE"
	var out []RulesFile
	if own := c.sides.of(name, mine); own != "" {
		out = append(out, RulesFile{own, true})
	} else if c.ConfigDir != "" {
		out = append(out, RulesFile{Path: join(c.goos, c.ConfigDir, "redact.rules")})
	}
	if more := c.sides.of(name, outer); more != "" {
		out = append(out, RulesFile{more, true})
	}
	return out
}
