package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/traces/findings"
	"github.com/hookspan/hookspan/otelmap"
)

// candidate is a line of the labels, as their README describes.
type candidate struct {
	Home, Session, Kind, Subject, At, Reason string
	Right                                    bool
}

// labelKinds are the kinds by their names in the labels.
var labelKinds = map[string]string{
	"again": "failed-again", "reread": "read-again", "compacted": "read-after-compaction", "cache": "cache-expired", "unchecked": "not-checked",
}

// TestFindingsAreRight holds what is found in sessions against labels that were made without knowing
// the rules: of each kind, at least 95 % of what is found must be right.
func TestFindingsAreRight(t *testing.T) {
	folder := filepath.Join("..", "..", "internal", "traces", "findings", "testdata", "labels")
	b, err := os.ReadFile(filepath.Join(folder, "labels.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	homes := make(map[string][]candidate)
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		var c candidate
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		c.Kind = labelKinds[c.Kind]
		homes[c.Home] = append(homes[c.Home], c)
	}
	right, wrong, missed := make(map[string]int), make(map[string]int), make(map[string]int)
	for home, labels := range homes {
		at := filepath.Join(folder, home)
		if strings.HasPrefix(home, "tests/") {
			at = filepath.Join("..", "..", home)
		}
		found := foundIn(t, at)
		for _, c := range labels {
			what, ok := found[[2]string{c.Kind, c.At}]
			delete(found, [2]string{c.Kind, c.At})
			switch {
			case ok && c.Right:
				right[c.Kind]++
			case ok:
				wrong[c.Kind]++
				t.Logf("wrong: %s in %s at %s: %s: %s", c.Kind, home, c.At, what, c.Reason)
			case c.Right:
				missed[c.Kind]++
				t.Logf("missed: %s in %s at %s: %s: %s", c.Kind, home, c.At, c.Subject, c.Reason)
			}
		}
		for key, what := range found {
			t.Errorf("%s in %s at %s has no label: %s", key[0], home, key[1], what)
		}
	}
	for _, k := range findings.Kinds {
		n := right[k.Name]
		t.Logf("%-22s %d found, %d wrong: %.1f %% right; %d of %d right candidates missed", k.Name, n+wrong[k.Name], wrong[k.Name],
			100*float64(n)/float64(max(1, n+wrong[k.Name])), missed[k.Name], n+missed[k.Name])
		if n == 0 || float64(wrong[k.Name]) > 0.05*float64(n+wrong[k.Name]) {
			t.Errorf("%s: %d of %d are wrong: want at most 5 %%", k.Name, wrong[k.Name], n+wrong[k.Name])
		}
	}
}

// foundIn imports a home and returns what is found there, by the kind and the agent's id of the call
// or the response.
func foundIn(t *testing.T, home string) map[[2]string]string {
	t.Helper()
	a, _, _ := newTestApp(t, "import")
	if err := os.CopyFS(a.home, os.DirFS(home)); err != nil {
		t.Fatal(err)
	}
	command := asking(t, a)
	command(nil, "import")
	var all findingsJSON
	command(&all, "findings", "--json")
	ids := make(map[string]string)
	for _, f := range all.Findings {
		var shown []struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						SpanID     string
						Attributes []struct {
							Key   string
							Value struct{ StringValue string }
						}
					}
				}
			}
		}
		command(&shown, "show", "--session="+f.Session, "--json")
		for _, task := range shown {
			for _, sp := range task.ResourceSpans[0].ScopeSpans[0].Spans {
				for _, kv := range sp.Attributes {
					if kv.Key == otelmap.KeyToolCallID || kv.Key == otelmap.KeyResponseID {
						ids[sp.SpanID] = kv.Value.StringValue
					}
				}
			}
		}
	}
	out := make(map[[2]string]string)
	for _, f := range all.Findings {
		spans := f.Spans
		switch f.Kind {
		case "failed-again", "read-again", "cache-expired":
			spans = spans[:len(spans)-1]
		case "not-checked":
			spans = spans[len(spans)-1:]
		}
		for _, span := range spans {
			out[[2]string{f.Kind, ids[span]}] = f.What
		}
	}
	return out
}
