package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
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
		edit = a.editTOML
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
	tomlMark  = "# hookspan: begin"
	tomlBegin = tomlMark + "; hookspan install --managed writes it, hookspan uninstall --managed removes it\n"
	tomlEnd   = "# hookspan: end\n"
)

func isTOML(name string) bool { return filepath.Ext(name) == ".toml" }

// editTOML writes hookspan's hooks as one part at the end of a TOML file.
func (a *Spec) editTOML(found install.File, w wantedHandler, undo bool) (after []byte, changes []change, err error) {
	before, had, err := withoutPart(found.Data)
	if err != nil {
		return nil, nil, err
	}
	if e, err := a.open(tomlHooks(before), nil, inManaged); err == nil && len(e.find()) > 0 {
		return nil, nil, fmt.Errorf("hookspan's hooks are there already, written by hand or without the lines %q and %q around them: take them out first", strings.TrimSpace(tomlBegin), strings.TrimSpace(tomlEnd))
	}
	after = before
	if !undo {
		header, closed := a.hooksTable(string(before))
		if closed {
			return nil, nil, errors.New("its hooks are in a form that takes no more: write them as a table [hooks]")
		}
		if len(after) > 0 && !bytes.HasSuffix(after, []byte("\n")) {
			after = append(after, '\n')
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
			changes = append(changes, change{op: op, event: ev.Name})
		}
	}
	if undo && len(bytes.TrimSpace(after)) == 0 {
		after = nil
	}
	return after, changes, nil
}

// withoutPart takes hookspan's part out of a TOML file, whatever its lines end in.
func withoutPart(text []byte) (rest []byte, had bool, err error) {
	inside := false
	for line := range bytes.Lines(text) {
		switch plain := string(bytes.TrimSpace(line)); {
		case strings.HasPrefix(plain, tomlMark):
			inside, had = true, true
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
		closed = closed || table == "[hooks" && slices.ContainsFunc(a.Events, value) ||
			table == "" && (strings.HasPrefix(line, "hooks=") || strings.HasPrefix(line, "hooks."))
	}
	return header, closed
}

// tomlPart is hookspan's part of a TOML file, with the line [hooks] if that is not there.
// The agent wants a folder of programs beside managed hooks, once in a file.
func (a *Spec) tomlPart(w wantedHandler, header bool) []byte {
	var b bytes.Buffer
	b.WriteString(tomlBegin)
	if header {
		key := "managed_dir"
		if !w.guarded {
			key = "windows_managed_dir"
		}
		fmt.Fprintf(&b, "[hooks]\n%s = %s\n", key, jsonedit.Quote(path.Dir(w.binary)))
	}
	for _, ev := range a.Events {
		fmt.Fprintf(&b, "[[hooks.%s]]\n[[hooks.%[1]s.hooks]]\n", ev.Name)
		for _, f := range w.render(ev, "", nil) {
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

// tomlLines yields the lines of a TOML text that are in no string of several lines, with
// headers without the quotes that keys may have.
func tomlLines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		inside := ""
		for line := range strings.Lines(text) {
			if inside != "" {
				if strings.Contains(line, inside) {
					inside = ""
				}
				continue
			}
			if header := strings.TrimSpace(line); strings.HasPrefix(header, "[") {
				line = strings.NewReplacer(`"`, "", "'", "").Replace(header)
			}
			for _, quotes := range []string{`"""`, "'''"} {
				if strings.Count(line, quotes)%2 == 1 {
					inside = quotes
				}
			}
			if !yield(line) {
				return
			}
		}
	}
}

// asJSON returns settings in the form of the agent's JSON.
func (a *Spec) asJSON(path string, text []byte) []byte {
	if isTOML(path) {
		return tomlHooks(text)
	}
	return text
}

// tomlHooks returns the command hooks of a TOML file in the form of JSON settings. It
// reads one key a line, as the agent's documentation and hookspan write them; of other
// forms it finds nothing.
func tomlHooks(text []byte) []byte {
	type group struct {
		Matcher string           `json:"matcher,omitempty"`
		Hooks   []map[string]any `json:"hooks"`
	}
	hooks := map[string][]*group{}
	var at *group
	var handler map[string]any
	for line := range tomlLines(string(text)) {
		line = strings.TrimSpace(line)
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
		if handler != nil {
			handler[key] = value
		} else if s, ok := value.(string); ok && key == "matcher" {
			at.Matcher = s
		}
	}
	out, err := json.Marshal(map[string]any{"hooks": hooks})
	if err != nil {
		return []byte("{}")
	}
	return out
}
