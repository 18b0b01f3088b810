package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
)

// Limits of what the browser loads, in bytes.
const (
	maxBytes  = 200_000
	maxZipped = 62_500
)

// TestAssetsAreTheBundledSources bundles again.
func TestAssetsAreTheBundledSources(t *testing.T) {
	if _, err := os.Stat("node_modules/preact"); err != nil {
		t.Skip("preact is not installed: run npm ci in internal/ui/web")
	}
	files, err := bundle(".")
	if err != nil {
		t.Fatal(err)
	}
	assets := filepath.Join("..", "assets")
	there, err := os.ReadDir(assets)
	if err != nil {
		t.Fatal(err)
	}
	if len(there) != len(files) {
		t.Errorf("%d files in %s, %d were bundled", len(there), assets, len(files))
	}
	size, zipped := 0, bytes.Buffer{}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(assets, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the sources give: run make page (%v)", name, err)
		}
		w := gzip.NewWriter(&zipped)
		_, _ = w.Write(want)
		_ = w.Close()
		size += len(want)
	}
	if t.Logf("%d bytes, %d as gzip", size, zipped.Len()); size > maxBytes || zipped.Len() > maxZipped {
		t.Errorf("the assets have %d bytes, %d as gzip; want at most %d and %d", size, zipped.Len(), maxBytes, maxZipped)
	}
}
