package redact

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// TestOrdinarySourceIsLeftAlone runs over Go's own source, tests included. Left
// out are the folders that hold keys and credentials on purpose.
func TestOrdinarySourceIsLeftAlone(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		skip.Missing(t, "no go command to ask for the source: %v", err)
	}
	const least, allowed = 5 << 20, 10
	r := New(nil)
	read, findings := 0, 0
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(out)), "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "crypto" || d.Name() == "auth" || d.Name() == "url") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read += len(data)
		text := strings.ToValidUTF8(string(data), "\uFFFD")
		if clean := r.String(text); clean != text {
			n := strings.Count(clean, markerHead)
			findings += n
			t.Logf("%s: %d: %s", path, n, around(clean))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < least {
		t.Fatalf("only %d bytes of source found", read)
	}
	if findings > allowed {
		t.Errorf("%d findings in %d bytes of ordinary source, want at most %d", findings, read, allowed)
	}
}

// around shows a few findings with what stands beside them.
func around(s string) string {
	var b strings.Builder
	for n := 0; n < 20; n++ {
		lo, hi := nextMarker(s, 0)
		if lo == len(s) {
			break
		}
		b.WriteString("\n\t…" + strings.ReplaceAll(s[max(0, lo-60):min(len(s), hi+30)], "\n", "⏎"))
		s = s[hi:]
	}
	return b.String()
}
