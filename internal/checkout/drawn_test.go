package checkout

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

var histories = flag.Int("histories", 15, "how many histories of worktrees are drawn")

// history is a drawn life of a worktree, with what was checked out whenever a request was made.
type history struct {
	t   *testing.T
	r   *rand.Rand
	dir string
	// honest reports that git is not made to lie: no entry of the log has another's words, and
	// HEAD is not written behind it.
	honest bool
	names  int
	calls  []Call
	asked  []asked
	// unproven reports that a command failed, or could while its call succeeds.
	unproven bool
}

type asked struct {
	at     time.Time
	branch string
}

// git reports whether the command succeeds: some fail, as those of people do.
func (h *history) git(args ...string) bool {
	cmd := exec.CommandContext(h.t.Context(), "git", args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_EDITOR=true")
	if h.r.IntN(3) == 0 { // entries of the log may have any time
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", h.r.IntN(1<<30)))
	}
	if h.r.IntN(20) == 0 && !h.honest {
		cmd.Env = append(cmd.Env, "GIT_REFLOG_ACTION=mine")
	}
	return cmd.Run() == nil
}

// branch asks git itself, but for a branch that is being rebased.
func (h *history) branch() string {
	if branch := h.output("symbolic-ref", "-q", "--short", "HEAD"); branch != "" {
		return branch
	}
	for _, of := range []string{"rebase-merge", "rebase-apply"} {
		if b, err := os.ReadFile(filepath.Join(h.dir, ".git", of, "head-name")); err == nil {
			if branch, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "refs/heads/"); ok {
				return branch
			}
		}
	}
	return ""
}

func (h *history) output(args ...string) string {
	cmd := exec.CommandContext(h.t.Context(), "git", args...)
	cmd.Dir = h.dir
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

func (h *history) commit(name string) string { return h.output("rev-parse", "-q", "--verify", name) }

func (h *history) name() string {
	if h.names == 0 || h.r.IntN(3) == 0 {
		h.names++
		return fmt.Sprintf("b%d", h.names)
	}
	return fmt.Sprintf("b%d", 1+h.r.IntN(h.names))
}

// command draws a command line of git, as words for each command.
func (h *history) command() (commands [][]string) {
	switch n := h.name(); h.r.IntN(14) {
	case 0, 1:
		return [][]string{{"checkout", "-B", n}}
	case 2:
		return [][]string{{"switch", "-C", n}}
	case 10:
		return [][]string{{"pack-refs", "--all"}}
	case 11:
		if !h.honest { // the commit hides when the branch was left
			return [][]string{{"switch", "-q", "--detach"}, {"commit", "--allow-empty", "-m", "x"}}
		}
		return [][]string{{"switch", "-q", "--detach"}}
	case 3:
		return [][]string{{"checkout", "main"}, {"checkout", "-B", n}}
	case 4:
		return [][]string{{"checkout", n}}
	case 5:
		return [][]string{{"rebase", "main"}}
	case 6:
		return [][]string{{"branch", "-m", h.branch(), n}}
	case 7:
		return [][]string{{"checkout", "-q", "HEAD~1"}}
	case 8:
		if h.commit("HEAD") != h.commit(n) && !h.honest { // else nothing shows that HEAD was written
			return [][]string{{"symbolic-ref", "HEAD", "refs/heads/" + n}}
		}
	case 9:
		return [][]string{{"checkout", "-"}}
	}
	return [][]string{{"commit", "--allow-empty", "-m", "x"}}
}

// pause mostly lets the file system's clock go on: agents and people are slower than this test.
func (h *history) pause() {
	if h.r.IntN(10) > 0 || h.honest {
		time.Sleep(tick + 5*time.Millisecond) //nolint:forbidigo // That clock is what is tested.
	}
}

// person changes the worktree from elsewhere.
func (h *history) person() {
	for _, c := range h.command() {
		h.git(c...)
	}
}

// agent runs a command line of which is known when it began and ended, if it succeeds. Some do
// though a command of theirs does not.
func (h *history) agent() {
	c := Call{Begun: time.Now()}
	and, ok := "&&", true
	if h.r.IntN(4) == 0 {
		and = ";"
	}
	for _, words := range h.command() {
		ok = ok && h.git(words...) || and == ";"
		c.Command += "git " + strings.Join(words, " ") + " " + and + " "
	}
	c.Ended = time.Now()
	h.unproven = h.unproven || !ok || and == ";"
	if ok {
		h.calls = append(h.calls, c)
	}
}

func (h *history) ask() {
	branch := h.branch()
	h.asked = append(h.asked, asked{time.Now(), branch})
}

// TestDrawnHistories draws what agents and people do in a worktree while turns run and between
// them, and holds what During says against what git said at each request. A branch is right or
// it is not known.
func TestDrawnHistories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		skip.Missing(t, "git is not installed")
	}
	for _, honest := range []bool{false, true} {
		var all, quiet, ofAgent share
		for seed := range *histories {
			h := &history{t: t, r: rand.New(rand.NewPCG(uint64(seed), 58)), dir: t.TempDir(), honest: honest}
			h.draw(seed, &all, &quiet, &ofAgent)
		}
		t.Logf("honest %v: not known is the branch of %v requests, of %v in turns without another person's changes, of %v where the person does nothing just before them either, and each command succeeds", honest, all, quiet, ofAgent)
		if limit := map[bool]int{false: 30, true: 5}[honest]; ofAgent.unknown*100 > ofAgent.of*limit {
			t.Errorf("honest %v: the branch of %v requests is not known, want %d %% at most", honest, ofAgent, limit)
		}
	}
}

// share counts requests, and those of them whose branch is not known.
type share struct{ unknown, of int }

func (s share) String() string {
	return fmt.Sprintf("%d of %d (%.1f %%)", s.unknown, s.of, 100*float64(s.unknown)/float64(max(s.of, 1)))
}

func (h *history) draw(seed int, all, quiet, ofAgent *share) {
	h.git("init", "-q", "-b", "main")
	if h.r.IntN(4) > 0 || h.honest { // else no branch is born yet, and there is no log
		h.git("commit", "--allow-empty", "-m", "one")
		h.git("commit", "--allow-empty", "-m", "two")
	}
	var note *Note
	before := false
	for range 3 + h.r.IntN(4) {
		if h.r.IntN(2) == 0 {
			before = true
			h.person()
			h.pause()
		}
		begin, disturbed := time.Now(), false
		h.calls, h.asked, h.unproven = nil, nil, false
		if h.r.IntN(8) == 0 { // between the prompt and the first request
			h.person()
			disturbed = true
			h.pause()
		}
		for range 1 + h.r.IntN(4) {
			h.ask()
			switch h.r.IntN(8) {
			case 0:
				h.person()
				disturbed = true
			case 1, 2, 3:
				h.pause() // a model answers
				h.agent()
			default:
				continue
			}
			h.pause()
		}
		end := time.Now()
		if h.r.IntN(8) == 0 {
			h.person()
			h.pause()
			disturbed = true
		}
		look := At(h.dir)
		got := look.During(note, begin, end, h.calls)
		n := look.Note()
		note = &n
		got.Sort()
		for _, q := range h.asked {
			c, ok := got.At("", q.at)
			text, _ := os.ReadFile(filepath.Join(h.dir, ".git", "logs", "HEAD"))
			if !ok || !c.Unknown && c.Repository.Branch != q.branch {
				h.t.Fatalf("history %d: at %v: got branch %q, want %q\n%v to %v, moved %v\n%+v\n%+v\n%s", seed, q.at, c.Repository.Branch, q.branch, begin, end, look.Moved, got, h.calls, text)
			}
			for s, counts := range map[*share]bool{all: true, quiet: !disturbed, ofAgent: !disturbed && !before && !h.unproven} {
				if counts {
					s.of++
				}
				if counts && c.Unknown {
					s.unknown++
				}
			}
		}
		before = false
	}
}

// TestAtOfRepositoriesOfGit has what git itself makes: worktrees, submodules, a bare repository,
// a branch without a commit. The environment of git, which is that of another program, says nothing.
func TestAtOfRepositoriesOfGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		skip.Missing(t, "git is not installed")
	}
	dir := t.TempDir()
	h := &history{t: t, r: rand.New(rand.NewPCG(1, 1)), dir: dir, honest: true}
	t.Setenv("GIT_ALLOW_PROTOCOL", "file")
	for _, args := range []string{
		"init -q -b main lib", "-C lib commit -q --allow-empty -m one", "init -q -b main w", "-C w commit -q --allow-empty -m one", "-C w pack-refs --all",
		"-C w submodule --quiet add -b main ../lib sub", "-C w worktree add -q ../tree -b topic", "-C w worktree add -q --detach ../detached",
		"init -q -b trunk unborn", "clone -q --bare w shop.git", "-C shop.git worktree add -q ../ofbare -b fix",
	} {
		h.git(strings.Fields(args)...)
	}
	t.Setenv("GIT_DIR", filepath.Join(dir, "lib", ".git"))
	for of, want := range map[string]string{"w": "main", "w/sub": "main", "tree": "topic", "detached": "", "unborn": "trunk", "ofbare": "fix", "shop.git": ""} {
		l := At(filepath.Join(dir, of))
		if l.Unknown || l.Repository.Branch != want || (l.Git == "") != (of == "shop.git") || (l.Repository.Revision == "") != (of == "unborn" || of == "shop.git") {
			t.Errorf("%s: got %+v, unknown %v, want the branch %q", of, l.Repository, l.Unknown, want)
		}
	}
}
