package deliver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// Answer is the last answer of a destination at one of its addresses.
type Answer struct {
	// Target is the address, without a credential.
	Target string `json:"target"`
	// Tried is the time of the last try, Taken that of the last successful one;
	// zero if never.
	Tried time.Time `json:"tried"`
	Taken time.Time `json:"taken,omitzero"`
	// Error is the error of the last try, empty if it succeeded.
	Error string `json:"error,omitempty"`
	// Clock is how far the destination's clock was ahead of this machine's, if that was
	// more than five minutes.
	Clock time.Duration `json:"clock,omitempty"`
	// Denials is how often in a row the destination has refused the sender.
	Denials int `json:"denials,omitempty"`
	// Until is until when the destination has asked all senders to wait, zero if it has
	// not.
	Until time.Time `json:"until,omitzero"`
}

// answersVersion is the version of the file, see FORMAT.md.
const answersVersion = 1

// maxAnswers is the largest file that is read, in bytes. maxTargets is how many
// addresses are kept: projects may have different ones.
const (
	maxAnswers = 1 << 20
	maxTargets = 8
)

type answersFile struct {
	Version int      `json:"v"`
	Answers []Answer `json:"answers"`
}

func answersPath(dir, destination string) string {
	return filepath.Join(dir, "answers-"+destination+".json")
}

// Answers returns the last answers of a destination that are recorded in dir, one
// for each address, the newest first. A file that is missing, damaged or of another
// version counts as empty: no delivery depends on it.
func Answers(dir, destination string) ([]Answer, error) {
	b, err := regular.Read(answersPath(dir, destination), regular.Options{Max: maxAnswers})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the answers of %q: %w", destination, err)
	}
	var f answersFile
	if json.Unmarshal(b, &f) != nil || f.Version != answersVersion {
		return nil, nil
	}
	return f.Answers, nil
}

// NoteAnswer records in dir what a destination answered, instead of its former
// answer at this address. If two processes record at the same time, the later one
// wins.
func NoteAnswer(dir, destination string, a Answer) error {
	all, err := Answers(dir, destination)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(o Answer) bool { return o.Target == a.Target }); i >= 0 {
		if a.Taken.IsZero() {
			a.Taken = all[i].Taken
		}
		if all[i].Tried.After(a.Tried) {
			a.Until = all[i].Until
		}
		all = slices.Delete(all, i, i+1)
	}
	all = append([]Answer{a}, all...)
	b, err := json.Marshal(answersFile{answersVersion, all[:min(len(all), maxTargets)]})
	if err != nil {
		return err
	}
	if err := atomicfile.Write(answersPath(dir, destination), b, atomicfile.Options{Sync: atomicfile.SyncNone}); err != nil {
		return fmt.Errorf("note an answer: %w", err)
	}
	return nil
}
