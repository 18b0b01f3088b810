package packages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryProgramIsReleased compares the folders of cmd with what names the
// programs one by one.
func TestEveryProgramIsReleased(t *testing.T) {
	root := filepath.Join("..", "..")
	entries, err := os.ReadDir(filepath.Join(root, "cmd"))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		".goreleaser.yaml":                      "\n    main: ./cmd/PROGRAM\n    binary: PROGRAM\n",
		"packaging/install.sh":                  " PROGRAM",
		"packaging/install.ps1":                 "'PROGRAM.exe'",
		"internal/install/programs/programs.go": `"PROGRAM"`,
	} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if want := strings.ReplaceAll(want, "PROGRAM", e.Name()); !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q", file, want)
			}
		}
	}
}
