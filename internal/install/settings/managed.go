package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// managedDir is the folder of an organisation's settings.
func (a *Spec) managedDir(sys install.System) string {
	return cmp.Or(a.ManagedDir[sys.GOOS], a.ManagedDir["linux"])
}

// managed lists the organisation's settings that hold hookspan's hooks.
func (a *Spec) managed(sys install.System) (places []install.Place) {
	for _, f := range a.Files(sys, "") {
		if f.Scope != install.ScopeManaged {
			continue
		}
		found, err := readSettings(f.Path)
		if err != nil || found.Missing() {
			continue
		}
		if e, err := a.open(a.asJSON(f.Path, found.Data), nil, inManaged); err == nil && len(e.find()) > 0 {
			places = append(places, a.place(install.ScopeManaged, f.Path, ""))
		}
	}
	return places
}

// inManaged reports that a program of hookspan's name in an organisation's settings is
// hookspan's: only the administrator can write there.
func inManaged(program string) bool {
	return filepath.IsAbs(program) || path.IsAbs(strings.ReplaceAll(program, `\`, "/")) || len(program) > 2 && program[1] == ':'
}

// planManaged plans to put hookspan's hooks into the organisation's settings, or to take
// them out.
func (a *Spec) planManaged(sys install.System, o install.Options, undo bool) (*install.Plan, error) {
	place := a.place(install.ScopeManaged, filepath.Join(a.managedDir(sys), a.ManagedHooks), "")
	found, err := readSettings(place.Path)
	if err != nil {
		return nil, err
	}
	f := &plannedFile{File: found, place: place}
	edit := a.editJSON
	if isTOML(place.Path) {
		edit = func(found install.File, w wantedHandler, undo bool) ([]byte, []change, error) {
			return a.editTOML(found, w, undo, inManaged)
		}
	}
	// Users may have other versions than the administrator: any runs these.
	w := a.wanted(sys.GOOS, o.Binary, Version{})
	w.force, w.flat = true, a.ManagedFlat
	if f.after, f.changes, err = edit(found, w, undo); err != nil {
		return nil, fmt.Errorf("settings %q: %w: nothing was changed", place.Path, err)
	}
	p := &install.Plan{Undo: undo}
	if err := f.removeLeft(p); err != nil {
		return nil, err
	}
	if len(f.changes) == 0 && !f.changed() {
		return p, nil
	}
	return p, f.addTo(p)
}

func (a *Spec) editJSON(found install.File, w wantedHandler, undo bool) (after []byte, changes []change, err error) {
	text := found.Data
	empty := cmp.Or(a.ManagedEmpty, "{}\n")
	if found.Missing() {
		text = []byte(empty)
	}
	e, err := a.open(text, emptied{"": ""}, inManaged)
	if err != nil {
		return nil, nil, err
	}
	if undo {
		changes, err = e.uninstall()
	} else {
		changes, err = e.install(w)
	}
	if undo && (found.Missing() || len(e.root.Items) == 0 || string(e.text) == empty) {
		return nil, changes, err
	}
	return e.text, changes, err
}

// The lines around hookspan's part of a TOML file.
const (
	tomlMark = "# hookspan: begin"
	tomlEnd  = "# hookspan: end\n"
)

// tomlBegin is the line before hookspan's part.
func (a *Spec) tomlBegin() string {
	of := "--managed"
	if a.Listed {
		of = a.Agent.Word
	}
	return fmt.Sprintf("%s; hookspan install %s writes it, hookspan uninstall %[2]s removes it\n", tomlMark, of)
}

func isTOML(name string) bool { return filepath.Ext(name) == ".toml" }

// editTOML writes hookspan's hooks as one part at the end of a TOML file, behind an empty line.
func (a *Spec) editTOML(found install.File, w wantedHandler, undo bool, ours func(string) bool) (after []byte, changes []change, err error) {
	before, had, err := withoutPart(found.Data)
	if err != nil {
		return nil, nil, err
	}
	if e, err := a.open(a.tomlHooks(found.Data), nil, ours); err == nil && !undo && !w.force {
		for _, h := range e.find() {
			if state, reason := w.judge(h.handler, h.event, h.matcher); state == install.StateEdited {
				changes = append(changes, change{op: install.OpEdited, event: h.event, reason: reason + "; nothing of the file is changed (--force takes it over)"})
			}
		}
		if len(changes) > 0 {
			return found.Data, changes, nil
		}
	}
	if a.Listed {
		before = a.withoutListed(before, ours)
		had = had || len(before) < len(found.Data)
	}
	if e, err := a.open(a.tomlHooks(before), nil, ours); err == nil && len(e.find()) > 0 {
		return nil, nil, fmt.Errorf("hookspan's hooks are there already, written by hand or without the lines %q and %q around them: take them out first", strings.TrimSpace(a.tomlBegin()), strings.TrimSpace(tomlEnd))
	}
	after = before
	if !undo {
		header, closed := a.hooksTable(string(before))
		if closed {
			return nil, nil, fmt.Errorf("its hooks are in a form that takes no more: write them as %s", a.tomlForm())
		}
		if len(after) > 0 {
			after = append(bytes.Clone(after), '\n')
		}
		after = append(after, a.tomlPart(w, !header)...)
	}
	op := install.OpCreate
	switch {
	case bytes.Equal(after, found.Data):
		op = install.OpKeep
	case undo:
		op = install.OpRemove
	case had:
		op = install.OpUpdate
	}
	if had || !undo {
		for _, ev := range a.Events {
			if w.version.has(ev.Since) {
				changes = append(changes, change{op: op, event: ev.Name})
			}
		}
	}
	if undo && len(bytes.TrimSpace(after)) == 0 && !a.Listed {
		after = nil
	}
	return after, changes, nil
}

// withoutListed takes hooks of hookspan's out of a list [[hooks]] that has lost the lines
// around them: an agent may write its file anew without comments. Comments behind them stay.
func (a *Spec) withoutListed(text []byte, ours func(string) bool) (rest []byte) {
	var hook []byte
	end := 0 // of the hook's last key
	keep := func() {
		if e, err := a.open(a.tomlHooks(hook), nil, ours); err != nil || len(e.find()) == 0 {
			end = 0
		}
		rest, hook = append(rest, hook[end:]...), nil
	}
	for line := range bytes.Lines(text) {
		plain := bytes.TrimSpace(line)
		if bytes.HasPrefix(plain, []byte("[")) {
			keep()
		}
		hook = append(hook, line...)
		if len(plain) > 0 && plain[0] != '#' {
			end = len(hook)
		}
	}
	keep()
	return rest
}

// withoutPart takes hookspan's part and the empty line before it out of a TOML file, whatever
// its lines end in.
func withoutPart(text []byte) (rest []byte, had bool, err error) {
	inside := false
	last := bytes.HasSuffix(bytes.TrimSpace(text), []byte(strings.TrimSpace(tomlEnd)))
	for line := range bytes.Lines(text) {
		switch plain := string(bytes.TrimSpace(line)); {
		case strings.HasPrefix(plain, tomlMark):
			inside, had = true, true
			if last || bytes.HasSuffix(rest, []byte("\n\n")) {
				rest = bytes.TrimSuffix(bytes.TrimSuffix(rest, []byte("\n")), []byte("\r"))
			}
		case inside && plain == strings.TrimSpace(tomlEnd):
			inside = false
		case !inside:
			rest = append(rest, line...)
		}
	}
	if inside {
		return nil, had, fmt.Errorf("the line %q is missing behind hookspan's part", strings.TrimSpace(tomlEnd))
	}
	return rest, had, nil
}

// hooksTable reports a TOML text's line [hooks], and hooks that are written as values or
// by dotted keys, to which TOML lets no table be added.
func (a *Spec) hooksTable(text string) (header, closed bool) {
	table := ""
	for line := range tomlLines(text) {
		line = strings.Join(strings.Fields(line), "")
		if strings.HasPrefix(line, "[") {
			table, _, _ = strings.Cut(line, "]")
		}
		header = header || table == "[hooks"
		value := func(ev Event) bool { return strings.HasPrefix(line, ev.Name+"=") }
		listed := a.Listed && (table == "[hooks" || strings.HasPrefix(table, "[hooks."))
		key := strings.NewReplacer(`"`, "", "'", "").Replace(line)
		closed = closed || listed || table == "[hooks" && slices.ContainsFunc(a.Events, value) ||
			table == "" && (strings.HasPrefix(key, "hooks=") || strings.HasPrefix(key, "hooks."))
	}
	return header, closed
}

// tomlPart is hookspan's part of a TOML file, with the line [hooks] if that is not there.
// The agent wants a folder of programs beside managed hooks, once in a file.
func (a *Spec) tomlPart(w wantedHandler, header bool) []byte {
	var b bytes.Buffer
	b.WriteString(a.tomlBegin())
	if header && !a.Listed {
		key := "managed_dir"
		if !w.guarded {
			key = "windows_managed_dir"
		}
		fmt.Fprintf(&b, "[hooks]\n%s = %s\n", key, jsonedit.Quote(path.Dir(w.binary)))
	}
	for _, ev := range a.Events {
		switch {
		case !w.version.has(ev.Since):
			continue
		case a.Listed:
			fmt.Fprintf(&b, "[[hooks]]\nevent = %s\n", jsonedit.Quote(ev.Name))
		default:
			fmt.Fprintf(&b, "[[hooks.%s]]\n[[hooks.%[1]s.hooks]]\n", ev.Name)
		}
		for _, f := range w.render(ev, "", nil) {
			if a.Listed && f.Key == "type" {
				continue
			}
			value, text := f.Value.(string)
			if text {
				fmt.Fprintf(&b, "%s = %s\n", f.Key, jsonedit.Quote(value))
			} else {
				fmt.Fprintf(&b, "%s = %v\n", f.Key, f.Value)
			}
		}
	}
	b.WriteString(tomlEnd)
	return b.Bytes()
}

// tomlLines yields the lines of a TOML text that are in no string or list of several lines, with
// headers without the quotes that keys may have.
func tomlLines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		inside, lists := "", 0
		for line := range strings.Lines(text) {
			within := inside != "" || lists > 0
			inside, lists = tomlAfter(line, inside, lists)
			if within {
				continue
			}
			if header := strings.TrimSpace(line); strings.HasPrefix(header, "[") {
				line = strings.NewReplacer(`"`, "", "'", "").Replace(header)
			}
			if !yield(line) {
				return
			}
		}
	}
}

// tomlAfter returns the quotes of the string of several lines and the number of the lists that are
// open behind a line, by those before it.
func tomlAfter(line, inside string, lists int) (string, int) {
	for len(line) > 0 {
		n := 1
		switch c := line[0]; {
		case inside != "" && strings.HasPrefix(line, inside):
			// A string may end in quotes before those that close it.
			n, inside = min(2*len(inside)-1, len(line)-len(strings.TrimLeft(line, inside[:1]))), ""
		case c == '\\' && strings.HasPrefix(inside, `"`):
			n = min(2, len(line))
		case inside != "":
		case c == '#':
			n = len(line)
		case c == '[':
			lists++
		case c == ']':
			lists = max(0, lists-1)
		case c == '"', c == '\'':
			n = min(3, len(line)-len(strings.TrimLeft(line, line[:1])))
			if n != 2 { // else it is empty
				inside = line[:n]
			}
		}
		line = line[n:]
	}
	if len(inside) == 1 {
		inside = ""
	}
	return inside, lists
}

// tomlForm is how hooks are written in a TOML file.
func (a *Spec) tomlForm() string {
	if a.Listed {
		return "tables [[hooks]]"
	}
	return "a table [hooks]"
}

// asJSON returns settings in the form of the agent's JSON.
func (a *Spec) asJSON(path string, text []byte) []byte {
	if isTOML(path) {
		return a.tomlHooks(text)
	}
	return text
}

// tomlHooks returns the command hooks of a TOML file in the form of JSON settings. It
// reads one key a line, as the agent's documentation and hookspan write them; of other
// forms it finds nothing.
func (a *Spec) tomlHooks(text []byte) []byte {
	type group struct {
		Matcher string           `json:"matcher,omitempty"`
		Hooks   []map[string]any `json:"hooks"`
	}
	hooks := map[string][]*group{}
	var at *group
	var handler map[string]any
	for line := range tomlLines(string(text)) {
		line = strings.TrimSpace(line)
		if a.Listed && strings.HasPrefix(strings.Join(strings.Fields(line), ""), "[[hooks]]") {
			handler = map[string]any{"type": "command"}
			at = &group{Hooks: []map[string]any{handler}}
			continue
		}
		if name, ok := strings.CutPrefix(line, "[[hooks."); ok {
			event, inner := strings.CutSuffix(strings.TrimSuffix(name, "]]"), ".hooks")
			handler = nil
			if !inner {
				at = &group{Hooks: []map[string]any{}}
				hooks[event] = append(hooks[event], at)
			} else if at != nil {
				handler = map[string]any{}
				at.Hooks = append(at.Hooks, handler)
			}
			continue
		}
		if strings.HasPrefix(line, "[") {
			at, handler = nil, nil
		}
		key, raw, ok := strings.Cut(line, "=")
		key, raw = strings.TrimSpace(key), strings.TrimSpace(raw)
		if !ok || at == nil {
			continue
		}
		var value any
		if literal, ok := strings.CutPrefix(raw, "'"); ok {
			value = strings.TrimSuffix(literal, "'")
		} else if json.Unmarshal([]byte(raw), &value) != nil {
			continue
		}
		switch s, ok := value.(string); {
		case ok && key == "matcher" && (handler == nil || a.Listed):
			at.Matcher = s
		case ok && key == "event" && a.Listed:
			hooks[s] = append(hooks[s], at)
		case handler != nil:
			handler[key] = value
		}
	}
	out, err := json.Marshal(map[string]any{"hooks": hooks})
	if err != nil {
		return []byte("{}")
	}
	return out
}
