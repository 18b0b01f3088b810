package redact

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ordinary is program text: that of Go's HTTP package, which says token,
// password and key more often than most.
func ordinary(b *testing.B) string {
	b.Helper()
	root, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("no go command to ask for the source: %v", err)
	}
	names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", "net", "http", "*.go"))
	if err != nil || len(names) == 0 {
		b.Fatalf("no source: %v", err)
	}
	var all strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

func BenchmarkString(b *testing.B) {
	r, text := New(nil), ordinary(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.String(text)
	}
}

func BenchmarkTail(b *testing.B) {
	r, text := New(nil), ordinary(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Tail(text)
	}
}

func BenchmarkPreviewOfLongText(b *testing.B) {
	r, text := New(nil), ordinary(b)
	b.ReportAllocs()
	for b.Loop() {
		r.Preview(text, 300)
	}
}

func BenchmarkShortTextWithSecret(b *testing.B) {
	r := New(nil)
	text := "export GITHUB_" + "TOKEN=gh" + "p_" + strings.Repeat("aB3d", 9) + " && make"
	b.ReportAllocs()
	for b.Loop() {
		r.Tail(text)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(nil)
	}
}
