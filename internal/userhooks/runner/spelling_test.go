package runner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Guards see the file that Cline's SDK opens, whose name may be spelled in another way.
func TestSpellings(t *testing.T) {
	for asked, there := range map[string]string{
		"deploy key.pem": "deploy\u00a0key.pem", "my\u3000secret": "my secret", "at 4.42 PM.png": "at 4.42\u202fPM.png",
		"id.\u212aey": "id.Key", "caf\u00e9": "cafe\u0301", "cafe\u0301": "caf\u00e9",
		"l'acc\u00e8s": "l\u2019acc\u00e8s", "l'acce\u0300s": "l\u2019acce\u0300s",
		"d'\u00e9t\u00e9/key": "d\u2019e\u0301te\u0301/key",
		"other":               "", "there": "there",
	} {
		dir := t.TempDir()
		var want []string
		if there != "" {
			file := filepath.Join(dir, there)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if there != asked {
				want = []string{file}
			}
		}
		if diff := cmp.Diff(want, spellings(filepath.Join(dir, asked))); diff != "" {
			t.Errorf("%q where there is %q (-want +got):\n%s", asked, there, diff)
		}
	}
}
