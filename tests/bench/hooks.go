package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/spool"
)

// Names of the contestants that are compared with each other.
const (
	bareHook  = "`sh -c true`"
	noHooks   = "cline-hook, no hooks.json"
	noMatch   = "cline-hook, hooks.json of which nothing fits"
	oneHook   = "cline-hook, one hook `true`"
	manyHooks = "cline-hook, 8 hooks"
)

// addHooks adds the calls in which the user's hooks run, and what they are
// compared with. Every hook is the shell's true.
func (f *field) addHooks(add func(name string, argv ...string) *contestant) error {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return nil // There is nothing to run them with.
	}
	add(bareHook, sh, "-c", "true")
	for i, c := range []struct {
		name, matcher string
		hooks         int
	}{
		{name: noHooks},
		{noMatch, "Bash", 1},
		{oneHook, "Read", 1},
		{manyHooks, "Read", 8},
	} {
		home := filepath.Join(f.root, fmt.Sprintf("home-hooks-%d", i))
		text, err := hooksFile(c.matcher, c.hooks)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(home, ".cline"), 0o700); err != nil {
			return err
		}
		if c.hooks > 0 {
			if err := os.WriteFile(filepath.Join(home, ".cline", "hooks.json"), text, 0o600); err != nil {
				return err
			}
		}
		p := add(c.name, f.program("cline-hook"), "PostToolUse")
		p.env = append(f.environ(home), "XDG_STATE_HOME="+filepath.Dir(filepath.Dir(state(p))))
		p.hooks = c.hooks > 0
		// Hooks do not run again for an event that comes again.
		event, turns := p.payload, 0
		p.before = func() error {
			turns++
			p.payload = bytes.Replace(event, []byte(stamp), fmt.Appendf(nil, "%d", 1776506405123+turns), 1)
			return nil
		}
	}
	return nil
}

// checkHooks fails where a contestant whose hooks were to run has no record of
// them: its figures would be those of nothing.
func (f *field) checkHooks() error {
	for _, c := range f.contestants {
		if !c.hooks || c.name == noMatch || len(c.took) == 0 {
			continue
		}
		ran, err := hooksRan(c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if ran < len(c.took) {
			return fmt.Errorf("%s: hooks ran in %d of %d calls at most", c.name, ran, len(c.took))
		}
	}
	return nil
}

// hooksRan is how many of the contestant's calls left a record of their hooks.
func hooksRan(c *contestant) (n int, err error) {
	sp, err := spool.Open(state(c), spool.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, sp.Close()) }()
	s, err := sp.Session(spool.SessionKey(hook.HostCline, session))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, _, err := s.Tail(1 << 40)
	if err != nil {
		return 0, err
	}
	for r.Next() {
		if r.Record().Event == cline.HookRunsEvent {
			n++
		}
	}
	return n, errors.Join(r.Err(), r.Close())
}

// hooksFile is a hooks.json with n hooks on PostToolUse. Each is of another
// spelling, as the same hook runs once.
func hooksFile(matcher string, n int) ([]byte, error) {
	hooks := make([]map[string]any, n)
	for i := range hooks {
		hooks[i] = map[string]any{"type": "command", "command": "true" + strings.Repeat(" ", i)}
	}
	text, err := json.Marshal(map[string]any{"hooks": map[string]any{
		"PostToolUse": []any{map[string]any{"matcher": matcher, "hooks": hooks}},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode a hooks.json: %w", err)
	}
	return text, nil
}

// hooksCost says what hooks cost a call of cline-hook, by the medians of the
// contestants that took part.
func hooksCost(contestants []*contestant) []string {
	byName := make(map[string]*contestant)
	for _, c := range contestants {
		if len(c.took) > 0 {
			byName[c.name] = c
		}
	}
	var out []string
	for _, p := range []struct{ what, of, than string }{
		{"a hooks.json of which nothing fits", noMatch, noHooks},
		{"one hook", oneHook, noHooks},
		{"one hook, to running it alone", oneHook, bareHook},
		{"8 hooks, to one", manyHooks, oneHook},
	} {
		of, than := byName[p.of], byName[p.than]
		if of == nil || than == nil {
			continue
		}
		x, y := quantile(of.took, 0.5), quantile(than.took, 0.5)
		out = append(out, fmt.Sprintf("%s: %s ms more at p50, %.2f times", p.what, millis(x-y), float64(x)/float64(y)))
	}
	return out
}

// hookLines are the calls of the short table, beside a program that does nothing.
func hookLines(contestants []*contestant) []line {
	var lines []line
	for _, c := range contestants {
		var what, aim string
		switch {
		case strings.Contains(c.name, "10^3 events stored"):
			what, aim = "a hook call", "1.5 times"
		case strings.Contains(c.name, "first event"):
			what, aim = "a hook call: first event of a session", "1.7 times"
		case c.name == noMatch:
			what, aim = "a hook call with a hooks.json of which nothing fits", "1.7 times"
		case c.name == oneHook:
			what, aim = "a hook call that runs one hook `true`", "5 times"
		}
		if what != "" && len(c.took) > 0 && c.base != nil {
			lines = append(lines, line{
				what: what, unit: "ms", ours: quantile(c.took, 0.5).Seconds() * 1e3,
				least: "a Go program that does nothing", limit: quantile(c.base.took, 0.5).Seconds() * 1e3, aim: aim,
			})
		}
	}
	return lines
}
