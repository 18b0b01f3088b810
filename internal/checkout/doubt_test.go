package checkout

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// TestDuringOfFoldersInDoubt has folders that are gone and files of git that name no branch: what
// was checked out there is not known. Around each is the repository of another branch.
func TestDuringOfFoldersInDoubt(t *testing.T) {
	around := map[string]string{".git/HEAD": "ref: refs/heads/around\n", ".git/config": origin, ".git/logs/HEAD": ""}
	worktree := map[string]string{"w/.git": "gitdir: DIR/.git/worktrees/w\n", ".git/worktrees/w/commondir": "../..\n"}
	for name, tt := range map[string]struct {
		files map[string]string
		known bool
		want  string
	}{
		"a worktree":                        {map[string]string{".git/worktrees/w/HEAD": "ref: refs/heads/fix\n"}, true, "fix"},
		"a worktree's file of Windows":      {map[string]string{".git/worktrees/w/HEAD": "ref: refs/heads/fix\r\n", "w/.git": "gitdir: DIR/.git/worktrees/w\r\n", ".git/worktrees/w/commondir": "../..\r\n"}, true, "fix"},
		"detached":                          {map[string]string{".git/worktrees/w/HEAD": strings.Repeat("a", 40) + "\n"}, true, ""},
		"a rebase":                          {map[string]string{".git/worktrees/w/HEAD": strings.Repeat("a", 40) + "\n", ".git/worktrees/w/rebase-merge/head-name": "refs/heads/fix\n"}, true, "fix"},
		"a folder that is gone":             {map[string]string{"w/.git": ""}, false, ""},
		"a worktree without its repository": {nil, false, ""},
		"references in a table":             {map[string]string{".git/worktrees/w/HEAD": "ref: refs/heads/.invalid\n"}, false, ""},
		"a reference that is no branch":     {map[string]string{".git/worktrees/w/HEAD": "ref: refs/tags/one\n"}, false, ""},
		"a reference out of the folder":     {map[string]string{".git/worktrees/w/HEAD": "ref: refs/heads/../../x\n", ".git/x": strings.Repeat("a", 40)}, false, ""},
		"a reference with a backslash":      {map[string]string{".git/worktrees/w/HEAD": "ref: refs/heads/..\\..\\x\n"}, false, ""},
		"an absolute reference":             {map[string]string{".git/worktrees/w/HEAD": "ref: refs/heads//etc/x\n"}, false, ""},
		"a reference of a rebase":           {map[string]string{".git/worktrees/w/HEAD": "x\n", ".git/worktrees/w/rebase-merge/head-name": "refs/heads/../x\n"}, false, ""},
		"a HEAD without a reference":        {map[string]string{".git/worktrees/w/HEAD": "fix\n"}, false, ""},
		"another machine's, mixed slashes":  {map[string]string{"w/.git": "gitdir: /\\evil.example/share\n"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := make(map[string]string)
			for _, of := range []map[string]string{around, worktree, tt.files} {
				for name, text := range of {
					files[name] = text
				}
			}
			dir := tree(t, files)
			if name == "a folder that is gone" {
				if err := os.RemoveAll(filepath.Join(dir, "w")); err != nil {
					t.Fatal(err)
				}
			}
			l := At(filepath.Join(dir, "w"))
			now := time.Now().Add(time.Hour)
			c, ok := l.During(nil, now, now, nil).At("", now)
			if !ok || c.Unknown == tt.known || c.Repository.Branch != tt.want {
				t.Errorf("got %+v, want the branch %q, known %v", c, tt.want, tt.known)
			}
			if strings.Contains(name, "a reference") && c.Repository.Revision != "" {
				t.Errorf("a commit was read through the reference: %+v", c)
			}
		})
	}
}

// TestAtOfFilesThatAreNone has pipes, devices and a huge file where git has its files.
func TestAtOfFilesThatAreNone(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "it has no such files")
	}
	mkfifo, err := exec.LookPath("mkfifo")
	if err != nil {
		skip.Missing(t, "mkfifo is not installed")
	}
	files := map[string]string{"w/.git": "gitdir: DIR/g\n", "g/HEAD": "ref: refs/heads/main\n", "g/commondir": "../c\n", "c/config": origin, "c/refs/heads/main": strings.Repeat("a", 40), "c/packed-refs": "", "g/logs/HEAD": ""}
	for name := range files {
		for kind, replace := range map[string]func(path string) error{
			"a pipe":      func(path string) error { return exec.CommandContext(t.Context(), mkfifo, path).Run() }, //nolint:gosec // A test's.
			"a device":    func(path string) error { return os.Symlink("/dev/zero", path) },
			"a huge file": func(path string) error { return os.WriteFile(path, make([]byte, maxPacked+1), 0o600) },
		} {
			t.Run(kind+" as "+name, func(t *testing.T) {
				dir := tree(t, files)
				path := filepath.Join(dir, name)
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				if err := replace(path); err != nil {
					t.Fatal(err)
				}
				if l := At(filepath.Join(dir, "w")); len(l.Log) > maxLog || l.Repository.Branch != "" && l.Repository.Branch != "main" {
					t.Errorf("got %+v", l.Repository)
				}
			})
		}
	}
}

// TestDuringOfAUnchangedHead looks again and again at a worktree where nothing happens.
func TestDuringOfAnUnchangedHeadIsOneCheckout(t *testing.T) {
	dir := tree(t, map[string]string{"w/.git/HEAD": "ref: refs/heads/main\n", "w/.git/config": origin, "w/.git/refs/heads/main": strings.Repeat("a", 40), "w/.git/logs/HEAD": ""})
	var all hook.Checkouts
	var note *Note
	for i := range 5 {
		l := At(filepath.Join(dir, "w"))
		at := time.Now().Add(time.Duration(i+1) * time.Hour)
		for _, c := range l.During(note, at, at.Add(time.Minute), nil) {
			all.Add(c)
		}
		n := l.Note()
		note = &n
	}
	if want := []string{"main " + strings.Repeat("a", 40)}; len(all) != 1 || !cmp.Equal(want, []string{all[0].Repository.Branch + " " + all[0].Repository.Revision}) {
		t.Errorf("got %+v, want once %v", all, want)
	}
}

// TestCommandsThatMayHaveFailedProveNothing has two moves in a turn: the person may have made the
// first before a command of the same words failed.
func TestCommandsThatMayHaveFailedProveNothing(t *testing.T) {
	begin := time.Now()
	after := func(d time.Duration) time.Time { return begin.Add(d * time.Second) }
	first := noCommit + "1 a <a@example.com> 0 +0000\tcommit (initial): one\n"
	log := first + "1 1 a <a@example.com> 0 +0000\tcheckout: moving from main to b\n1 1 a <a@example.com> 0 +0000\tcheckout: moving from b to c\n"
	note := Note{Git: "g", Branch: "main", Moved: after(-9), Size: int64(len(first)), Line: lastLine(first)}
	look := Look{Git: "g", Moved: after(3), Logged: after(3), Log: log, Size: int64(len(log)), Repository: hook.Repository{Branch: "c"}}
	for command, known := range map[string]bool{
		"git checkout b && git checkout c":           true,
		"git checkout b; git checkout c":             false,
		"git checkout b || git checkout c":           false,
		"git checkout b\ngit checkout c":             false,
		"git checkout b | cat && git checkout -q c ": false,
	} {
		got, _ := look.During(&note, begin, after(9), []Call{{Begun: after(2), Ended: after(4), Command: command}}).At("", after(1))
		if got.Unknown == known || known && got.Repository.Branch != "main" {
			t.Errorf("%q: got %+v, known %v", command, got, known)
		}
	}
}
