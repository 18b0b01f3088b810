package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/termtext"
)

// Op is what an action does.
type Op string

// The operations. Keep, Foreign and Edited do nothing and are in a plan to be
// shown.
const (
	// OpCreate writes a file, or a hook in a file, where there is none.
	OpCreate Op = "create"
	// OpUpdate replaces a hookspan file or hook.
	OpUpdate Op = "update"
	// OpKeep leaves a hookspan hook that is as it should be.
	OpKeep Op = "keep"
	// OpForeign leaves a file that is not hookspan's.
	OpForeign Op = "skip"
	// OpEdited leaves a hookspan hook that was edited, or one of a newer
	// hookspan.
	OpEdited Op = "edited"
	// OpChain moves the user's script to Action.Chained and writes a hook file
	// that runs it as well.
	OpChain Op = "chain"
	// OpRemove removes a hookspan file or hook.
	OpRemove Op = "remove"
	// OpRestore moves a chained script back over the hook file.
	OpRestore Op = "restore"
	// OpRemoveFolder removes an empty folder that installing created.
	OpRemoveFolder Op = "remove-folder"
)

// Writes reports that the operation changes files.
func (o Op) Writes() bool { return o != OpKeep && o != OpForeign && o != OpEdited }

// Place is a hook folder or a settings file.
type Place struct {
	// Path is absolute.
	Path string
	// Kind is the folder's role or the settings file's scope.
	Kind string
	// Project is the project that the place belongs to, empty for the user's.
	Project string
	// Readers names the programs that read the place, for people.
	Readers string
	// Notes are lines that Plan.Text shows before the place's actions.
	Notes []string
}

// Action is one step of a plan.
type Action struct {
	Op Op
	// Place is the path of the Place that the step belongs to, empty for
	// OpRemoveFolder.
	Place string
	// Path is the file, or the folder of OpRemoveFolder.
	Path string
	// Event is the hook's name, empty where the step is not about one hook.
	Event string
	// Reason says why, for people. It is empty where the operation's name says
	// enough.
	Reason string
	// Content is what OpCreate, OpUpdate and OpChain write, Mode its mode and
	// FolderMode that of the folders which OpCreate creates for it.
	Content          []byte
	Mode, FolderMode fs.FileMode
	// Chained is where the user's script is or goes, empty without one.
	Chained string
	// Was and Side are what the plan found at Path and at Chained.
	Was, Side File
	// Settings reports that Path is a settings file: Place.Notes and Diff
	// show the change.
	Settings bool
	// Check refuses a step whose place is not the planned one any more. It may be nil.
	Check func() error
}

// Plan is what an install or uninstall would do.
type Plan struct {
	// Next is what the user has to do before the agent runs the hooks, in the imperative.
	// If empty, that is nothing.
	Next string
	// Places are the places looked at.
	Places []Place
	// Actions are the steps in order.
	Actions []Action
	// Warnings are what the user should know, each a sentence without a final
	// stop.
	Warnings []string
	// Undo reports an uninstall, and Stays what it leaves although it starts a program of
	// hookspan's, in the form of Warnings.
	Undo  bool
	Stays []string
	// Started are the programs that hooks start which an uninstall takes out of the user's
	// own places.
	Started []string
	// StateDir is System.StateDir.
	StateDir string
	// Before and After change the install record before the first step and
	// after the last. They may be nil.
	Before, After func(*Manifest)
}

// Empty reports a plan that has nothing to show or do.
func (p *Plan) Empty() bool { return len(p.Actions) == 0 && p.Before == nil && p.After == nil }

// Changed reports that applying the plan would change a hook.
func (p *Plan) Changed() bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Op.Writes() })
}

// Foreign lists the actions that leave a file alone that is not hookspan's.
func (p *Plan) Foreign() []Action { return p.only(OpForeign) }

// Edited lists the actions that leave a hookspan hook alone because it was
// edited.
func (p *Plan) Edited() []Action { return p.only(OpEdited) }

func (p *Plan) only(op Op) []Action {
	return slices.DeleteFunc(slices.Clone(p.Actions), func(a Action) bool { return a.Op != op })
}

// RemoveIfEmpty adds a step that removes a folder, if earlier steps remove all that
// is in it. Files named in except count as removed.
func (p *Plan) RemoveIfEmpty(dir string, except ...string) {
	gone := slices.Clone(except)
	for _, a := range p.Actions {
		switch a.Op {
		case OpRemove, OpRemoveFolder:
			gone = append(gone, a.Path)
		case OpRestore:
			if filepath.Dir(a.Path) == dir {
				return
			}
			gone = append(gone, a.Chained)
		}
	}
	list, err := os.ReadDir(dir)
	if err != nil || slices.Contains(gone, dir) {
		return
	}
	for _, d := range list {
		if !slices.Contains(gone, filepath.Join(dir, d.Name())) {
			return
		}
	}
	p.Actions = append(p.Actions, Action{Op: OpRemoveFolder, Path: dir, Reason: "created by hookspan, empty by then"})
}

// RemoveLeft adds steps that remove the hidden copies of files which an install or uninstall
// that was killed has left in folders of a place.
func (p *Plan) RemoveLeft(place string, dirs ...string) error {
	for _, path := range left(dirs) {
		was, err := Look(path)
		if err != nil {
			return err
		}
		if !was.Missing() && !slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Path == path }) {
			p.Actions = append(p.Actions, Action{Op: OpRemove, Place: place, Path: path, Was: was, Reason: "a copy that a killed install has left"})
		}
	}
	return nil
}

// LeftIn are the warnings of a status about what RemoveLeft removes.
func LeftIn(dirs ...string) (warnings []string) {
	for _, path := range left(dirs) {
		warnings = append(warnings, fmt.Sprintf("%q is a copy of a file that a killed install has left, with all that the file holds: install or uninstall removes it", path))
	}
	return warnings
}

func left(dirs []string) (paths []string) {
	for _, dir := range slices.Compact(dirs) {
		paths = append(paths, atomicfile.Temps(dir)...)
	}
	return paths
}

// AddAfter has the plan change the install record after its last step.
func (p *Plan) AddAfter(change func(*Manifest)) {
	before := p.After
	p.After = func(m *Manifest) {
		if before != nil {
			before(m)
		}
		change(m)
	}
}

// RemoveState adds steps that remove the folders of the install record, if the plan
// leaves nothing recorded. m is the record, which RemoveState changes.
func (p *Plan) RemoveState(m *Manifest) {
	if p.After == nil {
		return
	}
	if p.After(m); !m.bare() {
		return
	}
	for _, dir := range slices.Backward(m.StateCreated) {
		p.RemoveIfEmpty(dir, filepath.Join(p.StateDir, manifestName))
	}
}

// Text shows the plan: a line for each place and each step, then the warnings.
func (p *Plan) Text() string {
	var b strings.Builder
	for _, place := range p.Places {
		lines := slices.Clone(place.Notes)
		for _, a := range p.Actions {
			if a.Place == place.Path && !a.Settings {
				lines = append(lines, fmt.Sprintf("%-8s %s%s", a.Op, filepath.Base(a.Path), WithReason(a.Reason)))
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(&b, "%s (%s)\n  %s\n", place.Path, place.Readers, strings.Join(lines, "\n  "))
		}
	}
	for _, a := range p.Actions {
		if a.Op == OpRemoveFolder {
			fmt.Fprintf(&b, "remove folder %s%s\n", a.Path, WithReason(a.Reason))
		}
	}
	if !p.Changed() {
		b.WriteString("nothing to change\n")
	}
	for _, w := range slices.Concat(p.Warnings, p.Stays) {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

// diffLine is the length of a line above which a file is indented again to show
// its differences.
const diffLine = 400

// Left says what the plan of an agent leaves as found, and which flag takes it as well.
// settings reports that its hooks are in a settings file, chain that --chain is one of the
// flags.
func (p *Plan) Left(word string, settings, chain bool) (text string) {
	if n := len(p.Foreign()); n > 0 && chain {
		text = fmt.Sprintf("\n%s in the way, not hookspan's: left as found, so these events are not recorded there.\n"+
			"hookspan install %s --chain also runs it and merges both answers.\n", termtext.Plural(n, "hook"), word)
	}
	n, were, them, thing := len(p.Edited()), "was", "it", "hookspan hook file"
	if settings {
		thing = "hookspan hook"
	}
	if n > 1 {
		were, them = "were", "them"
	}
	if n > 0 {
		text += fmt.Sprintf("\n%s %s edited: left as found.\nhookspan install %s --force writes %s anew.\n", termtext.Plural(n, thing), were, word, them)
	}
	return text
}

// Diff shows the changed regions of settings files in the unified form. Files with
// long lines are indented for it.
func (p *Plan) Diff() string {
	var b strings.Builder
	for _, a := range p.Actions {
		if !a.Settings || !a.Op.Writes() {
			continue
		}
		before, after := a.Was.Data, a.Content
		if long(before) || long(after) {
			before, after = indent(before), indent(after)
		}
		d := diff.Diff(a.Place, before, a.Place, after)
		// The first line repeats the names.
		if _, rest, ok := bytes.Cut(d, []byte("\n")); ok {
			b.Write(rest)
		}
	}
	return b.String()
}

func long(text []byte) bool {
	for line := range bytes.Lines(text) {
		if len(line) > diffLine {
			return true
		}
	}
	return false
}

func indent(text []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, bytes.TrimPrefix(text, []byte("\ufeff")), "", "  ") != nil {
		return text
	}
	return b.Bytes()
}

// EditedReason says why a file of hookspan's stays whose bytes are not those of a version up
// to the newest.
func EditedReason(version, newest int) string {
	if version > newest {
		return fmt.Sprintf("was written by a newer hookspan (v%d) and stays as it is (--force takes it over)", version)
	}
	return "was written by hookspan and edited since; it stays as it is (--force takes it over)"
}

// WithReason is what follows a name in a line of text: nothing, or the reason.
func WithReason(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
