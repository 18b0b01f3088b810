package spool

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// event is a record of the size of a typical tool event.
func event() Record {
	return Record{
		Host: "cline", Session: "1795175957341", Event: "PostToolUse",
		At:  time.Unix(1795175963, 203_000_001),
		Cwd: "/home/dev/project", PPID: 4711,
		Payload: []byte(`{"hookName":"PostToolUse","result":"` + strings.Repeat("line of output\\n", 270) + `"}`),
	}
}

// fill writes a log of n records in a few large writes.
func fill(tb testing.TB, dir string, n int) {
	tb.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	rec := event()
	if err := s.Append(&rec); err != nil {
		tb.Fatal(err)
	}
	f, err := os.OpenFile(logPath(dir, rec.Host, rec.Session), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		tb.Fatal(err)
	}
	chunk := bytes.Repeat(frame(tb, rec), 1000)
	for done := 1; done < n; done += 1000 {
		if _, err := f.Write(chunk); err != nil {
			tb.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, bc := range []struct {
		name    string
		before  int
		options Options
	}{
		{"empty log", 0, Options{}},
		{"100000 events", 100_000, Options{}},
		{"synced", 0, Options{Sync: true}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			dir := b.TempDir() + "/spool"
			if bc.before > 0 {
				fill(b, dir, bc.before)
			}
			rec := event()
			b.ReportAllocs()
			// As a hook process does it: open, append, close.
			for b.Loop() {
				s, err := Open(dir, bc.options)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Append(&rec); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	rec := event()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encode(&rec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReader(b *testing.B) {
	for _, bc := range []struct {
		name    string
		payload []byte
	}{
		{"4 KB events", event().Payload},
		{"200 B events", []byte(`{"result":"` + strings.Repeat("x", 180) + `"}`)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			rec := event()
			rec.Payload = bc.payload
			const n = 10_000
			log := bytes.Repeat(frame(b, rec), n)
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				r := newReader(bytes.NewReader(log), 0, nil)
				got := 0
				for r.Next() {
					got++
				}
				if got != n {
					b.Fatalf("%d records, want %d", got, n)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
