package importer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/internal/transcript/codex"
)

func TestOrderPutsTheLocalStoreLast(t *testing.T) {
	all := []deliver.Destination{{Name: "store"}, {Name: "otlp"}, {Name: "file"}}
	for _, c := range []struct{ names, want []string }{
		{nil, []string{"otlp", "file", "store"}},
		{[]string{"store", "file"}, []string{"file", "store"}},
		{[]string{"otlp"}, []string{"otlp"}},
	} {
		var got []string
		for _, d := range Order(all, c.names) {
			got = append(got, d.Name)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.names, d)
		}
	}
}

func TestSelectNamesASessionThatIsMissing(t *testing.T) {
	all := []Session{of("a", DialectClaude, nil), of("b", DialectClaude, nil), of("c", DialectClaude, nil)}
	for _, c := range []struct {
		ids, want []string
		missing   string
	}{
		{nil, []string{"a", "b", "c"}, ""}, {[]string{"a"}, []string{"a"}, ""}, {[]string{"c", "b"}, []string{"b", "c"}, ""}, {[]string{"a", "x", "y"}, nil, "x"},
	} {
		var got []string
		some, missing := Select(all, c.ids)
		for _, s := range some {
			got = append(got, s.ID)
		}
		if d := cmp.Diff(c.want, got); d != "" || missing != c.missing {
			t.Errorf("%v: missing %q (-want +got):\n%s", c.ids, missing, d)
		}
	}
}

// TestBeginningsOfUnchangedFilesAreReadOnce has a subagent's and a fork's file that are changed
// behind the first listing, keeping their sizes and times: the next one says what that said, until
// the program or a time is another.
func TestBeginningsOfUnchangedFilesAreReadOnce(t *testing.T) {
	w, home := newWorld(t), t.TempDir()
	files := &transcript.Files{Home: home}
	id := func(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }
	old := w.now.Add(-time.Hour)
	write := func(n int, text string, at time.Time) {
		t.Helper()
		path := filepath.Join(home, ".codex", "sessions", "rollout-2026-01-01T00-00-00-"+id(n)+".jsonl")
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at))
		if err != nil {
			t.Fatal(err)
		}
	}
	meta := func(n int, more string) string {
		return fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":%q,"timestamp":"2026-01-01T00:00:00Z"%s}}`+"\n", id(n), more)
	}
	subagent, fork := meta(2, `,"session_id":"`+id(1)+`"`), meta(3, "")+meta(1, "")
	blank := func(text string) string { return fmt.Sprintf("%*s", len(text), "\n") }
	list := func(version string) (out []string) {
		t.Helper()
		im := w.importer(codex.Agent.Host)
		im.Agent, im.Version = codex.Agent, version
		found, err := im.Sessions(t.Context(), files)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range found {
			out = append(out, fmt.Sprintf("%s %d", s.ID[len(s.ID)-1:], len(s.Others)))
		}
		slices.Sort(out)
		return out
	}
	together, apart := []string{"1 2", "3 2"}, []string{"1 0", "2 0", "3 0"}
	write(1, meta(1, ""), old)
	write(2, subagent, old)
	write(3, fork, old)
	if got := list("1"); !slices.Equal(got, together) {
		t.Errorf("first listing: %q, want %q", got, together)
	}
	write(2, blank(subagent), old)
	write(3, blank(fork), old)
	for _, c := range []struct {
		version string
		want    []string
	}{{"1", together}, {"2", apart}} {
		if got := list(c.version); !slices.Equal(got, c.want) {
			t.Errorf("version %s: %q, want %q", c.version, got, c.want)
		}
	}
	write(2, subagent, old.Add(time.Minute))
	if got, want := list("2"), []string{"1 1", "3 0"}; !slices.Equal(got, want) {
		t.Errorf("a file was written: %q, want %q", got, want)
	}
}
