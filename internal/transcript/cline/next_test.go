package cline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
)

func TestNextFindsTheSessionOfAConversation(t *testing.T) {
	// The conversation begins at 1795175967104 = 2026-11-20T11:59:27.104Z.
	const conversation = "conv_1795175967104_3b3h3lm"
	type session struct {
		id, source, cwd, started, ended, status string
	}
	for _, c := range []struct {
		name     string
		goos     string
		cwd      string
		sessions []session
		// want is the id found, empty for transcript.ErrNotFound.
		want string
	}{
		{"the newest of the editor's", "linux", "/p", []session{
			{"1795175960000_aaaaa", "vscode", "/p", "2026-11-20T11:59:20Z", "", "running"},
			{"1795175967000_bbbbb", "vscode", "/p", "2026-11-20T11:59:27Z", "", "running"},
		}, "1795175967000_bbbbb"},
		{"not one begun later", "linux", "/p", []session{
			{"1795175960000_aaaaa", "vscode", "/p", "2026-11-20T11:59:20Z", "", "running"},
			{"1795175967105_bbbbb", "vscode", "/p", "2026-11-20T11:59:27.105Z", "", "running"},
		}, "1795175960000_aaaaa"},
		{"not one whose manifest says later", "linux", "/p", []session{
			{"1795175960000_aaaaa", "jetbrains", "/p", "2026-11-20T11:59:20Z", "", "running"},
			{"1795175961000_bbbbb", "vscode", "/p", "2026-11-20T12:59:27Z", "", "running"},
		}, "1795175960000_aaaaa"},
		{"not the command line's", "linux", "/p", []session{
			{"1795175967000_bbbbb", "cli", "/p", "2026-11-20T11:59:27Z", "", "running"},
		}, ""},
		{"not another folder's", "linux", "/p", []session{
			{"1795175960000_aaaaa", "vscode", "/p/", "2026-11-20T11:59:20Z", "", "running"},
			{"1795175967000_bbbbb", "vscode", "/q", "2026-11-20T11:59:27Z", "", "running"},
		}, "1795175960000_aaaaa"},
		{"one that goes on before one that had ended", "linux", "/p", []session{
			{"1795175900000_aaaaa", "vscode", "/p", "2026-11-20T11:58:20Z", "2026-11-20T11:58:30Z", "running"},
			{"1795175960000_bbbbb", "vscode", "/p", "2026-11-20T11:59:20Z", "2026-11-20T11:59:21Z", "completed"},
		}, "1795175900000_aaaaa"},
		{"one that had ended, if no other fits", "linux", "/p", []session{
			{"1795175900000_aaaaa", "vscode", "/p", "2026-11-20T11:58:20Z", "2026-11-20T11:58:30Z", "completed"},
			{"1795175960000_bbbbb", "vscode", "/p", "2026-11-20T11:59:20Z", "2026-11-20T11:59:21Z", "completed"},
		}, "1795175960000_bbbbb"},
		{"Windows folders", "windows", `c:\Work\P`, []session{
			{"1795175960000_aaaaa", "vscode", `C:\work\p\`, "2026-11-20T11:59:20Z", "", "running"},
		}, "1795175960000_aaaaa"},
		{"no folder, no guess", "linux", "", []session{
			{"1795175960000_aaaaa", "vscode", "", "2026-11-20T11:59:20Z", "", "running"},
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFinder(t)
			f.GOOS = c.goos
			root := filepath.Join(f.Home, ".cline", "data", "sessions")
			for _, s := range c.sessions {
				write(t, filepath.Join(root, s.id, s.id+".json"), fmt.Sprintf(
					`{"source":%q,"cwd":%q,"started_at":%q,"ended_at":%q,"status":%q}`, s.source, s.cwd, s.started, s.ended, s.status))
				write(t, filepath.Join(root, s.id, s.id+messagesSuffix), `{"messages":[]}`)
			}
			write(t, filepath.Join(root, "1795175967001_torn0", "1795175967001_torn0.json"), `[]`)
			write(t, filepath.Join(root, "not-a-session", "x.json"), `{}`)
			tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: conversation, Dialect: DialectNext, Cwd: c.cwd})
			if c.want == "" {
				if !errors.Is(err, transcript.ErrNotFound) {
					t.Errorf("got %v, %v; want ErrNotFound", tr, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := filepath.Base(filepath.Dir(tr.Sources[0])); got != c.want {
				t.Errorf("read session %q, want %q", got, c.want)
			}
		})
	}
}

func TestNextRefusesOtherIDs(t *testing.T) {
	f := newFinder(t)
	for _, id := range []string{"1795175967104", "conv_", "conv_x_y", "conv_1795175967104", "conv_1795175967104_", "conv_-5_a", "conv_99999999999999999_a"} {
		if _, err := f.Read(t.Context(), Agent, transcript.Query{Session: id, Dialect: DialectNext, Cwd: "/p"}); err == nil || errors.Is(err, transcript.ErrNotFound) {
			t.Errorf("Next(%q) = %v, want it refused", id, err)
		}
	}
}

func TestNextWaitsForOneTornManifestAtMost(t *testing.T) {
	f := newFinder(t)
	root := filepath.Join(f.Home, ".cline", "data", "sessions")
	for i := range 20 {
		id := fmt.Sprintf("17951759600%02d_torn0", i)
		write(t, filepath.Join(root, id, id+".json"), `{"source":"vsc`)
	}
	const id = "1795175950000_whole"
	write(t, filepath.Join(root, id, id+".json"), `{"source":"vscode","cwd":"/p","started_at":"2026-11-20T11:59:10Z"}`)
	waits := 0
	f.Sleep = func(context.Context, time.Duration) error { waits++; return nil }
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "conv_1795175967104_3b3h3lm", Dialect: DialectNext, Cwd: "/p"})
	if err != nil {
		t.Fatal(err)
	}
	if tr.Cwd != "/p" || waits != 4 {
		t.Errorf("cwd %q after %d waits, want /p after %d", tr.Cwd, waits, 4)
	}
}
