package secretforms

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// aboutSecrets are folders whose files hold made-up secrets on purpose.
var aboutSecrets = []string{
	".git", "node_modules", "dist", "bin", "internal/redact", "internal/redact/configured", "tests/gitleaks", "tests/internal/secretforms", "tests/security", "tests/internal/plantedkeys", "examples/hooks",
}

// textEnds end the names of files that hold text.
var textEnds = []string{".go", ".md", ".ts", ".js", ".mjs", ".css", ".html", ".yml", ".yaml", ".sh", ".ps1", ".json", ".jsonl", ".txt", ".toml", ".mod", ".sum", ".py", ".svg"}

// notOurs are folders of a checkout whose files depend on what was installed or built in it.
var notOurs = []string{".git", ".cache", "node_modules", "bin", "dist"}

// Repository are parts of the files in a folder: code of several languages, documents,
// recorded conversations and payloads, settings; every third is in a frame. Nothing
// in them is a secret. The same files make the same texts.
func Repository(root string, texts int) ([]OrdinarySample, error) {
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && (slices.Contains(aboutSecrets, filepath.ToSlash(rel)) || slices.Contains(notOurs, d.Name())) {
			return fs.SkipDir
		}
		if d.Type().IsRegular() && slices.Contains(textEnds, filepath.Ext(path)) && !strings.HasSuffix(path, "_test.go") {
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(3, 41)) //nolint:gosec // Nothing here is secret.
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var out []OrdinarySample
	for n := 0; len(out) < texts && n < 20*texts; n++ {
		name := names[n%len(names)]
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		lines := strings.SplitAfter(string(data), "\n")
		at := rng.IntN(len(lines))
		text := strings.Join(lines[at:min(len(lines), at+5+rng.IntN(50))], "")
		if len(text) < 40 || len(text) > 16<<10 || !utf8.ValidString(text) {
			continue
		}
		if n%3 == 0 {
			text = Frames[1+rng.IntN(len(Frames)-1)].Put(text)
		}
		out = append(out, OrdinarySample{Kind: filepath.Ext(name), Text: text})
	}
	return out, nil
}
