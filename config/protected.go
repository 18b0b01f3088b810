package config

import (
	"errors"
	"io/fs"
)

// Protected returns nil, or the *Problem for which nothing may be delivered:
// the env file or the file with the redaction rules is there, or was asked for
// by name, and its name is wrong or it cannot be read. What the user wanted
// kept in is not known then. It reads the rules' file once more at each call,
// with Input.ReadFile, and does not look into it. Where HOOKSPAN_REDACT is
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
	if c.read == nil || c.RedactFile == "" {
		return nil
	}
	_, err := c.read(c.RedactFile)
	asked := c.Source("HOOKSPAN_REDACT_FILE") != Default
	if err == nil || errors.Is(err, fs.ErrNotExist) && !asked {
		return nil
	}
	return &Problem{Source: c.RedactFile, Reason: "cannot be read: " + reason(err), Allowed: "a readable file of redaction rules"}
}
