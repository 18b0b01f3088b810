package collector_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/otelcol"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

var tornRows = []proof.Row{
	tornRow("as shipped", ""),
	tornRow("with recreate", "yaml:\nextensions: {file_storage: {recreate: true}}"),
}

func tornRow(how, overlay string) proof.Row {
	return proof.Row{
		Name: "The queue file of an agent cut short, or a page of it overwritten, " + how,
		Rule: "the agent sends nothing that was not queued; with the file moved away it starts and takes spans",
		Run:  func(t *testing.T, r *proof.Result) { tornQueue(t, r, overlay) },
	}
}

// pageSize is that of the database of file_storage.
var pageSize = os.Getpagesize()

func tornQueue(t *testing.T, r *proof.Result, overlay string) {
	l := newLone(t, overlay)
	l.o.Patience = 15 * time.Second
	l.refuse()
	c := l.start()
	const requests, spans = 20, 5
	for i := range requests {
		if status, err := l.post(i, spans, 1000); err != nil || status != http.StatusOK {
			t.Fatalf("the agent answered %d (%v)", status, err)
		}
	}
	if !until(t.Context(), time.Minute, func() bool { n, _ := l.spans(0); return n == requests*spans }) {
		t.Fatal("the agent does not offer all it has to the backend")
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(l.queue, "exporter_*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files of the queue: %q (%v)", files, err)
	}
	sound, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	l.backend.Reset()
	pages := len(sound) / pageSize
	every := 8
	if proof.Soak() {
		every = 1
	}
	kinds := make(map[string]int)
	for n := 0; n < pages; n += every {
		kinds["cut: "+l.damaged(r, c, files[0], fmt.Sprintf("cut to %d of %d pages", n, pages), sound[:n*pageSize], requests*spans)]++
	}
	for page := 0; page < pages; page += every {
		b := append([]byte(nil), sound...)
		for i := range pageSize {
			b[page*pageSize+i] = 0xA5
		}
		kinds["overwritten: "+l.damaged(r, c, files[0], fmt.Sprintf("page %d of %d overwritten", page, pages), b, requests*spans)]++
	}
	var notes []string
	for kind, n := range kinds {
		notes = append(notes, fmt.Sprintf("%s %d times", kind, n))
	}
	slices.Sort(notes)
	r.Note("%s", strings.Join(notes, ", "))
}

// damaged starts an agent on a damaged queue, and then without it.
func (l *lone) damaged(r *proof.Result, c *otelcol.Collector, file, how string, content []byte, queued int) string {
	t := l.t
	t.Helper()
	if err := errors.Join(os.RemoveAll(l.queue), os.MkdirAll(l.queue, 0o700), os.WriteFile(file, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	since, logged := len(l.backend.Requests()), len(c.Log())
	err := c.Restart(t.Context())
	outcome := "does not start"
	if err == nil {
		taken := 0
		until(t.Context(), 3*time.Second, func() bool { _, taken = l.spans(since); return taken == queued || !c.Running() })
		if taken > queued {
			r.Break("%s: %d spans came, %d were queued", how, taken, queued)
		}
		switch {
		case !c.Running():
			outcome = "starts and then ends"
		case taken == queued:
			outcome = "starts with everything"
		case taken == 0:
			outcome = "starts with nothing"
		default:
			outcome = "starts with some"
		}
		t.Logf("%s: %s, %d of %d spans came", how, outcome, taken, queued)
	} else {
		log := c.Log()[logged:]
		t.Logf("%s: %s; its log names the file: %t; it says %q", how, outcome, strings.Contains(log, filepath.Base(file)), panicked(log))
	}
	if err := errors.Join(c.Kill(), os.Rename(file, file+".away"), c.Restart(t.Context())); err != nil {
		r.Break("%s: without the file: %v", how, err)
	} else if status, err := l.post(0, 1, 10); err != nil || status != http.StatusOK {
		r.Break("%s: without the file the agent answers %d (%v)", how, status, err)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	r.Trial(1)
	return outcome
}

// panicked is the line of a log that says why the Collector ended.
func panicked(log string) string {
	for line := range strings.Lines(log) {
		for _, word := range []string{"panic:", "fatal error:", "unexpected fault address", "Error:", "error:"} {
			if strings.Contains(line, word) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}
