// Package configured makes the redactor that the settings describe.
package configured

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/redact"
)

// New returns what removes secrets from traces, or nil if the user switched that off.
func New(cfg *config.Config) (*redact.Redactor, error) {
	if !cfg.Redact {
		return nil, nil
	}
	return With(cfg, nil)
}

// With returns what removes secrets by further rules, too, also if the user switched
// redaction off.
func With(cfg *config.Config, rules []redact.Rule) (*redact.Redactor, error) {
	for _, f := range cfg.RedactFiles() {
		more, err := readRules(f)
		if err != nil {
			return nil, err
		}
		rules = append(rules, more...)
	}
	return redact.New(rules), nil
}

// Always returns New's, or the built-in rules if there is none: what is printed and
// what is logged is read by others, even where traces are not redacted.
func Always(cfg *config.Config) *redact.Redactor {
	if r, err := New(cfg); err == nil && r != nil {
		return r
	}
	return redact.New(nil)
}

// maxRules is the largest file of redaction rules, in bytes.
const maxRules = 4 << 20

// readRules reads a file with the user's redaction rules.
func readRules(in config.RulesFile) ([]redact.Rule, error) {
	f, _, err := regular.Open(in.Path, regular.Options{Max: maxRules})
	if errors.Is(err, fs.ErrNotExist) && !in.Named {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("redaction rules: %w", err)
	}
	defer func() { _ = f.Close() }()
	rules, err := redact.ParseRules(f)
	if err != nil {
		return nil, fmt.Errorf("redaction rules %s: %w", in.Path, err)
	}
	return rules, nil
}
