package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/filelock"
)

// ErrChanged reports a file that is no longer as the plan found it. Nothing was
// done to that file; a new plan takes up its new content.
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

// Apply carries out a plan. Each step reads its file once more before it
// changes it, and stops with ErrChanged when the file is neither as planned nor
// already as the step would leave it. The error is an *ApplyError when a step
// failed. Files appear and change atomically, under their final name.
func Apply(p *Plan) error {
	if p.Empty() {
		return nil
	}
	created, unlock, err := lockState(p.StateDir, p.Undo)
	if err != nil {
		return fmt.Errorf("state folder %q: %w", p.StateDir, err)
	}
	return errors.Join(p.apply(created), unlock())
}

// lockWait bounds the wait for another install.
const lockWait = 10 * time.Second

// lockState keeps other installs out until the returned function is called. It
// returns the folders that it created. Undoing creates none: without a state
// folder there is no record to change.
func lockState(stateDir string, undo bool) (created []string, unlock func() error, err error) {
	none := func() error { return nil }
	if stateDir == "" {
		return nil, none, nil
	}
	if !undo {
		created = MissingDirs(stateDir)
		if err := atomicfile.MakeFolders(stateDir, 0o700); err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock, err := filelock.Folder(ctx, stateDir)
	switch {
	case err == nil:
		return created, lock.Close, nil
	case undo && errors.Is(err, fs.ErrNotExist):
		return nil, none, nil
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.New("another hookspan install is running: wait for it or end it")
	}
	return nil, nil, err
}

func (p *Plan) apply(created []string) error {
	if p.StateDir != "" {
		atomicfile.RemoveTemps(filepath.Join(p.StateDir, manifestName))
	}
	if p.Before != nil {
		// Recorded first, so that an interrupted install is undone too.
		if _, err := updateManifest(p.StateDir, func(m *Manifest) {
			m.StateCreated = union(m.StateCreated, created)
			p.Before(m)
		}); err != nil {
			return err
		}
	}
	steps := slices.DeleteFunc(slices.Clone(p.Actions), func(a Action) bool { return !a.Op.Writes() })
	for i, step := range steps {
		if err := step.run(); err != nil {
			if errors.Is(err, fs.ErrNotExist) { // a folder that the plan found is gone
				err = fmt.Errorf("%w: %w", ErrChanged, err)
			}
			return &ApplyError{Done: steps[:i], Failed: step, NotDone: steps[i+1:], Err: err}
		}
	}
	if p.After == nil {
		return nil
	}
	m, err := updateManifest(p.StateDir, p.After)
	if err != nil || !p.Undo || !m.bare() {
		return err
	}
	for _, dir := range slices.Backward(m.StateCreated) {
		if err := atomicfile.RemoveFolder(dir); err != nil {
			return fmt.Errorf("remove folder %q: %w", dir, err)
		}
	}
	return nil
}

// run carries out one step, or does nothing if it is done already.
func (a Action) run() error {
	if a.Check != nil {
		if err := a.Check(); err != nil {
			return err
		}
	}
	if a.Op == OpRemoveFolder {
		return atomicfile.RemoveFolder(a.Path)
	}
	cur, err := Look(a.Path)
	if err != nil {
		return err
	}
	if done, err := a.done(cur); done || err != nil {
		return err
	}
	if !cur.Same(a.Was) {
		return ErrChanged
	}
	switch a.Op {
	case OpCreate:
		if err := atomicfile.MakeFolders(filepath.Dir(a.Path), a.FolderMode); err != nil {
			return err
		}
		return create(a)
	case OpUpdate:
		return a.update()
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

// update replaces the file, unless another program has changed it until the moment before:
// an agent stores settings as it works.
func (a Action) update() error {
	err := atomicfile.Write(a.Path, a.Content, atomicfile.Options{Mode: a.Mode, OneName: true, Check: func() error {
		cur, err := Look(a.Path)
		if err == nil && !cur.Same(a.Was) {
			err = ErrChanged
		}
		return err
	}})
	if errors.Is(err, syscall.EBUSY) {
		err = fmt.Errorf("%w: it may be mounted by itself, as a container's file, and cannot be replaced: mount its folder in place of the file, or run this where the file is", err)
	}
	return err
}

// done reports that another process, most likely a second install or uninstall,
// has done the step.
func (a Action) done(cur File) (bool, error) {
	switch a.Op {
	case OpCreate, OpUpdate, OpChain:
		return !cur.Missing() && bytes.Equal(cur.Data, a.Content) && (a.Mode&0o100 == 0 || cur.Executable()), nil
	case OpRemove:
		return cur.Missing(), nil
	case OpRestore:
		side, err := Look(a.Chained)
		return side.Missing() && cur.Same(a.Side.At(a.Path)), err
	default:
		return false, nil
	}
}

// chain gives the user's script a second name in the sidecar folder, then puts
// the hook file in place of its first. A link cannot overwrite a script that is
// there already, and there is no moment without a hook.
func (a Action) chain() error {
	made := MissingDirs(filepath.Dir(a.Chained))
	if err := atomicfile.MakeFolders(filepath.Dir(a.Chained), 0o700); err != nil {
		return err
	}
	undo := func(err error) error {
		errs := []error{err}
		if len(made) > 0 {
			errs = append(errs, atomicfile.RemoveFolder(made[0]))
		}
		return errors.Join(errs...)
	}
	err := linkAside(a.Was, a.Chained)
	switch {
	case errors.Is(err, fs.ErrExist):
		side, err := Look(a.Chained)
		if err != nil {
			return err
		}
		if !side.Same(a.Was) {
			return fmt.Errorf("%q holds another script: %w", a.Chained, ErrChanged)
		}
	case err != nil:
		return undo(moveAside(a))
	}
	if err := atomicfile.Write(a.Path, a.Content, atomicfile.Options{Mode: a.Mode}); err != nil {
		return undo(errors.Join(err, os.Remove(a.Chained)))
	}
	return nil
}

func linkAside(was File, to string) error {
	if was.Link != "" {
		return os.Symlink(was.Link, to)
	}
	return os.Link(was.Path, to)
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
	if err := create(a); err != nil {
		return errors.Join(err, os.Rename(a.Chained, a.Path))
	}
	return nil
}

// restore moves the user's script back over the hook file.
func (a Action) restore() error {
	side, err := Look(a.Chained)
	if err != nil {
		return err
	}
	if !side.Same(a.Side) {
		return fmt.Errorf("%q: %w", a.Chained, ErrChanged)
	}
	if err := os.Rename(a.Chained, a.Path); err != nil {
		return err
	}
	return atomicfile.RemoveFolder(filepath.Dir(a.Chained))
}

// create writes a new file and never overwrites one.
func create(a Action) error {
	err := atomicfile.Create(a.Path, a.Content, atomicfile.Options{Mode: a.Mode})
	if errors.Is(err, fs.ErrExist) {
		return ErrChanged
	}
	return err
}
