package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// spellings are the files that Cline's SDK may read for a path at which there is none: their
// names differ in the kind of a space or an apostrophe, or in how a letter is composed
// (sdk/packages/shared/src/storage/path-resolution.ts at SDK 0.0.78).
func spellings(path string) (files []string) {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	decomposed := norm.NFD.String(path)
	for _, other := range []string{decomposed, curly(path), curly(decomposed)} {
		if _, err := os.Stat(other); err == nil {
			files = append(files, other)
		}
	}
	dir, base := filepath.Split(path)
	entries, _ := os.ReadDir(dir) // Cline sees no more of them
	for _, e := range entries {
		if plainSpaces(e.Name()) == plainSpaces(base) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// curly has the apostrophe that word processors write.
func curly(path string) string { return strings.ReplaceAll(path, "'", "\u2019") }

// plainSpaces is a name in the form by which Cline compares the names in a folder.
func plainSpaces(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u00a0', r >= '\u2000' && r <= '\u200a', r == '\u202f', r == '\u205f', r == '\u3000':
			return ' '
		}
		return r
	}, norm.NFC.String(name))
}
