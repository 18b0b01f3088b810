package hooksession

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/regular"
)

// File is a file with hooks.
type File struct {
	// Path is the file's absolute path.
	Path string
	// Project reports that it belongs to a project. Trust is then the list of trusted
	// files.
	Project bool
	Trust   string
}

// Read reads the file. A project's may be no link, which could lead anywhere.
func (f File) Read() ([]byte, error) {
	return regular.Read(f.Path, regular.Options{Max: maxFile, NoLink: f.Project})
}

// Summary has the kinds of events that may start a hook of a file, each with the
// Cline tools whose calls start none. It is only made of files that are trusted and
// have no problems, and counts for one content of the file and of the list of trusted
// files. It is a file of lines:
//
//	hookspan-summary 1 SHA256-OF-FILE [SHA256-OF-LIST]
//	tool_start TAB list_files TAB read_file
//	run_complete
type Summary map[hook.Kind][]string

const (
	// maxFile is the size in bytes of the largest file with hooks that is read.
	maxFile = 4 << 20
	// summaryForm begins a summary. Another form, or another meaning of a hooks file,
	// needs another number.
	summaryForm = "hookspan-summary 1"
)

// summary is where the summary is. Sweep removes it as it does a session.
func (f File) summary(dir string) string {
	sum := sha256.Sum256([]byte(f.Path))
	return filepath.Join(dir, "summaries", hex.EncodeToString(sum[:16]), "hooks")
}

// head is the first line of the summary for a content.
func (f File) head(data []byte) (string, error) {
	sum := sha256.Sum256(data)
	head := summaryForm + " " + hex.EncodeToString(sum[:])
	if f.Project {
		list, err := regular.Read(f.Trust, regular.Options{Max: maxFile})
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(list)
		head += " " + hex.EncodeToString(sum[:])
	}
	return head + "\n", nil
}

// Summarize stores the summary of the file with this content, below the folder for
// all sessions. Without it, each event starts the runner.
func (f File) Summarize(dir string, data []byte, s Summary) error {
	head, err := f.head(data)
	if err != nil {
		return err
	}
	lines := make([]string, 0, len(s))
	for kind, tools := range s {
		lines = append(lines, strings.Join(append([]string{kind.String()}, tools...), "\t")+"\n")
	}
	slices.Sort(lines)
	text := []byte(head + strings.Join(lines, ""))
	path := f.summary(dir)
	if old, err := regular.Read(path, regular.Options{Max: maxFile, NoLink: true}); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return Replace(path, text)
}

// Idle reports that no hook of the file can run for an event of this kind, which for
// the kinds of tool calls is about this tool. A file that does not exist, or has no
// path, has no hooks. It is false where the file cannot be read, and where there is no
// summary of its present content.
func (f File) Idle(dir string, kind hook.Kind, tool string) bool {
	if f.Path == "" {
		return true
	}
	data, err := f.Read()
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	head, err := f.head(data)
	if err != nil {
		return false
	}
	text, err := regular.Read(f.summary(dir), regular.Options{Max: maxFile, NoLink: true})
	lines, current := strings.CutPrefix(string(text), head)
	if err != nil || !current {
		return false
	}
	for line := range strings.Lines(lines) {
		if words := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); words[0] == kind.String() {
			return tool != "" && slices.Contains(words[1:], tool)
		}
	}
	return true
}
