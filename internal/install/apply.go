package install

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hookMode is the mode of a hook file: classic and next run executable files
// only.
const hookMode = 0o755

// ErrChanged reports that a file was no longer as the plan had seen it. Nothing
// was done to that file; a new plan takes up what it has become.
var ErrChanged = errors.New("changed since the plan was made")

// ApplyError reports a plan that stopped half way.
type ApplyError struct {
	// Done and NotDone are the steps before and after the one that failed.
	Done, NotDone []Action
	// Failed is the step that failed.
	Failed Action
	// Err says why.
	Err error
}

// Error names the failed step, then what was done and what was not.
func (e *ApplyError) Error() string {
	return fmt.Sprintf("%s %q: %v; done before it: %s; not done: %s; nothing is half written, it can be run again",
		e.Failed.Op, e.Failed.Path, e.Err, names(e.Done), names(e.NotDone))
}

// Unwrap returns Err.
func (e *ApplyError) Unwrap() error { return e.Err }

func names(list []Action) string {
	if len(list) == 0 {
		return "nothing"
	}
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = string(a.Op) + " " + a.Path
	}
	return strings.Join(out, ", ")
}

// Apply carries out a plan. Each step looks at its file once more before it
// touches it, and stops with ErrChanged when the file is neither as planned nor
// already as the step would leave it. The error is an *ApplyError when a step
// failed. Hook files appear and change in one instant, under their final name.
func Apply(p *Plan) error {
	if !p.Changed() && len(p.forget) == 0 && !slices.ContainsFunc(p.Folders, func(f Folder) bool { return p.uses(f.Path) }) {
		return nil
	}
	stateCreated, unlock, err := lockState(p.stateDir, p.uninstall)
	if err != nil {
		return fmt.Errorf("state folder %q: %w", p.stateDir, err)
	}
	return errors.Join(p.apply(stateCreated), unlock())
}

// lockState keeps other installs out until the returned function is called, and
// says which folders it had to create for that. Undoing creates none: without a
// state folder there is no record to take back.
func lockState(stateDir string, undo bool) (created []string, unlock func() error, err error) {
	none := func() error { return nil }
	if stateDir == "" {
		return nil, none, nil
	}
	if !undo {
		created = missingDirs(stateDir)
		if err := os.MkdirAll(stateDir, 0o700); err != nil {
			return nil, nil, err
		}
	}
	unlock, err = lockDir(stateDir)
	if undo && errors.Is(err, fs.ErrNotExist) {
		return nil, none, nil
	}
	return created, unlock, err
}

func (p *Plan) apply(stateCreated []string) error {
	if !p.uninstall {
		if err := p.record(stateCreated); err != nil {
			return err
		}
	}
	var steps []Action
	for _, a := range p.Actions {
		if a.Op.writes() {
			steps = append(steps, a)
		}
	}
	late := len(steps)
	if i := slices.IndexFunc(steps, func(a Action) bool { return a.late }); i >= 0 {
		late = i
	}
	if err := run(steps, 0, late, p.goos); err != nil {
		return err
	}
	if err := p.unrecord(); err != nil {
		return err
	}
	return run(steps, late, len(steps), p.goos)
}

// run carries out steps[from:to].
func run(steps []Action, from, to int, goos string) error {
	for i := from; i < to; i++ {
		if err := steps[i].run(goos); err != nil {
			return &ApplyError{Done: steps[:i], Failed: steps[i], NotDone: steps[i+1:], Err: err}
		}
	}
	return nil
}

// record notes the folders, and creates those that are to be written to. What
// will be created is noted first, so that an install cut short is undone too.
func (p *Plan) record(stateCreated []string) error {
	var create []string
	m, err := readManifest(p.stateDir)
	if err != nil {
		return err
	}
	m.StateCreated = union(m.StateCreated, stateCreated)
	for _, f := range p.Folders {
		if !p.uses(f.Path) {
			continue
		}
		create = append(create, f.Path)
		m.add(manifestFolder{Path: f.Path, Role: f.Role, Workspace: p.workspace, Created: missingDirs(f.Path)})
	}
	for _, a := range p.Actions {
		if a.Event != preToolUse || p.uninstall {
			continue
		}
		switch a.Op {
		case OpCreate, OpChain:
			m.mark(a.folder, p.forHooks)
		case OpKeep, OpUpdate:
			if !p.forHooks {
				m.mark(a.folder, false)
			}
		}
	}
	if p.stateDir != "" {
		if err := m.write(p.stateDir); err != nil {
			return err
		}
	}
	for _, dir := range create {
		if err := inProject(p.workspace, dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the mode Cline itself creates them with
			return fmt.Errorf("hook folder %q: %w", dir, err)
		}
	}
	return nil
}

// uses reports that the plan leaves a hook file of ours in the folder.
func (p *Plan) uses(folder string) bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool {
		return a.folder == folder && (a.Op == OpCreate || a.Op == OpUpdate || a.Op == OpKeep || a.Op == OpChain)
	})
}

// unrecord forgets the folders that hold nothing of ours any more, and for whom
// PreToolUse was where it is gone.
func (p *Plan) unrecord() error {
	if p.stateDir == "" || !p.uninstall && !p.removes() {
		return nil
	}
	m, err := readManifest(p.stateDir)
	if err != nil {
		return err
	}
	for _, path := range p.forget {
		m.drop(path)
	}
	for _, a := range p.Actions {
		if a.Event == preToolUse && (a.Op == OpRemove || a.Op == OpRestore) {
			m.mark(a.folder, false)
		}
	}
	return m.write(p.stateDir)
}

// removes reports that the plan takes a hook file away.
func (p *Plan) removes() bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Op == OpRemove || a.Op == OpRestore })
}

// run carries out one step, or does nothing if it is done already.
func (a Action) run(goos string) error {
	if a.Op == OpRemoveFolder {
		return removeEmpty(a.Path)
	}
	cur, err := look(a.Path)
	if err != nil {
		return err
	}
	if done, err := a.settled(goos, cur); done || err != nil {
		return err
	}
	if !cur.same(a.was) {
		return ErrChanged
	}
	switch a.Op {
	case OpCreate:
		return writeNew(a.Path, a.Content, hookMode)
	case OpUpdate:
		return replace(a.Path, a.Content, hookMode)
	case OpChain:
		return a.chain()
	case OpRemove:
		return os.Remove(a.Path)
	case OpRestore:
		return a.restore()
	default:
		return fmt.Errorf("unknown operation %q", a.Op)
	}
}

// settled reports that somebody else, most likely a second install or uninstall
// at the same moment, has done the step.
func (a Action) settled(goos string, cur entry) (bool, error) {
	switch a.Op {
	case OpCreate, OpUpdate, OpChain:
		return string(cur.data) == string(a.Content) && (goos == "windows" || cur.executable()), nil
	case OpRemove:
		return cur.missing(), nil
	case OpRestore:
		side, err := look(a.Chained)
		return side.missing() && cur.same(a.side.at(a.Path)), err
	default:
		return false, nil
	}
}

// at is the entry as it looks after a rename.
func (e entry) at(path string) entry {
	e.path = path
	return e
}

// chain gives the user's script a second name in the sidecar folder, then puts
// the hook file in place of its first. A link cannot overwrite a script that is
// there already, and there is no moment without a hook.
func (a Action) chain() error {
	made := missingDirs(filepath.Dir(a.Chained))
	if err := os.MkdirAll(filepath.Dir(a.Chained), 0o700); err != nil {
		return err
	}
	undo := func(err error) error {
		errs := []error{err}
		if len(made) > 0 {
			errs = append(errs, removeEmpty(made[0]))
		}
		return errors.Join(errs...)
	}
	err := linkAside(a.was, a.Chained)
	switch {
	case errors.Is(err, fs.ErrExist):
		side, err := look(a.Chained)
		if err != nil {
			return err
		}
		if !side.same(a.was) {
			return fmt.Errorf("%q holds another script: %w", a.Chained, ErrChanged)
		}
	case err != nil:
		return undo(moveAside(a))
	}
	if err := replace(a.Path, a.Content, hookMode); err != nil {
		return undo(errors.Join(err, os.Remove(a.Chained)))
	}
	return nil
}

func linkAside(was entry, to string) error {
	if was.link != "" {
		return os.Symlink(was.link, to)
	}
	return os.Link(was.path, to)
}

// moveAside chains where the file system has no links. For an instant there is
// no hook.
func moveAside(a Action) error {
	if _, err := os.Lstat(a.Chained); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q is in the way: %w", a.Chained, errors.Join(err, ErrChanged))
	}
	if err := os.Rename(a.Path, a.Chained); err != nil {
		return err
	}
	if err := writeNew(a.Path, a.Content, hookMode); err != nil {
		return errors.Join(err, os.Rename(a.Chained, a.Path))
	}
	return nil
}

// restore moves the user's script back over the hook file.
func (a Action) restore() error {
	side, err := look(a.Chained)
	if err != nil {
		return err
	}
	if !side.same(a.side) {
		return fmt.Errorf("%q: %w", a.Chained, ErrChanged)
	}
	if err := os.Rename(a.Chained, a.Path); err != nil {
		return err
	}
	return removeEmpty(filepath.Dir(a.Chained))
}

// removeEmpty removes a folder unless something is in it.
func removeEmpty(dir string) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(list) > 0) {
		return nil
	}
	if err != nil {
		return err
	}
	err = os.Remove(dir)
	if _, gone := os.Lstat(dir); errors.Is(gone, fs.ErrNotExist) {
		return nil
	}
	// Something may have come in between the two calls.
	if list, again := os.ReadDir(dir); again == nil && len(list) > 0 {
		return nil
	}
	return err
}

// writeNew creates a file and never overwrites one.
func writeNew(path string, data []byte, mode fs.FileMode) error {
	temp, err := writeTemp(filepath.Dir(path), data, mode)
	if err != nil {
		return err
	}
	err = os.Link(temp, path)
	switch {
	case err == nil:
		return os.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		return errors.Join(ErrChanged, os.Remove(temp))
	}
	// No links on this file system: look once more and rename.
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(ErrChanged, os.Remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// replace puts a file in the place of what is there.
func replace(path string, data []byte, mode fs.FileMode) error {
	temp, err := writeTemp(filepath.Dir(path), data, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// writeTemp writes a file that no dialect takes for a hook: sdk goes by the name
// before an extension out of a list, and this one has neither.
func writeTemp(dir string, data []byte, mode fs.FileMode) (string, error) {
	path := filepath.Join(dir, ".hookspan-"+rand.Text()+".tmp")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	// The umask may have taken bits from the mode.
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}
