package record

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestSettingsAreReadFromOrdinaryFilesAlone(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) string {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path(name)
	}
	link := func(name, to string) string {
		if err := os.Symlink(to, path(name)); err != nil {
			skip.Missing(t, "no symbolic links here: %v", err)
		}
		if _, err := os.Stat(to); err == nil {
			if _, err := os.Stat(path(name)); err != nil {
				skip.Missing(t, "symbolic links are not followed here: %v", err) // Wine
			}
		}
		return path(name)
	}
	plain := write("plain", "HOOKSPAN_DISABLED=true\n")
	for _, tt := range []struct {
		name, path    string
		project, user bool
	}{
		{"a file", plain, true, true},
		{"a link to a file", link("link", plain), false, true},
		{"a link to a device without an end", link("zero", "/dev/zero"), false, false},
		{"a huge file", write("huge", strings.Repeat("#\n", maxSettings)), false, false},
		{"a folder", dir, false, false},
		{"nothing", path("none"), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := readProject(tt.path); (err == nil) != tt.project {
				t.Errorf("a project's: %v", err)
			}
			if _, err := ReadSettings(tt.path); (err == nil) != tt.user {
				t.Errorf("the user's: %v", err)
			}
		})
	}
}

// TestPayloadsLoseTheirMark: a byte order mark, once or twice, is no part of a payload of any
// size.
func TestPayloadsLoseTheirMark(t *testing.T) {
	small, large := `{"a":"b"}`, `{"a":"`+strings.Repeat("b", 5000)+`"}`
	for _, text := range []string{small, large} {
		for _, before := range []string{"", "\ufeff", "\ufeff\ufeff"} {
			p, err := readPayload(strings.NewReader(before+text), 1000, io.Discard)
			cut := text == large
			if err != nil || !p.JSON || !strings.HasPrefix(string(p.Data), `{"a":"b`) || (p.Cut > 0) != cut || cut && p.Cut != int64(len(text)) {
				t.Errorf("%q and %d bytes: %d bytes, JSON %v, cut %d, %v", before, len(text), len(p.Data), p.JSON, p.Cut, err)
			}
		}
	}
}
