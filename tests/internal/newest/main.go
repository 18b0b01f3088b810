// Command newest runs the end-to-end tests with the newest versions of the agents' programs
// on npm in place of those that the lock files pin, and prints what differs: tests that fail,
// among them those where hookspan names an event or a kind of row that it does not know, and
// members of payloads that no recorded payload has. It changes no file of the checkout.
//
// The exit code is 1 if anything differs. A test that fails may fail for want of time, too:
// -agent and "go test -run" do it once more.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/tests/internal/programs"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func main() {
	word := flag.String("agent", "", "run this agent alone, such as `codex`")
	again := flag.Bool("again", false, "run programs of which the newest version is pinned, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	same, err := run(ctx, os.Stdout, *word, *again)
	if err != nil {
		fmt.Fprintf(os.Stderr, "newest: %v\n", err)
	}
	if err != nil || !same {
		stop()
		os.Exit(1) //nolint:gocritic // The deferred stop has just run.
	}
}

// run reports that nothing differs.
func run(ctx context.Context, stdout io.Writer, word string, again bool) (same bool, err error) {
	cache, err := rig.DefaultCache()
	if err != nil {
		return false, err
	}
	folder := filepath.Join(cache, "newest")
	if err := errors.Join(os.RemoveAll(folder), os.Setenv(rig.NewestVariable, folder)); err != nil {
		return false, err
	}
	same = true
	for _, p := range programs.All() {
		if word != "" && p.Word != word || p.Held {
			continue
		}
		pinned := p.Version()
		if err := lock(ctx, filepath.Join(folder, p.Name), p.Program); err != nil {
			return false, fmt.Errorf("pin the newest %s: %w", p.Name, err)
		}
		if p.Version() == pinned && !again {
			fmt.Fprintf(stdout, "%s %s is the newest\n", p.Name, pinned)
			continue
		}
		differences, err := try(ctx, cache, p)
		if err != nil {
			return false, fmt.Errorf("run the tests of %s: %w", p.Name, err)
		}
		fmt.Fprintf(stdout, "%s %s in place of %s: %d differences\n%s", p.Name, p.Version(), pinned, len(differences), strings.Join(differences, ""))
		same = same && len(differences) == 0
	}
	return same, nil
}

// lock writes the package.json of a program's newest version into a folder.
func lock(ctx context.Context, dir string, p rig.Program) error {
	name, want := p.Package()
	of, suffix := name, ""
	if alias, isAlias := strings.CutPrefix(want, "npm:"); isAlias {
		of = alias[:strings.LastIndex(alias, "@")]
		if _, platform, found := strings.Cut(alias, "-linux"); found {
			suffix = "-linux" + platform
		}
	}
	version, err := exec.CommandContext(ctx, "npm", "view", of, "version").Output()
	if err != nil {
		return fmt.Errorf("ask npm for %s: %w", of, err)
	}
	newest := strings.TrimSpace(string(version)) + suffix
	if of != name {
		newest = "npm:" + of + "@" + newest
	}
	pinned, err := p.Manifests()
	if err != nil {
		return err
	}
	text := bytes.Replace(pinned["package.json"], []byte(`"`+name+`": "`+want+`"`), []byte(`"`+name+`": "`+newest+`"`), 1)
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "package.json"), text, 0o644))
}

// event is a line of "go test -json".
type event struct{ Action, Test, Output string }

// try runs the tests of a program and says what differs, a text with its line's end each.
func try(ctx context.Context, cache string, p programs.Driven) (differences []string, err error) {
	if _, err := p.Command(ctx, cache); err != nil {
		return nil, err
	}
	known, err := members(p.Word)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-json", "-timeout", "40m", "-run", p.Run, "./"+p.Tests)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	return differ(out, known)
}

// differ says what differs by the output of "go test -json", where these members are known.
func differ(out []byte, known map[string]bool) (differences []string, err error) {
	said, found := map[string]string{}, map[string]bool{}
	for line := range bytes.Lines(out) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if _, list, of := strings.Cut(e.Output, scenario.Members+" ["); of {
			for name := range strings.FieldsSeq(strings.TrimRight(list, "]\n")) {
				found[name] = true
			}
		} else {
			said[e.Test] += e.Output
		}
		if e.Action == "fail" {
			differences = append(differences, fmt.Sprintf("  failed: %s\n%s", e.Test, said[e.Test]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(known) > 0 && !known[name] {
			differences = append(differences, fmt.Sprintf("  a new member of payloads: %s\n", name))
		}
	}
	return differences, nil
}

// members are those of the recorded payloads of an agent.
func members(word string) (map[string]bool, error) {
	known := map[string]bool{}
	for _, s := range recorded.Sessions() {
		if s.Agent != word {
			continue
		}
		_, raws, err := s.Raws()
		if err != nil {
			return nil, err
		}
		for _, r := range raws {
			var payload map[string]json.RawMessage
			if err := json.Unmarshal(r.Payload, &payload); err != nil {
				return nil, fmt.Errorf("a recorded payload of %s: %w", word, err)
			}
			for name := range payload {
				known[name] = true
			}
		}
	}
	return known, nil
}
