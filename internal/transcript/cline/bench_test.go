package cline

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeBigTask writes a task of about size bytes: requests of 8 KiB with the
// rows that come between two.
func writeBigTask(b *testing.B, path string, size int) {
	b.Helper()
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(file)
	request := strings.Repeat(`src/login.ts: if (\\\"a\\\" < b) {\\n`, 240)
	output := strings.Repeat(`line of output\n`, 40)
	const model = `"modelInfo":{"providerId":"anthropic","modelId":"claude-sonnet-4-5","mode":"act"}`
	n, _ := fmt.Fprintf(w, `[{"ts":1795175957341,"type":"say","say":"task","text":"go",%s,"conversationHistoryIndex":-1}`, model)
	for i := 0; n < size; i++ {
		ts := 1795175958000 + int64(i)*1000
		m, _ := fmt.Fprintf(w, `,{"ts":%d,"type":"say","say":"api_req_started","text":"{\"request\":\"%s\",\"tokensIn\":14,\"tokensOut\":212,\"cacheWrites\":13240,\"cacheReads\":7,\"cost\":0.052872}",%s,"conversationHistoryIndex":%d}`,
			ts, request, model, 2*i-1)
		k, _ := fmt.Fprintf(w, `,{"ts":%d,"type":"say","say":"text","text":"%s",%s,"conversationHistoryIndex":%d},{"ts":%d,"type":"say","say":"tool","text":"{}",%s,"conversationHistoryIndex":%d}`,
			ts+300, output, model, 2*i, ts+400, model, 2*i)
		n += m + k
	}
	fmt.Fprint(w, "]")
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkClassic20MB reads one task of 20 MB; B/op is all that was allocated,
// most of it a row at a time.
func BenchmarkClassic20MB(b *testing.B) {
	f := newFinder(b)
	dir := filepath.Join(f.Home, ".cline", "data", "tasks", "1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	const size = 20 << 20
	writeBigTask(b, filepath.Join(dir, uiFile), size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		tr, err := query(b.Context(), f, DialectClassic, "1")
		if err != nil {
			b.Fatal(err)
		}
		if len(tr.Requests) < 1000 {
			b.Fatalf("%d calls", len(tr.Requests))
		}
	}
}
