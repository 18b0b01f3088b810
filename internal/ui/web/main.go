// Command web bundles the page into internal/ui/assets. Run "npm ci" before it.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	files, err := bundle(".")
	for name, b := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join("..", "assets", name), b, 0o644)) //nolint:gosec // Assets are public.
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// bundle returns the assets by name, made of the sources in a folder.
func bundle(dir string) (map[string][]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r := api.Build(api.BuildOptions{
		AbsWorkingDir: dir, EntryPoints: []string{"src/app.tsx", "src/app.css"}, Outdir: "out",
		Bundle: true, MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		Format: api.FormatIIFE, Target: api.ES2022, JSX: api.JSXAutomatic, JSXImportSource: "preact",
		Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelWarning,
	})
	if len(r.Errors) > 0 {
		return nil, errors.New("the page cannot be bundled: " + r.Errors[0].Text)
	}
	files := make(map[string][]byte)
	for _, f := range r.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	for name, from := range map[string]string{"index.html": "src/index.html", "icon.svg": "src/icon.svg", "preact-license.txt": "node_modules/preact/LICENSE"} {
		if files[name], err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(from))); err != nil {
			return nil, err
		}
	}
	return files, nil
}
