package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

const rulesPrefix = "rules-"

// KeepRules keeps a copy of redaction rules for the records that were made under them,
// and returns its name, which depends on the content alone: 16 hex digits.
func (s *Spool) KeepRules(rules []byte) (name string, err error) {
	sum := sha256.Sum256(rules)
	name = hex.EncodeToString(sum[:8])
	if fi, err := lstat(s.root, rulesPrefix+name); err == nil && fi.Size() == int64(len(rules)) {
		return name, nil
	}
	if err := replaceFile(s.root, rulesPrefix+name, rules); err != nil {
		return "", fmt.Errorf("keep redaction rules in spool %q: %w", s.dir, err)
	}
	return name, nil
}

// Rules returns the copy of that name, unless it is missing or has changed.
func (s *Spool) Rules(name string) (rules []byte, err error) {
	if !validName(name + name) {
		return nil, fmt.Errorf("redaction rules %q: not a name of rules", name)
	}
	f, _, err := openFile(s.root, rulesPrefix+name, os.O_RDONLY, false)
	if err == nil {
		rules, err = io.ReadAll(io.LimitReader(f, maxState))
		err = errors.Join(err, f.Close())
	}
	if sum := sha256.Sum256(rules); err == nil && hex.EncodeToString(sum[:8]) != name {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, fmt.Errorf("read redaction rules %s of spool %q: %w", name, s.dir, err)
	}
	return rules, nil
}
