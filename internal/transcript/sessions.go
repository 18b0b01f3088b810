package transcript

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
)

// taskIndex is the file in which classic Cline lists its tasks, below a root.
const taskIndex = "state/taskHistory.json"

// ClassicTasks lists the tasks of classic Cline on this machine, whichever
// editor or command line wrote them, the newest last. A folder without
// ui_messages.json is none, and a place that cannot be listed holds none. The
// error is the context's.
func (f *Finder) ClassicTasks(ctx context.Context) ([]SessionFile, error) {
	var found []SessionFile
	for _, root := range f.classicRoots() {
		dirs := list(filepath.Join(root, "tasks"))
		if len(dirs) == 0 {
			continue
		}
		cwds := f.taskFolders(ctx, filepath.Join(root, filepath.FromSlash(taskIndex)))
		for _, dir := range dirs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			id := filepath.Base(dir)
			s, ok := sessionFile(id, filepath.Join(dir, uiFile))
			if !ok {
				continue
			}
			s.Cwd = cwds[id]
			found = append(found, s)
		}
	}
	return sortSessions(found), nil
}

// SDKSessions lists the sessions of Cline's SDK on this machine, the newest
// last. A folder with neither a manifest nor the lead's messages is none.
func (f *Finder) SDKSessions(ctx context.Context) ([]SessionFile, error) {
	var found []SessionFile
	seen := make(map[string]bool)
	for _, root := range f.sessionRoots() {
		for _, dir := range list(root) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			id := filepath.Base(dir)
			manifest, okManifest := sessionFile(id, filepath.Join(dir, id+".json"))
			messages, okMessages := sessionFile(id, filepath.Join(dir, id+messagesSuffix))
			if !okManifest && !okMessages || seen[id] {
				continue // SDK reads the first place that holds the session
			}
			seen[id] = true
			s := manifest
			if !okManifest {
				s = messages
			}
			s.Size = manifest.Size + messages.Size
			if messages.ModTime.After(s.ModTime) {
				s.ModTime = messages.ModTime
			}
			found = append(found, s)
		}
	}
	return sortSessions(found), nil
}

// sessionFile looks at a file; ok is false where it is no session's.
func sessionFile(id, path string) (SessionFile, bool) {
	if checkID("session id", id) != nil {
		return SessionFile{}, false
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return SessionFile{}, false
	}
	return SessionFile{Session: id, Path: path, Size: info.Size(), ModTime: info.ModTime()}, true
}

// taskFolders reads the working directory of each task from Cline's own list.
// Without the list, or where it is damaged, less is known.
func (f *Finder) taskFolders(ctx context.Context, path string) map[string]string {
	f, ctx, done := f.within(ctx)
	defer func() { _ = done(nil) }()
	cwds := make(map[string]string)
	_ = f.decodeFile(ctx, path, maxSmallFileBytes, 1, func(r io.Reader) error {
		dec := json.NewDecoder(r)
		return decodeArray(ctx, dec, func() error {
			var row struct {
				ID  string `json:"id"`
				Cwd string `json:"cwdOnTaskInitialization"`
			}
			if err := decodeValue(dec, &row); err != nil {
				return err
			}
			cwds[row.ID] = row.Cwd
			return nil
		})
	})
	return cwds
}
