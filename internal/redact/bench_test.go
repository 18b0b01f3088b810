package redact

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// ordinary is program text: that of Go's HTTP package, which says token,
// password and key more often than most.
func ordinary(b *testing.B) string {
	b.Helper()
	root, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		skip.Missing(b, "no go command to ask for the source: %v", err)
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

// BenchmarkShortTexts redacts texts of some 600 bytes with five telling words, as a
// tool's answers have them. Each is new to the redactor.
func BenchmarkShortTexts(b *testing.B) {
	texts := make([]string, 2000)
	for i := range texts {
		texts[i] = fmt.Sprintf("src/part_%d.ts\n", i) + strings.Join([]string{
			`1 | import { hash } from "./crypto"`,
			`2 | export const login = (user?: string, password?: string): boolean => {`,
			`3 |   if (user === undefined || password === undefined) return false`,
			`4 |   const row = table.find((r) => r.name === user)`,
			`5 |   return row !== undefined && row.hash === hash(password, row.salt)`,
			`6 | }`,
			`commit 3f786850e387550fdab836ed7e6dc881de23001b (HEAD -> main, origin/main)`,
			`  PASS  src/login.test.ts (42 tests, 1.204 s)`,
			`  https://github.com/example/project/blob/main/src/login.ts#L12-L40`,
			`Tests: 42 passed, 42 total`,
		}, "\n")
	}
	r := New(nil)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%len(texts) == 0 {
			r.clean = newCleanTexts()
		}
		r.Preview(texts[i%len(texts)], 4096)
	}
}
