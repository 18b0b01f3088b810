package view

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// TestPullRequestsAreKnownFromTheCallsThatMadeThem has what may be taken for the pull request of a
// branch and is not: then there is none.
func TestPullRequestsAreKnownFromTheCallsThatMadeThem(t *testing.T) {
	const (
		repo  = "https://github.com/o/shop"
		seven = repo + "/pull/7"
	)
	fix, mine := store.Checkout{Repository: repo, Branch: "fix"}, store.Checkout{Repository: repo, Branch: "mine"}
	for name, c := range map[string]struct {
		command, result string
		// other is another command between the same requests, before and after what was checked out.
		other         string
		before, after string
		want          store.Checkout
		url           string
	}{
		"made":                       {command: "gh pr create --fill", result: seven, want: fix, url: seven},
		"made by the other name":     {command: "gh pr new --fill", result: seven, want: fix, url: seven},
		"made with a warning":        {command: "git push -u origin fix && gh pr create --fill 2>&1 | tail -2", result: "Warning: 1 uncommitted change\n" + seven + "\n", want: fix, url: seven},
		"made with a text":           {command: "gh pr create --title \"a; b\" --body \"$(cat <<'EOF'\n## What\n- it's `gh pr view`\nEOF\n)\"", result: seven, want: fix, url: seven},
		"made for another branch":    {command: "cd /elsewhere && gh pr create --head mine", result: seven, want: mine, url: seven},
		"made from a fork":           {command: "gh pr create --head me:mine", result: seven, want: mine, url: seven},
		"made on a new branch":       {command: "git checkout -b fix && gh pr create --fill", before: "main", result: seven, want: fix, url: seven},
		"on GitLab":                  {command: "glab mr create --fill", result: "\n!3 Fix it (fix)\n https://gitlab.com/g/sub/shop/-/merge_requests/3\n", want: fix, url: "https://gitlab.com/g/sub/shop/-/merge_requests/3"},
		"checked out":                {command: "gh pr checkout 12", before: "main", after: "theirs", result: "From https://github.com/o/shop\n * [new branch] theirs -> origin/theirs\nSwitched to a new branch 'theirs'\nbranch 'theirs' set up", want: store.Checkout{Repository: repo, Branch: "theirs"}, url: repo + "/pull/12"},
		"checked out by its address": {command: "gh pr checkout " + seven, result: "Switched to branch 'fix'", want: fix, url: seven},

		"viewed":                                {command: "gh pr view 7", result: seven},
		"viewed after another was not made":     {command: "gh pr create --fill; gh pr view 7 --json url -q .url", result: seven},
		"viewed if none was made":               {command: "gh pr create --fill || gh pr view 7 --json url -q .url", result: seven},
		"only named":                            {command: "echo gh pr create; cat notes.md", result: seven},
		"named in a text":                       {command: "cat > notes.md <<EOF\ngh pr create\nEOF", result: seven},
		"commented on":                          {command: "gh pr comment 7 --body 'gh pr create'", result: seven},
		"two addresses":                         {command: "gh pr create --fill", result: seven + "\n" + repo + "/pull/8"},
		"an address in a sentence":              {command: "gh pr create --web", result: "Opening " + seven + " in your browser."},
		"in another folder":                     {command: "cd ../other && gh pr create --fill", result: seven},
		"of another repository":                 {command: "gh pr create --fill", result: "https://github.com/o/web/pull/7"},
		"of a branch that was left":             {command: "gh pr create --fill", before: "other", result: seven},
		"beside a switch":                       {command: "gh pr create --fill", other: "git switch other && git switch fix", result: seven},
		"of a branch that a variable names":     {command: `gh pr create --head "$(git branch --show-current)"`, result: seven},
		"of the default branch":                 {command: "gh pr create --head main", result: seven},
		"of the branch that it is to be merged": {command: "gh pr create --head rel --base rel", result: seven},
		"of a branch that is not known":         {command: "gh pr create --fill", before: "-", after: "-", result: seven},
		"checked out from where is not known":   {command: "gh pr checkout 7", result: "Switched to branch 'fix'"},
		"no address":                            {command: "gh pr checkout https://example.com/x", result: "Switched to branch 'fix'"},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(branch string) store.Checkout {
				switch branch {
				case "":
					branch = "fix"
				case "-":
					branch = ""
				}
				return store.Checkout{Repository: repo, Branch: branch}
			}
			call := func(span, command, result string, second int) store.Call {
				return store.Call{Span: span, Tool: "Bash", Status: otelmap.EndOK, Started: t0.Add(time.Duration(second) * time.Second), Arguments: rawjson.Encode(map[string]string{"command": command}), Result: result}
			}
			w := &store.Work{
				Summary:  store.Summary{Started: t0, Ended: t0.Add(time.Minute)},
				Requests: []store.Request{{Started: t0, Checkout: at(c.before)}, {Started: t0.Add(10 * time.Second), Checkout: at(c.after)}},
				Calls:    []store.Call{call("a", c.other, "", 1), call("b", c.command, c.result, 2)},
			}
			want, got := make(Pulls), make(Pulls)
			if c.url != "" {
				want[c.want] = c.url
			}
			got.add(w)
			if len(got) != len(want) || got[c.want] != want[c.want] {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestBranchOfTwoPullRequestsIsOfNone: which of them a request was for is not known.
func TestBranchOfTwoPullRequestsIsOfNone(t *testing.T) {
	b := store.Checkout{Repository: "https://github.com/o/shop", Branch: "fix"}
	of := func(number string) *store.Work {
		return &store.Work{Rest: b, Requests: []store.Request{{Started: t0, Checkout: b}}, Calls: []store.Call{{
			Started: t0.Add(time.Second), Arguments: `{"command":"gh pr create"}`, Result: b.Repository + "/pull/" + number,
		}}}
	}
	got := make(Pulls)
	got.add(of("7"))
	got.add(of("7"))
	if got[b] != b.Repository+"/pull/7" || len(got.Named("7")) != 1 || len(got.Named("o/shop/pull/7")) != 1 || len(got.Named("17")) != 0 {
		t.Errorf("one made twice: %v", got)
	}
	got.add(of("8"))
	got.add(of("7"))
	if got[b] != "" || len(got.Named("7")) != 0 {
		t.Errorf("two: %v", got)
	}
}
