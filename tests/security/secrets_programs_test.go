package security_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/plantedkeys"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// programRows plant keys into the payloads of the real programs.
var programRows = []proof.Row{{
	Name: "sessions with keys in every text through the real programs: OTLP, the store's file and its write-ahead log, the file, Infinium, the log, the delivery state, list, show, status, doctor",
	Rule: nothingOut, Short: 1_000, Long: 20_000, Run: keysThroughPrograms,
}}

func keysThroughPrograms(t *testing.T, r *proof.Result) {
	if !lab.CanAwait {
		r.Skip("the deliveries that hooks start in the background can be waited for on Linux alone")
	}
	settings := [][]string{
		{"HOOKSPAN_CAPTURE=full"},
		{"HOOKSPAN_CAPTURE=preview", "HOOKSPAN_MAX_EVENT_BYTES=4KiB"},
		{"HOOKSPAN_CAPTURE=none"},
		{"HOOKSPAN_CAPTURE=full", "HOOKSPAN_MAX_EVENT_BYTES=4KiB", "HOOKSPAN_INFINIUM_GRANULARITY=session"},
	}
	all := plantedkeys.Keys()
	finder := plantedkeys.NewFinder(all)
	trials, met := 0, map[string]int{}
	for world := 0; trials < r.N; world++ {
		w := lab.New(t, settings[world%len(settings)]...)
		n := world * 31
		p := &plantedkeys.Planter{Names: world%2 == 0, Next: func(string) string {
			n++
			trials++
			return places[(n/len(all)+n+world)%len(places)].put(all[n%len(all)].Text())
		}}
		// A reader keeps the store's write-ahead log from being folded in.
		reader, err := store.Open(t.Context(), filepath.Join(w.State(), "traces.db"))
		if err != nil {
			t.Fatal(err)
		}
		for i, rec := range []recording{recordings[world%10], recordings[(world+2)%10], recordings[10]} {
			for _, e := range rec.events(t) {
				payload := p.Document(e.Payload)
				if !rec.claude {
					w.Hook(e.Name, payload)
					continue
				}
				if err := claudeHook(w, payload); err != nil {
					t.Fatal(err)
				}
			}
			if i == 0 {
				// Its errors quote what it was sent: the first delivery is refused.
				w.OTLP.Script(otlptest.Status(400, "cannot take the spans of this trace"))
				w.Infinium.Script(infiniumtest.Status(422, "cannot take this trace"))
			}
		}
		// What is no event of a session: no JSON, JSON that breaks off, a name
		// that no agent knows.
		key := all[world%len(all)].Text()
		for _, payload := range []string{"no JSON " + key, `{"taskId":"1","hookName":"` + key, `{"hookName":"PreToolUse","note":"` + strings.Repeat("x ", 4000) + key} {
			w.Hook("PreToolUse", []byte(payload))
			trials++
		}
		w.Settle()
		w.Flush()
		wal := filepath.Join(w.State(), "traces.db-wal")
		if info, err := os.Stat(wal); err != nil || info.Size() == 0 {
			t.Errorf("the write-ahead log is not there to be searched: %v", err)
		}
		outputs := w.Outputs()
		deliveryStates(t, w, outputs)
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
		for place, text := range outputs {
			kind, _, _ := strings.Cut(place, " ")
			met[kind] += strings.Count(text, "[REDACTED:")
			if k, around := finder.Find(text); k >= 0 {
				r.Break("key %d is in %s: %q", k, place, around)
			}
		}
	}
	r.Trial(trials)
	for _, place := range []string{"otlp", "infinium", "stored", "hookspan", "/traces.jsonl"} {
		if met[place] == 0 {
			t.Errorf("nothing was removed on the way to %s: the keys did not get there", place)
		}
	}
	r.Note("%d forms of keys", len(all))
}

// claudeHook gives a payload to a Claude Code hook process.
func claudeHook(w *lab.World, payload []byte) error {
	cmd := w.Program("claude-hook")
	cmd.Stdin = bytes.NewReader(payload)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		return errors.Join(err, errors.New("claude-hook said "+string(out)))
	}
	return nil
}

// deliveryStates adds the errors that are kept beside each session's events.
func deliveryStates(t *testing.T, w *lab.World, out map[string]string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(w.State(), "spool"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "delivery.json" {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
