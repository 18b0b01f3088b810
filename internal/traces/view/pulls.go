package view

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/pattern"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// Pulls are the addresses of pull requests by their branches. One with several is of none of them.
type Pulls map[store.Checkout]string

// PullsOf finds the pull requests that calls in the store made or checked out: of all tasks, since
// another task may have made that of a branch. No other program and no network is asked. Rows in
// an agent's files that name a pull request are no proof: Claude Code also writes them for one
// that was merged, commented on or viewed.
func PullsOf(ctx context.Context, s *store.Store) (Pulls, error) {
	out := make(Pulls)
	for _, text := range []string{`"pr create"`, `"pr new"`, `"pr checkout"`, `"mr create"`} {
		if err := s.EachWhole(ctx, store.Filter{Text: text}, func(w *store.Work) error { out.add(w); return nil }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Named returns the branches of a pull request, which is named by its address, the end of it, or
// its number.
func (p Pulls) Named(name string) (out []store.Checkout) {
	for c, url := range p {
		if url != "" && (url == name || strings.HasSuffix(url, "/"+strings.TrimLeft(name, "#!/"))) {
			out = append(out, c)
		}
	}
	return out
}

// Of returns the pull requests for which a task made requests, sorted.
func (p Pulls) Of(w *store.Work) (urls []string) {
	for _, r := range w.Requests {
		if url := p[r.Checkout]; url != "" && !slices.Contains(urls, url) {
			urls = append(urls, url)
		}
	}
	slices.Sort(urls)
	return urls
}

func (p Pulls) add(w *store.Work) {
	for i := range w.Calls {
		c, url := pullOf(w, &w.Calls[i])
		if !pullLine().MatchString(url) || c.Branch == "" || c.Repository == "" || slices.Contains(defaultBranches, c.Branch) || lastPart(c.Repository) != pullRepository(url) {
			continue
		}
		if known, there := p[c]; there && known != url {
			url = ""
		}
		p[c] = url
	}
}

// defaultBranches are never a pull request's.
var defaultBranches = []string{"main", "master", "trunk", "develop", "development", "dev", "default"}

// pullLine matches a line that is the address of a pull request, switched the branch that git
// names, and fetched the repository that it reads.
var (
	pullLine = pattern.Of(`(?m)^[ \t]*(https://[^\s/]+/\S+/(?:pull|-/merge_requests)/[0-9]+)[ \t]*$`)
	switched = pattern.Of(`(?m)^(?:Switched to a new branch|Switched to branch|Already on) '([^']+)'\r?$`)
	fetched  = pattern.Of(`(?m)^From (\S+)\r?$`)
)

// pullRepository is the last part of the name of a pull request's repository.
func pullRepository(url string) string {
	url, _, _ = strings.Cut(url, "/pull/")
	url, _, _ = strings.Cut(url, "/-/merge_requests/")
	return lastPart(url)
}

// pullOf returns the pull request that a call made or checked out, and its branch. In doubt there
// is none.
func pullOf(w *store.Work, c *store.Call) (at store.Checkout, url string) {
	command := commandIn(c)
	words := pullCommand(command)
	if len(words) < 3 {
		return at, ""
	}
	before, after, alone := around(w, c)
	at.Repository = after.Repository
	if words[2] == "checkout" {
		branch, from := switched().FindAllStringSubmatch(c.Result, -1), fetched().FindAllStringSubmatch(c.Result, -1)
		arg := words[len(words)-1]
		switch {
		case len(branch) != 1 || len(words) != 4 || strings.Contains(command, "cd "):
		case strings.HasPrefix(arg, "https://"):
			url = arg
		case len(from) == 1 && strings.Trim(arg, "0123456789") == "":
			if _, repository := hook.RepositoryAt(from[0][1]); repository != "" {
				url = repository + "/pull/" + arg
			}
		}
		if url != "" {
			at.Branch = branch[0][1]
		}
		return at, url
	}
	lines := pullLine().FindAllStringSubmatch(c.Result, -1)
	if len(lines) != 1 {
		return at, ""
	}
	head, base := valueOf(words, "--head", "-H", "--source-branch", "-s"), valueOf(words, "--base", "-B", "--target-branch", "-b")
	_, own, forked := strings.Cut(head, ":")
	switch {
	case forked:
		at.Branch = own
	case head != "":
		at.Branch = head
	case !alone || strings.Contains(command, "cd ") || strings.Contains(command, "GH_REPO"):
		return at, ""
	case !moves(command) && before == after, moves(command) && slices.Contains(strings.Fields(command), after.Branch):
		at.Branch = after.Branch
	}
	if at.Branch == base || strings.ContainsAny(at.Branch, "$`\"'(") {
		return at, ""
	}
	return at, lines[0][1]
}

// commandIn is the command of a shell's call.
func commandIn(c *store.Call) string {
	o := rawjson.Members([]byte(c.Arguments))
	return strings.Join(slices.Collect(rawjson.Strings(o.Get("command", "commands", "cmd"))), " ")
}

// moves reports a command that may check out another branch.
func moves(command string) bool {
	return slices.ContainsFunc([]string{"checkout", "switch", "branch -", "rebase", "symbolic-ref", "bisect", "worktree", "stash branch"}, func(s string) bool {
		return strings.Contains(command, s)
	})
}

// around returns what was checked out at the requests before and after a call of the same agent.
// alone is false if another call between them may have changed it.
func around(w *store.Work, c *store.Call) (before, after store.Checkout, alone bool) {
	from, to := w.Summary.Started, w.Summary.Ended
	if c.AgentSpan == "" {
		after = w.Rest
	}
	for i := range w.Requests {
		r := &w.Requests[i]
		if r.AgentSpan != c.AgentSpan {
			continue
		}
		if r.Started.After(c.Started) {
			after, to = r.Checkout, r.Started
			break
		}
		before, from = r.Checkout, r.Started
	}
	return before, after, !slices.ContainsFunc(w.Calls, func(o store.Call) bool {
		return o.Span != c.Span && !o.Started.Before(from) && !o.Started.After(to) && moves(commandIn(&o))
	})
}

// pullCommand returns the words of the command that makes or checks out a pull request, if it is
// the last one but for those that its output is piped to, and no other asks about pull requests.
func pullCommand(command string) (words []string) {
	for i, part := range slices.Backward(shellParts(strings.TrimSpace(command))) {
		of := slices.DeleteFunc(strings.Fields(part.text), func(word string) bool { return strings.Contains(word, ">") })
		for len(of) > 0 && (strings.Contains(of[0], "=") || slices.Contains([]string{"bash", "sh", "zsh", "-lc", "-c", "env"}, of[0])) {
			of = of[1:]
		}
		switch {
		case len(of) == 0 || of[0] != "gh" && of[0] != "glab":
			if words == nil && (i == 0 || part.after != "|") {
				return nil // its output, and its success, are the last one's
			}
		case words != nil || len(of) < 3 || !slices.Contains([]string{"gh pr create", "gh pr new", "gh pr checkout", "glab mr create"}, strings.Join(of[:3], " ")):
			return nil
		default:
			words = of
		}
	}
	return words
}

type shellPart struct{ text, after string }

// shellParts splits a command line at what is between commands, outside of quotes. after is what
// is before a part.
func shellParts(command string) (out []shellPart) {
	quote, start, after := rune(0), 0, ""
	for i, r := range command {
		switch {
		case i < start:
		case r == quote:
			quote = 0
		case quote != 0:
		case r == '"' || r == '\'':
			quote = r
		case strings.ContainsRune(";&|\n", r) && !(r == '&' && (strings.HasSuffix(command[:i], ">") || strings.HasPrefix(command[i:], "&>"))):
			out = append(out, shellPart{command[start:i], after})
			start, after = i+utf8.RuneLen(r), string(r)
			if strings.HasPrefix(command[start:], after) && r != '\n' {
				start, after = start+1, after+after
			}
		}
	}
	return append(out, shellPart{command[start:], after})
}

// valueOf returns the value of an option among words.
func valueOf(words []string, names ...string) string {
	for i, word := range words {
		for _, name := range names {
			if value, ok := strings.CutPrefix(word, name+"="); ok {
				return strings.Trim(value, `"'`)
			}
			if word == name && i+1 < len(words) {
				return strings.Trim(words[i+1], `"'`)
			}
		}
	}
	return ""
}
