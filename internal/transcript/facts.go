package transcript

import (
	"encoding/json"
	"maps"
	"os"
	"sync"
	"time"
)

// Facts are what the beginnings of files say, kept from one listing of them to the next. Each
// holds while its file has the same size and time. The zero value has none.
type Facts struct {
	mu sync.Mutex
	// old are the facts by the paths, in use those of files that were asked for since.
	old, inUse map[string]fact
	// found reports that old lacks some of inUse.
	found bool
}

// fact is what a file says, in the state with a size and a time.
type fact struct {
	Size, At int64
	Says     []string `json:",omitempty"`
}

// ParseFacts reads what [Facts.Text] returned, nothing if that is damaged.
func ParseFacts(text string) *Facts {
	k := new(Facts)
	_ = json.Unmarshal([]byte(text), &k.old)
	return k
}

// Text is the facts as text, without those of files that are no longer there or that were
// written after a time. changed reports that they are not what was read.
func (k *Facts) Text(before time.Time) (text string, changed bool) {
	if !k.found && len(k.inUse) == len(k.old) {
		return "", false
	}
	maps.DeleteFunc(k.inUse, func(_ string, f fact) bool { return f.At >= before.UnixNano() })
	b, _ := json.Marshal(k.inUse) // cannot fail
	return string(b), true
}

// Fact returns what a file says as find finds it, or found it in an earlier listing. What find
// could not read is asked for again. info is nil for a file that is not there.
func (f *Files) Fact(path string, find func() (says []string, err error)) (says []string, info os.FileInfo) {
	info, err := os.Stat(path)
	if f.Facts == nil || err != nil {
		says, _ = find()
		return says, info
	}
	now := fact{Size: info.Size(), At: info.ModTime().UnixNano()}
	known, ok := f.Facts.old[path]
	if !ok || known.Size != now.Size || known.At != now.At {
		known, ok = now, false
		known.Says, err = find()
		if err != nil {
			return known.Says, info
		}
	}
	f.Facts.mu.Lock()
	defer f.Facts.mu.Unlock()
	if f.Facts.inUse == nil {
		f.Facts.inUse = make(map[string]fact)
	}
	f.Facts.inUse[path] = known
	f.Facts.found = f.Facts.found || !ok
	return known.Says, info
}
