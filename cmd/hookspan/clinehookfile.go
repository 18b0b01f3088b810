package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/regular"
	"github.com/hookspan/hookspan/internal/termtext"
)

// agentHooks names the package that wrote such entries before; npm has it no
// more. Its entries are the user's.
const agentHooks = "@principal-ai/agent-hooks"

// passOnTimeout is the time limit of an entry.
const passOnTimeout = 30 * time.Second

// exitBadFile is the exit code for a hooks.json that cannot be understood.
const exitBadFile exitError = 3

// passedOn are the events that cline-hook --enable writes entries for: all that
// Cline gives in Claude's form. The agent-hooks family lists PermissionRequest as
// well, which never comes, and leaves out the ends of calls and turns that fail.
func passedOn() []hookfile.Handler {
	var all []hookfile.Handler
	for _, event := range hookfile.Events() {
		all = append(all, hookfile.Handler{Event: event, Type: hookfile.TypeCommand, Timeout: passOnTimeout})
	}
	return all
}

// passesOn reports an entry that starts our cline-hook with a port or a folder.
func passesOn(h hookfile.Handler) bool {
	if h.Type != hookfile.TypeCommand || namesAgentHooks(h) {
		return false
	}
	words := append(strings.Fields(h.Command), h.Args...)
	program := slices.IndexFunc(words, func(w string) bool {
		w = strings.Trim(w, `'"`)
		w = w[strings.LastIndexAny(w, `/\`)+1:]
		return w == "cline-hook" || w == "cline-hook.exe"
	})
	return program >= 0 && slices.ContainsFunc(words[program+1:], func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return name == "--port" || name == "--dir"
	})
}

func namesAgentHooks(h hookfile.Handler) bool {
	return strings.Contains(h.Command+" "+strings.Join(h.Args, " "), agentHooks)
}

// hooksOutcome is what --json prints.
type hooksOutcome struct {
	Success    bool     `json:"success"`
	Agent      string   `json:"agent"`
	Action     string   `json:"action"`
	ConfigPath string   `json:"configPath"`
	HookCount  int      `json:"hookCount"`
	HookTypes  []string `json:"hookTypes"`
	// Foreign are the entries of the agent-hooks package.
	Foreign int    `json:"agentHooksCount,omitempty"`
	Backup  string `json:"backup,omitempty"`
	Error   string `json:"error,omitempty"`
}

// clineHookOrder carries out --enable, --disable or --status.
func (a *app) clineHookOrder(f clineHookFlags) error {
	if a.clineDir() == "" {
		return errors.New("no home folder is known: set HOME")
	}
	out := hooksOutcome{Agent: "cline", Action: "status", ConfigPath: filepath.Join(a.clineDir(), "hooks.json"), HookTypes: []string{}}
	var err error
	switch {
	case f.enable:
		out.Action = "enable"
		var command string
		if command, err = a.passOnCommand(f); err == nil {
			out.Backup, err = editHooks(out.ConfigPath, func(text []byte) ([]byte, error) { return enableHooks(out.ConfigPath, text, command) })
		}
	case f.disable:
		out.Action = "disable"
		if _, serr := os.Lstat(out.ConfigPath); serr == nil {
			out.Backup, err = editHooks(out.ConfigPath, func(text []byte) ([]byte, error) {
				rest, _, err := hookfile.Remove(text, passesOn)
				return rest, unreadable(out.ConfigPath, err)
			})
		}
	}
	if err == nil {
		err = out.count()
	}
	out.Success = err == nil
	if err != nil {
		out.Error = err.Error()
	}
	if f.asJSON {
		return errors.Join(a.printJSON(out), codeOf(err))
	}
	if err != nil {
		var bad *badFileError
		if !errors.As(err, &bad) {
			return err
		}
		a.warnf("%s", termtext.Value(err.Error()))
		a.hint("fix the file by hand; nothing was changed")
		return exitBadFile
	}
	state := "disabled"
	if out.HookCount > 0 {
		state = "enabled"
	}
	a.printf("Cline hooks: %s (%s)\n", state, termtext.Plural(out.HookCount, "hook"))
	if out.Foreign > 0 {
		a.printf("%s of %s in the file: kept as found\n", termtext.Plural(out.Foreign, "hook"), agentHooks)
	}
	if out.Backup != "" {
		a.printf("the file as it was: %s\n", out.Backup)
	}
	return nil
}

// badFileError is a hooks.json that cannot be understood.
type badFileError struct{ error }

func (e *badFileError) Unwrap() error { return e.error }

func unreadable(path string, err error) error {
	if err == nil {
		return nil
	}
	text := err
	if !strings.Contains(err.Error(), path) {
		text = fmt.Errorf("hooks %q: %w", path, err)
	}
	return &badFileError{text}
}

// codeOf is the exit code for an error that is told already.
func codeOf(err error) error {
	var bad *badFileError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		return exitBadFile
	}
	return exitError(1)
}

// editHooks changes the user's hooks.json. backup is where the text before is
// kept, empty where nothing was changed or there was no file.
func editHooks(path string, edit func([]byte) ([]byte, error)) (backup string, err error) {
	f, err := openHooks(path, false)
	if syntax := (*hookfile.SyntaxError)(nil); errors.As(err, &syntax) {
		return "", unreadable(path, syntax)
	}
	if err != nil {
		return "", err
	}
	after, err := edit(f.data)
	if err != nil || f.exists && bytes.Equal(f.data, after) {
		return "", err
	}
	if err := f.write(after); err != nil || !f.exists {
		return "", err
	}
	return f.target + hooksBackup, nil
}

// enableHooks gives each event one entry with this command, and leaves all else
// as it is.
func enableHooks(path string, text []byte, command string) ([]byte, error) {
	for _, want := range passedOn() {
		want.Command = command
		f, err := hookfile.Parse(path, text)
		if err != nil && len(text) > 0 {
			return nil, unreadable(path, err)
		}
		var ours []hookfile.Handler
		if f != nil {
			ours = slices.DeleteFunc(slices.Clone(f.Handlers), func(h hookfile.Handler) bool { return h.Event != want.Event || !passesOn(h) })
		}
		if len(ours) == 1 && ours[0].Command == command && ours[0].Args == nil && (ours[0].Matcher == "" || ours[0].Matcher == "*") {
			continue
		}
		if len(ours) > 0 {
			text, _, err = hookfile.Remove(text, func(h hookfile.Handler) bool { return h.Event == want.Event && passesOn(h) })
			if err != nil {
				return nil, unreadable(path, err)
			}
		}
		if text, _, err = hookfile.Add(text, want); err != nil {
			return nil, unreadable(path, err)
		}
	}
	return text, nil
}

// count counts the entries in the file.
func (o *hooksOutcome) count() error {
	text, err := regular.Read(o.ConfigPath, regular.Options{Max: maxHooksFile})
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	f, err := hookfile.Parse(o.ConfigPath, text)
	if err != nil {
		return unreadable(o.ConfigPath, err)
	}
	for _, h := range f.Handlers {
		switch {
		case namesAgentHooks(h):
			o.Foreign++
		case passesOn(h):
			o.HookCount++
			if !slices.Contains(o.HookTypes, h.Event) {
				o.HookTypes = append(o.HookTypes, h.Event)
			}
		}
	}
	return nil
}

// passOnCommand is the shell line of an entry.
func (a *app) passOnCommand(f clineHookFlags) (string, error) {
	program, err := a.hookBinary("")
	if err != nil {
		return "", err
	}
	words := []string{a.shellWord(program)}
	ports, file := a.receivers(f)
	for _, port := range ports {
		words = append(words, "--port", strconv.Itoa(port))
	}
	dir, err := filepath.Abs(file.Dir)
	if err != nil {
		return "", fmt.Errorf("--dir %q: %w", file.Dir, err)
	}
	words = append(words, "--dir")
	if rest, ok := strings.CutPrefix(dir, a.home+string(filepath.Separator)); ok && a.home != "" && plainWord(rest) && a.goos != "windows" {
		return strings.Join(append(words, "~/"+rest), " "), nil
	}
	return strings.Join(append(words, a.shellWord(dir)), " "), nil
}

// shellWord quotes a word for the shell that runs hooks.
func (a *app) shellWord(word string) string {
	switch {
	case plainWord(word):
		return word
	case a.goos == "windows":
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plainWord reports a word that means itself to any shell.
func plainWord(word string) bool {
	return word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-", r)
	}) < 0
}
