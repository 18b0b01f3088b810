package checkout

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// maker draws what agents and a person commit in one worktree.
type maker struct {
	*history
	subjects int
}

// line draws a shell's line that commits, and the kind of it.
func (m *maker) line() (kind, line string) {
	m.subjects++
	subject := fmt.Sprintf("subject number %d", m.subjects)
	if m.r.IntN(4) == 0 {
		subject = "the same again" // which others use too
	}
	switch m.r.IntN(11) {
	case 0, 1:
		return "commit", fmt.Sprintf("git commit --allow-empty -m %q", subject)
	case 2, 3:
		return "commit -q", fmt.Sprintf("git commit -q --allow-empty -m %q", subject)
	case 4:
		return "amend", "git commit --amend --no-edit --allow-empty"
	case 5:
		return "cherry-pick", "git cherry-pick --allow-empty HEAD~1"
	case 6:
		return "rebase", "git checkout -q -B topic && git commit -q --allow-empty -m 'on the topic' && git rebase main; git checkout -q main"
	case 7:
		return "squash", "git reset -q --soft HEAD~1 && git commit --allow-empty -m 'squashed commits'"
	case 8:
		return "script", "./release.sh"
	case 9:
		return "fails", fmt.Sprintf("git commit -q -m %q || true", subject)
	}
	return "reads", "git log -1 && cat ci.log"
}

func (m *maker) run(line string) string {
	cmd := exec.CommandContext(m.t.Context(), "sh", "-c", line)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_EDITOR=true")
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// TestDrawnCommits draws two agents and a person who commit in one worktree, and holds the
// commits that are linked to calls against those that the calls made: none is wrong.
func TestDrawnCommits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		skip.Missing(t, "git is not installed")
	}
	made, linked := make(map[string]int), make(map[string]int)
	for seed := range *histories {
		m := &maker{history: &history{t: t, r: rand.New(rand.NewPCG(uint64(seed), 59)), dir: t.TempDir()}}
		m.git("init", "-q", "-b", "main")
		m.git("commit", "--allow-empty", "-m", "one")
		m.git("commit", "--allow-empty", "-m", "two")
		if err := os.WriteFile(filepath.Join(m.dir, "release.sh"), []byte("#!/bin/sh\ngit commit --allow-empty -m 'release of today'\n"), 0o700); err != nil { //nolint:gosec // It is run.
			t.Fatal(err)
		}
		notes := make([]*Note, 2)
		for range 4 {
			var calls [2][]Call
			var truth [2][][]string
			var kinds [2][]string
			for range 3 {
				who := m.r.IntN(3)
				kind, line := m.line()
				before := At(m.dir)
				c := Call{Begun: time.Now(), Command: line}
				c.Printed = Printed(m.run(line))
				c.Ended = time.Now()
				after := At(m.dir)
				var ids []string
				for entry := range strings.Lines(after.Log[len(before.Log):]) {
					if id := strings.Fields(entry)[1]; !strings.Contains(entry, "moving from") && !strings.Contains(entry, "reset:") {
						ids = append(ids, id)
					}
				}
				if len(c.Printed) > 0 { // a log that both agents may read
					_ = os.WriteFile(filepath.Join(m.dir, "ci.log"), []byte("built "+ids[0]+"\n"), 0o600)
				}
				if who < 2 {
					calls[who], truth[who], kinds[who] = append(calls[who], c), append(truth[who], ids), append(kinds[who], kind)
				}
			}
			for who, cs := range calls {
				if m.r.IntN(3) == 0 && who == 1 {
					continue // delivered with the next turn, or not at all
				}
				look := At(m.dir)
				for i, got := range look.Commits(notes[who], cs) {
					for _, id := range got {
						if !slices.Contains(truth[who][i], id) {
							t.Errorf("history %d: %q got %s, made %v\n%s", seed, cs[i].Command, id, truth[who][i], look.Log)
						}
					}
					made[kinds[who][i]] += len(truth[who][i])
					linked[kinds[who][i]] += len(got)
				}
				n := look.Note()
				notes[who] = &n
			}
		}
	}
	for kind, n := range made {
		t.Logf("%s: %d of %d commits", kind, linked[kind], n)
	}
	if linked["commit"]*10 < made["commit"]*9 {
		t.Error("too few are linked")
	}
}
