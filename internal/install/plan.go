package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Op is what an action does.
type Op string

// The operations. Keep, Foreign and Edited do nothing and are in a plan to be
// shown.
const (
	// OpCreate writes a hook file where there is none.
	OpCreate Op = "create"
	// OpUpdate replaces a hook file of ours.
	OpUpdate Op = "update"
	// OpKeep leaves a hook file of ours that is as it should be.
	OpKeep Op = "keep"
	// OpForeign leaves a file that is not ours.
	OpForeign Op = "skip"
	// OpEdited leaves a hook file of ours that was edited, or one of a newer
	// hookspan.
	OpEdited Op = "edited"
	// OpChain moves the user's script into the sidecar folder and writes a
	// hook file that has it run as well.
	OpChain Op = "chain"
	// OpRemove removes a hook file of ours.
	OpRemove Op = "remove"
	// OpRestore moves a chained script back over the hook file of ours.
	OpRestore Op = "restore"
	// OpRemoveFolder removes an empty folder that installing created.
	OpRemoveFolder Op = "remove-folder"
)

// writes reports that the operation changes files.
func (o Op) writes() bool { return o != OpKeep && o != OpForeign && o != OpEdited }

// Action is one step of a plan.
type Action struct {
	Op Op
	// Path is the hook file, or the folder of OpRemoveFolder.
	Path string
	// Event is the hook's name, empty for OpRemoveFolder.
	Event string
	// Reason says why, for people. It is empty where the operation's name says
	// enough.
	Reason string
	// Content is what OpCreate, OpUpdate and OpChain write.
	Content []byte
	// Chained is where the user's script is or goes, empty without one.
	Chained string

	// folder is the hook folder the step belongs to, empty for OpRemoveFolder.
	folder string
	// was and side are what the plan saw at Path and in the sidecar folder.
	was, side entry
	// late steps come after the install record is gone.
	late bool
}

// Plan is what would be done, in order.
type Plan struct {
	Actions []Action
	// Warnings are what the user should know, each a sentence without a final
	// stop.
	Warnings []string
	// Folders are the folders looked at.
	Folders []Folder

	goos      string
	stateDir  string
	workspace string
	uninstall bool
	forHooks  bool
	// forget are folders that hold nothing of ours once an uninstall is done.
	forget []string
}

// Changed reports that applying the plan would change a hook folder.
func (p *Plan) Changed() bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Op.writes() })
}

// Foreign lists the actions that leave a file alone that is not ours.
func (p *Plan) Foreign() []Action { return p.only(OpForeign) }

// Edited lists the actions that leave a hook file of ours alone because it was
// edited.
func (p *Plan) Edited() []Action { return p.only(OpEdited) }

func (p *Plan) only(op Op) []Action {
	return slices.DeleteFunc(slices.Clone(p.Actions), func(a Action) bool { return a.Op != op })
}

// Text shows the plan: a line for each folder and each action, then the
// warnings.
func (p *Plan) Text() string {
	var b strings.Builder
	for _, f := range p.Folders {
		head := false
		for _, a := range p.Actions {
			if a.folder != f.Path {
				continue
			}
			if !head {
				fmt.Fprintf(&b, "%s (%s)\n", f.Path, f.Readers())
				head = true
			}
			fmt.Fprintf(&b, "  %-8s %s%s\n", a.Op, filepath.Base(a.Path), withReason(a.Reason))
		}
	}
	for _, a := range p.Actions {
		if a.Op == OpRemoveFolder {
			fmt.Fprintf(&b, "remove folder %s%s\n", a.Path, withReason(a.Reason))
		}
	}
	if !p.Changed() {
		b.WriteString("nothing to change\n")
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func withReason(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// PlanCline plans the installation of Cline's hooks. It writes nothing.
//
// It fails when the hook program cannot be run, when a hook folder or hook file
// is something else than that, and when a folder to be changed cannot be
// written to. A file that is not ours is no failure; see Plan.Foreign.
func PlanCline(ctx context.Context, sys System, o Options) (*Plan, error) {
	if err := sys.checkBinary(o.Binary, "cline-hook"); err != nil {
		return nil, err
	}
	folders, warnings, err := sys.folders(ctx, o.Workspace)
	if err != nil {
		return nil, err
	}
	p := &Plan{Folders: folders, Warnings: warnings, goos: sys.GOOS, stateDir: sys.StateDir, workspace: o.Workspace, forHooks: o.ForHooks}
	preShared := false
	for _, f := range folders {
		if err := inProject(o.Workspace, f.Path); err != nil {
			return nil, err
		}
		changed := false
		for _, ev := range hookEvents() {
			a, err := planHook(sys.GOOS, f, ev.name, wanted(f, ev, o.PreToolUse, preShared), o)
			if err != nil {
				return nil, err
			}
			if a == nil {
				continue
			}
			p.Actions = append(p.Actions, *a)
			changed = changed || a.Op.writes()
			if ev.name == preToolUse && f.Role != RoleEditors && o.PreToolUse && a.Op != OpForeign && a.Op != OpEdited {
				preShared = true
			}
		}
		if changed {
			if err := writable(f.Path); err != nil {
				return nil, err
			}
		}
	}
	return p, p.warn(sys, o)
}

// classicPrice is what a PreToolUse hook costs on Cline's classic core, to be
// put into a sentence.
const classicPrice = "a task of the CLI 2 can stop dead when a later tool reads a missing file (not seen in VS Code), and in VS Code a call that is denied leaves Cline stuck until the window is reloaded"

// wanted decides whether a folder gets an event's hook. preShared says that a
// folder sdk reads too has PreToolUse already.
func wanted(f Folder, ev hookEvent, everywhere, preShared bool) bool {
	switch {
	case f.Role == RoleSDK:
		return ev.name == preToolUse && !preShared
	case ev.name == preToolUse:
		return everywhere
	default:
		return f.Role != RoleEditors || !ev.sdkOnly
	}
}

// planHook plans one file, or returns nil where there is nothing to do or say.
func planHook(goos string, f Folder, event string, want bool, o Options) (*Action, error) {
	path := filepath.Join(f.Path, hookFileName(goos, event))
	cur, err := look(path)
	if err != nil {
		return nil, err
	}
	side, err := look(sidecar(path))
	if err != nil {
		return nil, err
	}
	a := &Action{Path: path, Event: event, folder: f.Path, was: cur, side: side}
	have, ours := cur.shim(goos)
	if !want {
		if !ours {
			return nil, nil
		}
		a.plainRemoval(have, o.Force)
		a.because("the event is recorded through another folder")
		if event == preToolUse && f.Role != RoleSDK {
			a.because("PreToolUse goes into this folder only with --pre-tool-use")
		}
		return a, nil
	}
	if !cur.missing() && !cur.file() {
		// One odd entry is no reason to do without the other hooks.
		a.Op, a.Reason = OpForeign, describe(cur)+": move it away and install again"
		return a, nil
	}
	s := shim{Event: event, Binary: o.Binary, Chain: chainTarget(goos, side)}
	if s.Chain != "" {
		a.Chained = side.path
	}
	switch {
	case cur.missing():
		a.Op, a.Content = OpCreate, render(goos, s)
		if a.Chained != "" {
			a.Reason = "runs the script kept in " + side.path + " too"
		}
	case ours:
		a.refresh(goos, have, s, o.Force)
	default:
		return a, a.meetForeign(goos, s, o.Chain)
	}
	return a, nil
}

// because gives an action that does something its reason.
func (a *Action) because(reason string) {
	if a.Op.writes() {
		a.Reason = reason
	}
}

// refresh plans for a hook file of ours that is wanted.
func (a *Action) refresh(goos string, have, want shim, force bool) {
	a.Content = render(goos, want)
	switch {
	case have.Edited && !force:
		a.Op, a.Content, a.Reason = OpEdited, nil, editedReason(have)
	case have.Edited:
		a.Op, a.Reason = OpUpdate, "was edited; --force rewrites it"
	case have.Binary != want.Binary:
		a.Op, a.Reason = OpUpdate, "starts "+have.Binary
	case have.Chain != want.Chain && want.Chain == "":
		a.Op, a.Reason = OpUpdate, "the chained script "+have.Chain+" is gone"
	case have != shim{Version: have.Version, Event: want.Event, Binary: want.Binary, Chain: want.Chain}:
		a.Op, a.Reason = OpUpdate, "is out of date"
	case goos != "windows" && !a.was.executable():
		a.Op, a.Reason = OpUpdate, "is not executable, as Cline's Hooks tab leaves a hook that is switched off there"
	default:
		a.Op, a.Content = OpKeep, nil
	}
}

// meetForeign plans for a file that is not ours.
func (a *Action) meetForeign(goos string, want shim, chain bool) error {
	a.Op = OpForeign
	path := a.Path
	switch {
	case !a.side.missing() && !a.side.same(a.was):
		a.Reason = fmt.Sprintf("is not hookspan's and stays as it is; %q holds an earlier script, so it cannot be chained: move one of the two away", a.side.path)
		return nil
	case !chain:
		a.Reason = "is not hookspan's and stays as it is; this event is not recorded here (--chain runs both)"
		return nil
	}
	exact, err := hasName(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return err
	}
	if !exact {
		a.Reason = fmt.Sprintf("is spelled differently on disk and cannot be chained: rename it to %s", filepath.Base(path))
		return nil
	}
	a.Op, a.Chained = OpChain, sidecar(path)
	side := a.was
	side.path = a.Chained
	want.Chain = chainTarget(goos, side)
	a.Content = render(goos, want)
	a.Reason = "your script moves to " + a.Chained + " and runs with hookspan, both replies merged"
	if a.was.link == "" && goos != "windows" && !a.was.executable() {
		a.Reason += "; it is not executable, so Cline in editors did not run it so far"
	}
	return nil
}

// hasName tells a file of exactly this name from one that a file system without
// case finds by it.
func hasName(dir, name string) (bool, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("hook folder %q: %w", dir, err)
	}
	return slices.ContainsFunc(list, func(d os.DirEntry) bool { return d.Name() == name }), nil
}

func editedReason(s shim) string {
	if s.Version > shimVersion {
		return fmt.Sprintf("was written by a newer hookspan (v%d) and stays as it is (--force takes it over)", s.Version)
	}
	return "was written by hookspan and edited since; it stays as it is (--force takes it over)"
}

func describe(e entry) string {
	if e.info.IsDir() {
		return "is a folder"
	}
	return "is a special file (" + e.info.Mode().Type().String() + ")"
}

// writable asks whether the folder, or the nearest one above that exists, can be
// written to.
func writable(dir string) error {
	at := dir
	if missing := missingDirs(dir); len(missing) > 0 {
		at = filepath.Dir(missing[0])
	}
	if err := mayWrite(at); err != nil {
		return fmt.Errorf("hook folder %q: cannot write to %q: %w: give yourself write permission, or remove the obstacle, and run it again", dir, at, err)
	}
	return nil
}

// warn adds what the user should know about an installation.
func (p *Plan) warn(sys System, o Options) error {
	if path, off := sys.hooksOff(); off {
		p.Warnings = append(p.Warnings, fmt.Sprintf("hooks are switched off in Cline's settings (%q): switch on Hooks in Cline, or nothing is recorded", path))
	}
	if o.PreToolUse {
		p.Warnings = append(p.Warnings, "with a PreToolUse hook, "+classicPrice+"; without it only the time before a call and calls that never return are missing")
	}
	if slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Op == OpCreate || a.Op == OpChain }) {
		p.Warnings = append(p.Warnings, "editor windows that are open may not see new hooks until they are reloaded (Developer: Reload Window)")
	}
	if slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Op == OpChain && a.was.link == "" }) {
		p.Warnings = append(p.Warnings, "a chained script runs from "+sidecarDir+": one that finds its own files by $0 must use another way")
	}
	m, err := readManifest(sys.StateDir)
	if err != nil {
		return err
	}
	for _, f := range m.Folders {
		if p.has(f.Path) {
			continue
		}
		switch {
		case o.Workspace != "" && f.Workspace == "":
			p.Warnings = append(p.Warnings, fmt.Sprintf("hooks are installed for all projects already (%q); in this one each event is stored twice and counted once", f.Path))
		case o.Workspace == "" && f.Workspace == "":
			p.Warnings = append(p.Warnings, fmt.Sprintf("an earlier install went into %q, where Cline does not look now; uninstall removes it", f.Path))
		}
	}
	if o.Workspace != "" {
		p.Warnings = append(p.Warnings, "the hook files name a program on this machine: do not commit them")
	}
	return nil
}

func (p *Plan) has(folder string) bool {
	return slices.ContainsFunc(p.Folders, func(f Folder) bool { return f.Path == folder })
}
