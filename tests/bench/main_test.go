package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/measure"
)

// A run of minutes must not end in a page that has no place for its table.
func TestPageHasPlaceForThePromises(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "<!-- begin "+promises+" -->\n") || !strings.Contains(string(text), "<!-- end "+promises+" -->") {
		t.Errorf("%s has no marks named %s", page, promises)
	}
}

func TestParse(t *testing.T) {
	for args, want := range map[string]string{
		"":                       measure.Names(parts()),
		"-part flush,hooks -n 5": "flush,hooks",
		"-most 10000":            measure.Names(parts()),
		"-publish":               measure.Names(parts()),
		"-part flush -publish":   "",
		"-n 0":                   "",
		"-most 9999":             "",
		"-part nothing":          "",
		"-publish -most 100000":  "",
		"-publish -only 10^4":    "",
		"a word":                 "",
	} {
		_, chosen, err := parse(strings.Fields(args))
		var names []string
		for _, p := range chosen {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, ","); got != want || (err == nil) == (want == "") {
			t.Errorf("%q: parts %q, %v; want %q", args, got, err, want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	got := verdicts([]budget{{what: "a", found: "1", kept: true}, {what: "b", found: "2"}, {what: "c", found: "3", busy: true}})
	want := "| promised | measured | |\n|---|---|---|\n| a | 1 | kept |\n| b | 2 | **broken** |\n| c | 3 | unknown: the machine was busy |\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTurns takes a session through two turns after three others: each delivers
// its own run alone.
func TestTurns(t *testing.T) {
	s, err := newTurnBench(t.Context(), filepath.Join(t.TempDir(), "s"), 3)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.turn(); err != nil {
			t.Fatal(err)
		}
		if err := s.deliver(t.Context(), 1); err != nil {
			t.Error(err)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	took := [][]time.Duration{{9}, {10}, {10}, {11}}
	if b := turnsReport(took, took).budgets; !b[0].kept {
		t.Errorf("a tenth more is broken: %+v", b)
	}
	took[3][0] = 12
	if b := turnsReport(took, took).budgets; b[0].kept {
		t.Errorf("a fifth more is kept: %+v", b)
	}
}

// TestWriteTranscript counts what a reader should find.
func TestWriteTranscript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	turns, last, err := writeTranscript(path, 500<<10)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	at := len(lines) - 23 // A prompt, eleven answers, ten results and the end.
	if len(text) < 500<<10 || turns < 2 || len(lines) != turns*23 || !strings.Contains(lines[at], last.Format("2006-01-02T15:04:05.000Z")) ||
		!strings.Contains(lines[at], `"promptSource":"typed"`) {
		t.Errorf("%d bytes, %d turns, %d lines, the last turn begins with %s", len(text), turns, len(lines), lines[max(0, at)])
	}
}
