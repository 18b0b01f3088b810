package hooksession

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
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

// Read reads the file. A project's may be no link, which could lead anywhere. A link that
// leads nowhere is a file that cannot be read, not one that does not exist.
func (f File) Read() ([]byte, error) {
	data, err := regular.Read(f.Path, regular.Options{Max: maxFile, NoLink: f.Project})
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Lstat(f.Path); there == nil {
			return nil, fmt.Errorf("hooks file %q: the link leads nowhere: create its target or remove the link", f.Path)
		}
	}
	return data, err
}

// Summary is what the hook process must know of a file with hooks. It is only made of
// files that are trusted and have no problems, and counts for one content of the file
// and of the list of trusted files. It is a file of lines:
//
//	hookspan-summary 4 SHA256-OF-FILE [SHA256-OF-LIST]
//	run_complete TAB plain
//	tool_start TAB commands TAB list_files TAB read_file
//
// Its keys are the kinds of events that may start a hook of the file.
type Summary map[hook.Kind]Hooks

// Hooks are those for one kind of event.
type Hooks struct {
	Need Need
	// NotFor are the Cline tools whose calls start none.
	NotFor []string
}

// Need is what an event needs of a file with hooks.
type Need int

// The needs, in their order.
const (
	// Nothing: no hook can run.
	Nothing Need = iota
	// Plain: command hooks may run, for which names alone decide.
	Plain
	// Commands: so may hooks with expressions and rules.
	Commands
	// Everything: so may http hooks, or rules on hosts of addresses, or what may run is not
	// known.
	Everything
)

// words are the needs in a summary.
var words = [...]string{Plain: "plain", Commands: "commands", Everything: "everything"}

const (
	// maxFile is the size in bytes of the largest file with hooks that is read.
	maxFile = 4 << 20
	// summaryForm begins a summary. Another form, or another meaning of a hooks file,
	// needs another number.
	summaryForm = "hookspan-summary 4"
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
	for kind, hooks := range s {
		lines = append(lines, strings.Join(append([]string{kind.String(), words[hooks.Need]}, hooks.NotFor...), "\t")+"\n")
	}
	slices.Sort(lines)
	text := []byte(head + strings.Join(lines, ""))
	path := f.summary(dir)
	if old, err := regular.Read(path, regular.Options{Max: maxFile, NoLink: true}); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return Replace(path, text)
}

// Need is what an event of this kind needs of the file, which for the kinds of tool
// calls is about this tool. A file that does not exist, or has no path, needs nothing.
// One that cannot be read, or has no summary of its present content, needs everything.
func (f File) Need(dir string, kind hook.Kind, tool string) Need {
	if f.Path == "" {
		return Nothing
	}
	data, err := f.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return Nothing
	}
	var head string
	if err == nil {
		head, err = f.head(data)
	}
	if err != nil {
		return Everything
	}
	text, err := regular.Read(f.summary(dir), regular.Options{Max: maxFile, NoLink: true})
	lines, current := strings.CutPrefix(string(text), head)
	if err != nil || !current {
		return Everything
	}
	for line := range strings.Lines(lines) {
		said, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if said != kind.String() {
			continue
		}
		word, tools, _ := strings.Cut(rest, "\t")
		if tool != "" && slices.Contains(strings.Split(tools, "\t"), tool) {
			return Nothing
		}
		if need := slices.Index(words[:], word); need > 0 {
			return Need(need)
		}
		return Everything
	}
	return Nothing
}
