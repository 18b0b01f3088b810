package deliver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/checkout"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/spool"
)

// looked is a worktree that is looked at, and switched.
type looked struct {
	*checkout.Look
	b *bench
}

func newLooked(b *bench) *looked {
	at := b.clock.Now().Add(-time.Hour)
	return &looked{&checkout.Look{Git: "/w/.git", Moved: at, Logged: at, Repository: hook.Repository{Name: "shop", Branch: "main"}}, b}
}

func (l *looked) switchTo(branch string) {
	l.Log += fmt.Sprintf("%040d %040d a <a@example.com> 0 +0000\tcheckout: moving from %s to %s\n", 0, 0, l.Repository.Branch, branch)
	l.Size, l.Moved, l.Logged, l.Repository.Branch = int64(len(l.Log)), l.b.clock.Now(), l.b.clock.Now(), branch
}

func (l *looked) deliver(to *memory, recs ...spool.Record) spool.Key {
	key := l.b.append(recs...)
	d := l.b.claudeDeliverer(nil, Destination{Name: "store", Client: to, Local: true})
	d.Look = func(string) *checkout.Look {
		now := *l.Look
		return &now
	}
	l.b.clock.Advance(time.Minute)
	l.b.run(d, Pass{})
	return key
}

// at is what the session's file says of a time.
func (l *looked) at(key spool.Key, agent string, at time.Time) hook.Checkout {
	l.b.t.Helper()
	w, err := readWhereabouts(l.b.session(key))
	if err != nil {
		l.b.t.Fatal(err)
	}
	w.Checkouts.Sort()
	c, ok := w.Checkouts.At(agent, at)
	if !ok {
		l.b.t.Errorf("nothing is noted")
	}
	return c
}

// TestOpenTurnsAreLookedAt has a turn with an agent in the background, which begins on another
// branch than the turn before it and is open when a later turn, on a third branch, is delivered.
func TestOpenTurnsAreLookedAt(t *testing.T) {
	b := newBench(t)
	l, to := newLooked(b), &memory{}
	l.deliver(to, turn("p0")...)
	l.switchTo("fix")
	b.clock.Advance(time.Minute)
	first := turn("p1")
	b.append(first[0], said("SubagentStart", "p1", `"agent_id":"a1","agent_type":"Explore"`), first[3])
	mid := b.clock.Now().Add(time.Second)
	b.clock.Advance(time.Minute)
	l.switchTo("other")
	b.clock.Advance(time.Minute)
	key := l.deliver(to, turn("p2")...)
	if c := l.at(key, "", mid); !c.Unknown && c.Repository.Branch != "fix" {
		t.Errorf("in the open turn: got %+v, want fix or that it is not known", c)
	}
	if c := l.at(key, "", b.clock.Now().Add(-time.Minute)); c.Unknown || c.Repository.Branch != "other" {
		t.Errorf("in the later turn: got %+v, want other", c)
	}
	b.clock.Advance(time.Minute)
	l.deliver(to, said("SubagentStop", "p1", `"agent_id":"a1","agent_type":"Explore","stop_hook_active":false`))
	if c := l.at(key, "", b.clock.Now().Add(-time.Minute)); c.Unknown || c.Repository.Branch != "other" {
		t.Errorf("at the open turn's end: got %+v, want other", c)
	}
}

// TestBetweenLooksNothingIsKnown delivers two turns. Between the two deliveries the branch is
// unknown, unless HEAD was not written in that time.
func TestBetweenLooksNothingIsKnown(t *testing.T) {
	for _, moves := range []bool{false, true} {
		b := newBench(t)
		l, to := newLooked(b), &memory{}
		l.deliver(to, turn("p0")...)
		b.clock.Advance(time.Minute)
		between := b.clock.Now()
		if moves {
			l.switchTo("fix")
			b.clock.Advance(time.Minute)
			l.switchTo("main")
		}
		b.clock.Advance(time.Minute)
		var key spool.Key
		for i := range 20 {
			key = l.deliver(to, turn(fmt.Sprintf("p%d", i+1))...)
		}
		if c := l.at(key, "", between); c.Unknown != moves {
			t.Errorf("with moves %v: got %+v", moves, c)
		}
		if w, err := readWhereabouts(b.session(key)); err != nil || len(w.Checkouts) > 5 {
			t.Errorf("%d checkouts are kept, want no more for turns in which nothing happens: %v, %+v", len(w.Checkouts), err, w.Checkouts)
		}
	}
}

// TestSubagentReturnsToTheLead has a subagent that leaves a worktree for that of the lead.
func TestSubagentReturnsToTheLead(t *testing.T) {
	b := newBench(t)
	in := func(dir, event string) spool.Record {
		r := said(event, "p1", `"tool_name":"Bash","tool_input":{},"tool_use_id":"t-`+dir+`","agent_id":"a1","agent_type":"Explore"`)
		r.Payload = []byte(strings.Replace(string(r.Payload), `"/w"`, `"`+dir+`"`, 1))
		return r
	}
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: &memory{}, Local: true})
	d.Look = func(dir string) *checkout.Look {
		return &checkout.Look{Git: dir, Moved: b.clock.Now().Add(-time.Hour), Repository: hook.Repository{Branch: "of " + dir}}
	}
	var key spool.Key
	for _, r := range []spool.Record{turn("p1")[0], in("/t", "PreToolUse"), in("/t", "PostToolUse"), in("/w", "PreToolUse"), in("/w", "PostToolUse"), said("SubagentStop", "p1", `"agent_id":"a1","agent_type":"Explore"`), turn("p1")[3]} {
		key = b.append(r)
		b.clock.Advance(time.Minute)
	}
	b.run(d, Pass{})
	l := &looked{b: b}
	for ago, want := range map[int]string{6: "of /t", 4: "of /w"} {
		if c := l.at(key, "a1", b.clock.Now().Add(-time.Duration(ago)*time.Minute)); c.Repository.Branch != want {
			t.Errorf("%d minutes ago: got %+v, want %s", ago, c, want)
		}
	}
}

// TestCommandsCountIfTheySucceed has hooks that do not say how a call ended, as those of Codex do,
// and files that may.
func TestCommandsCountIfTheySucceed(t *testing.T) {
	result := func(s hook.ToolStatus) hook.ToolResult { return hook.ToolResult{ID: "t", Status: s} }
	for name, tt := range map[string]struct {
		hook    hook.ToolStatus
		printed string
		files   []hook.ToolResult
		want    bool
	}{
		"the hook says it":                {hook: hook.ToolOK, want: true},
		"the hook says that it failed":    {hook: hook.ToolFailed, files: []hook.ToolResult{result(hook.ToolOK)}},
		"the files say it":                {hook: hook.ToolUnknown, files: []hook.ToolResult{result(hook.ToolOK)}, want: true},
		"the files say that it failed":    {hook: hook.ToolUnknown, files: []hook.ToolResult{result(hook.ToolFailed)}},
		"the files say both, by one id":   {hook: hook.ToolUnknown, files: []hook.ToolResult{result(hook.ToolFailed), result(hook.ToolOK)}},
		"the files say it of another one": {hook: hook.ToolUnknown, files: []hook.ToolResult{{ID: "other", Status: hook.ToolOK}}},
		"nothing says it":                 {hook: hook.ToolUnknown},
		"it failed after a commit":        {hook: hook.ToolFailed, printed: "Exit code 1\n[main 1c29f81] x\n", files: []hook.ToolResult{result(hook.ToolOK)}},
	} {
		var w worked
		w.note(&hook.Event{Kind: hook.KindToolEnd, Cwd: "/w", Tool: &hook.Tool{ID: "t", Status: tt.hook, Error: tt.printed, Input: `{"command":"git commit -m x"}`}})
		w.succeed(&hook.Transcript{ToolResults: tt.files})
		if got := len(w.calls) == 1 && w.calls[0].call.Command != ""; got != tt.want {
			t.Errorf("%s: the command counts: %v", name, got)
		}
		if printed := len(w.calls) == 1 && len(w.calls[0].call.Printed) == 1; printed != (tt.printed != "") {
			t.Errorf("%s: the commit that it printed counts: %v", name, printed)
		}
	}
}

// TestFewerResultsThanCalls has calls with one id, of which the host's files have one only: it is
// not known whose it is. A copy of an event is no other call.
func TestFewerResultsThanCalls(t *testing.T) {
	for cwd, want := range map[string]int{"/w": 2, "/sub": 0} {
		var w worked
		for _, cwd := range []string{"/w", cwd} {
			w.note(&hook.Event{Kind: hook.KindToolEnd, Cwd: cwd, Tool: &hook.Tool{ID: "t", Status: hook.ToolUnknown, Input: `{"command":"git commit -m x"}`}})
		}
		w.succeed(&hook.Transcript{ToolResults: []hook.ToolResult{{ID: "t", Status: hook.ToolOK}}})
		got := 0
		for _, c := range w.calls {
			if c.call.Command != "" {
				got++
			}
		}
		if got != want {
			t.Errorf("in /w and %s: %d commands count, want %d", cwd, got, want)
		}
	}
}

// TestCallsOfTwoAgentsWithOneID has a model that numbers its calls anew in each reply: the lead's call
// and that of a subagent in another folder are equal and at work at the same time.
func TestCallsOfTwoAgentsWithOneID(t *testing.T) {
	var w worked
	note := func(kind hook.Kind, agent, cwd string) {
		e := hook.Event{Kind: kind, Cwd: cwd, Tool: &hook.Tool{ID: "call_0", Name: "bash", Input: `{"command":"git commit -m x"}`}}
		if agent != "" {
			e.Agent, e.ParentAgent = agent, hook.ParentUnknown
		}
		w.note(&e)
	}
	note(hook.KindToolStart, "", "/lead")
	note(hook.KindToolStart, "a", "/sub")
	note(hook.KindToolEnd, "", "/elsewhere")
	note(hook.KindToolEnd, "a", "/elsewhere")
	var dirs []string
	for _, c := range w.calls {
		dirs = append(dirs, c.dirs...)
	}
	if want := []string{"/lead", "/sub"}; !slices.Equal(dirs, want) {
		t.Errorf("the calls' folders are %q, want %q", dirs, want)
	}
}

// TestCommitsOfOtherFolders has calls that commit elsewhere than in the agent's folder, while the
// person commits with the same subject. A call gets its commits or none.
func TestCommitsOfOtherFolders(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		skip.Missing(t, "git is not installed")
	}
	const commit, quiet = `git commit --allow-empty -m "fix the login page"`, `git commit -q --allow-empty -m "fix the login page"`
	for name, tt := range map[string]struct {
		command, input string
		person         string // the folder in which the person commits the same
		in             string // the folder of the call's commit
		found          bool
	}{
		"here":                                {command: quiet, in: "w", found: true},
		"in a folder below":                   {command: "cd sub && " + quiet, in: "w/sub", person: "w", found: true},
		"in a folder below, printed":          {command: "cd sub; " + commit, in: "w/sub", person: "w", found: true},
		"in another repository":               {command: strings.Replace(quiet, "git", "git -C ../other", 1), in: "other", person: "w", found: true},
		"in another repository, printed":      {command: "git -C ../other add . && " + strings.Replace(commit, "git", "git -C ../other", 1), in: "other", person: "w", found: true},
		"in another repository, twice":        {command: "git -C ../other add . && " + strings.Replace(quiet, "git", "git -C ../other", 1), in: "other", person: "w", found: true},
		"in another repository, then here":    {command: "git -C ../other add . && " + quiet, in: "w", person: "other"},
		"in two others":                       {command: "git -C ../w add . && " + strings.Replace(quiet, "git", "git -C ../other", 1), in: "other", person: "w"},
		"in another repository, in a folder":  {command: "cd sub && " + strings.Replace(quiet, "git", "git -C ../../other", 1), in: "other", person: "w"},
		"there and back":                      {command: "cd ../other && cd ../w && " + quiet, in: "w", person: "other"},
		"in a subshell":                       {command: "(cd ../other && " + quiet + ")", in: "other", person: "w"},
		"by the environment":                  {command: "GIT_DIR=../other/.git GIT_WORK_TREE=../other " + quiet, in: "other", person: "w"},
		"by the exported environment":         {command: "export GIT_DIR=../other/.git && " + quiet, in: "other", person: "w"},
		"in a worktree":                       {command: "git worktree add -q ../wt -b topic && cd ../wt && " + commit, in: "wt", person: "w", found: true},
		"by the call's own folder":            {command: quiet, input: `,"workdir":"../other"`, in: "other", person: "w", found: true},
		"in a folder by a variable":           {command: `d=../other; cd "$d" && ` + quiet, in: "other", person: "w"},
		"in a folder that is gone":            {command: "git worktree add -q ../wt -b topic && cd ../wt && " + commit + " && cd ../w && git worktree remove ../wt", in: "wt"},
		"only named":                          {command: `true gh pr create --title "fix the login page" --body "one commit"`, person: "w"},
		"only searched":                       {command: `git log --grep "commit" --grep "fix the login page"`, person: "w"},
		"with a longer subject":               {command: `git commit -q --allow-empty -m "fix the login page too"`, in: "w", person: "w", found: true},
		"only in the body":                    {command: `git commit -q --allow-empty -m one -m "fix the login page"`, in: "w", person: "w"},
		"not made at all":                     {command: `git commit -q --dry-run --allow-empty -m "fix the login page"`, person: "w"},
		"of another's output, a minute later": {command: `cat ../other.log`, person: "w"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			run := func(in, command string) string {
				cmd := exec.CommandContext(context.Background(), "sh", "-c", command) //nolint:gosec // The test's.
				cmd.Dir = filepath.Join(base, in)
				cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", b.clock.Now().Unix()))
				out, _ := cmd.CombinedOutput()
				return string(out)
			}
			for _, dir := range []string{"w", "w/sub", "other"} {
				run("", "git init -q -b main "+dir)
				run(dir, "git commit -q --allow-empty -m 'the first commit of "+dir+"'")
			}
			b.clock.Advance(time.Minute)
			if tt.command == "cat ../other.log" {
				run("w", commit+" > ../other.log")
				b.clock.Advance(time.Minute)
			}
			input, err := json.Marshal(tt.command)
			if err != nil {
				t.Fatal(err)
			}
			call := func(event, more string) spool.Record {
				r := said(event, "p1", fmt.Sprintf(`"tool_name":"Bash","tool_input":{"command":%s%s},"tool_use_id":"t"%s`, input, tt.input, more))
				r.Payload = []byte(strings.Replace(string(r.Payload), `"/w"`, `"`+filepath.Join(base, "w")+`"`, 1))
				return r
			}
			b.append(turn("p1")[0], call("PreToolUse", ""))
			b.clock.Advance(time.Second)
			if tt.person != "" {
				run(tt.person, quiet)
			}
			before := run(cmp.Or(tt.in, "w"), "git rev-parse HEAD")
			in := "w"
			if tt.input != "" {
				in = "other"
			}
			out, err := json.Marshal(run(in, tt.command))
			if err != nil {
				t.Fatal(err)
			}
			want := run(cmp.Or(tt.in, "w"), "git rev-parse HEAD")
			if strings.Contains(name, "gone") {
				want = run("w", "git rev-parse topic")
			}
			if tt.in == "" {
				want = ""
			} else if want == before {
				t.Fatalf("the call made no commit: %s", out)
			}
			b.clock.Advance(time.Second)
			key := b.append(call("PostToolUse", `,"tool_response":`+string(out)), turn("p1")[3])
			b.clock.Advance(time.Minute)
			d := b.claudeDeliverer(nil, Destination{Name: "store", Client: &memory{}, Local: true})
			d.Look = checkout.At
			b.run(d, Pass{})
			w, err := readWhereabouts(b.session(key))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, ids := range w.Commits {
				got = append(got, ids...)
			}
			want = strings.TrimSpace(want)
			if len(got) > 1 || len(got) == 1 && got[0] != want || tt.found && len(got) == 0 {
				t.Errorf("got %v, want %s, found %v\n%s", got, want, tt.found, out)
			}
		})
	}
}

// TestCommitOfACallThatEndsAfterItsTask has a call that commits after its task was delivered, and
// whose end no hook reports, while an earlier task is open. The agent's files say that it succeeded.
func TestCommitOfACallThatEndsAfterItsTask(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		skip.Missing(t, "git is not installed")
	}
	for status, want := range map[hook.ToolStatus]int{hook.ToolOK: 1, hook.ToolFailed: 0} {
		b := newBench(t)
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		run := func(command string) {
			cmd := exec.CommandContext(context.Background(), "sh", "-c", command) //nolint:gosec // The test's.
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", b.clock.Now().Unix()))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v, %s", command, err, out)
			}
		}
		run("git init -q -b main && git commit -q --allow-empty -m first")
		in := func(r spool.Record) spool.Record {
			r.Payload = []byte(strings.Replace(string(r.Payload), `"/w"`, `"`+dir+`"`, 1))
			return r
		}
		var files []hook.ToolResult
		d := b.claudeDeliverer(func(Facts) *hook.Transcript { return &hook.Transcript{ToolResults: files} }, Destination{Name: "store", Client: &memory{}, Local: true})
		d.Look = checkout.At
		src := d.Sources[hook.HostClaude]
		decode := src.Decode
		src.Decode = func(r *spool.Record) ([]hook.Event, error) {
			events, err := decode(r)
			for i := range events {
				if events[i].Kind == hook.KindToolEnd {
					events[i].Tool.Status = hook.ToolUnknown
				}
			}
			return events, err
		}
		d.Sources[hook.HostClaude] = src
		const commit = `"tool_name":"Bash","tool_input":{"command":"git commit -q --allow-empty -m 'fix the login page'"},"tool_use_id":"t"`
		b.append(in(turn("p0")[0]), in(said("SubagentStart", "p0", `"agent_id":"a1","agent_type":"Explore"`)), in(turn("p0")[3]))
		b.clock.Advance(time.Minute)
		b.append(in(turn("p1")[0]), in(said("PreToolUse", "p1", commit)), in(turn("p1")[3]))
		b.clock.Advance(time.Minute)
		b.run(d, Pass{})
		b.clock.Advance(time.Minute)
		run("git commit -q --allow-empty -m 'fix the login page'")
		b.clock.Advance(time.Minute)
		files = append(files, hook.ToolResult{ID: "t", Status: status})
		key := b.append(in(said("PostToolUse", "p1", commit+`,"tool_response":""`)))
		b.clock.Advance(time.Minute)
		b.run(d, Pass{})
		w, err := readWhereabouts(b.session(key))
		if err != nil || len(w.Commits) != want {
			t.Errorf("the files say %v: found %v, %v, want %d commits", status, w.Commits, err, want)
		}
	}
}
