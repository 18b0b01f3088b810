package spool

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRulesAreKeptByContent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	one, err := s.KeepRules([]byte("a x+\n"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.KeepRules([]byte("a x+\n")); err != nil || again != one {
		t.Errorf("the same rules are %q, then %q: %v", one, again, err)
	}
	if other, err := s.KeepRules([]byte("a y+\n")); err != nil || other == one {
		t.Errorf("other rules are %q, too: %v", other, err)
	}
	if got, err := s.Rules(one); err != nil || string(got) != "a x+\n" {
		t.Errorf("read %q: %v", got, err)
	}
	if keys, err := s.Sessions(); err != nil || len(keys) != 0 {
		t.Errorf("sessions %v: %v", keys, err)
	}
	if err := os.WriteFile(filepath.Join(dir, rulesPrefix+one), []byte("a z+\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{one, "0123456789abcdef", "../../../x", ""} {
		if got, err := s.Rules(name); err == nil {
			t.Errorf("%q: read %q, want an error", name, got)
		}
	}
}
