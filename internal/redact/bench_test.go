package redact

import (
	"os"
	"strings"
	"testing"
)

// ordinary is about a mebibyte of program text without secrets.
func ordinary(b *testing.B) string {
	b.Helper()
	var all strings.Builder
	for _, name := range []string{"redact.go", "scan.go", "rules.go", "context.go", "head.go", "user.go", "spans.go"} {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		all.Write(data)
	}
	text := all.String()
	return strings.Repeat(text, 1+(1<<20)/len(text))
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
