package userhooks

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hooksession"
)

// maxProblems is how many problems are remembered.
const maxProblems = 50

// repeatAfter is how long a problem that comes again is not logged again.
const repeatAfter = time.Hour

// Noted is something about the user's hooks that did not go as they wanted.
type Noted struct {
	// First and Last are when it happened first and last.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Logged is when it was last logged.
	Logged time.Time `json:"told"`
	// Count is how often it happened.
	Count int `json:"count"`
	// Text says what, in one line.
	Text string `json:"text"`
}

// Problems is the list of what went wrong of late. Two processes that write it
// at once may lose one line of it, never the list.
type Problems struct{ Path string }

// List returns what is noted, the latest last. A file that cannot be read holds
// nothing.
func (p Problems) List() []Noted {
	data, err := regular.Read(p.Path, regular.Options{Max: hookfile.MaxSize})
	if err != nil {
		return nil
	}
	var out []Noted
	for line := range bytes.Lines(data) {
		var n Noted
		if json.Unmarshal(line, &n) == nil && n.Text != "" {
			out = append(out, n)
		}
	}
	return out
}

// Note adds texts and returns those that are new, or were not logged for
// an hour, which are the ones worth a line in the log.
func (p Problems) Note(now time.Time, texts ...string) []string {
	if len(texts) == 0 {
		return nil
	}
	list := p.List()
	var fresh []string
	for _, text := range texts {
		n := Noted{First: now, Last: now, Logged: now, Count: 1, Text: text}
		if i := slices.IndexFunc(list, func(old Noted) bool { return old.Text == text }); i >= 0 {
			n.First, n.Count = list[i].First, list[i].Count+1
			if !hook.Elapsed(now, list[i].Logged, repeatAfter) {
				n.Logged = list[i].Logged
			}
			list = slices.Delete(list, i, i+1)
		}
		if n.Logged.Equal(now) {
			fresh = append(fresh, text)
		}
		list = append(list, n)
	}
	p.write(list[max(0, len(list)-maxProblems):])
	return fresh
}

// write replaces the file. A failure loses a note and nothing else.
func (p Problems) write(list []Noted) {
	var b bytes.Buffer
	for _, n := range list {
		line, err := json.Marshal(n)
		if err != nil {
			continue
		}
		b.Write(append(line, '\n'))
	}
	_ = hooksession.Replace(p.Path, b.Bytes())
}
