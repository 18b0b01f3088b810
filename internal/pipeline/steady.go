package pipeline

import (
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// A clock that jumps ahead by more than clockJump may be wrong, and is given clockProof
// to be set back.
const (
	clockJump  = 30 * 24 * time.Hour
	clockProof = 24 * time.Hour
)

// seenClock is what clock.json in the state folder says of the clock: when traces were
// last too old by it, and since when it has run without a jump.
type seenClock struct {
	Seen  time.Time `json:"seen"`
	Since time.Time `json:"since"`
}

// steady reports whether the clock may decide that traces are too old: a clock that is a
// year ahead would empty the store. The first traces that are too old stay for a day.
func (p *Pipeline) steady() (bool, error) {
	path, now := filepath.Join(p.setup.Config.StateDir, "clock.json"), p.Deliverer.Now()
	var c seenClock
	if b, err := regular.Read(path, regular.Options{Max: 1 << 10}); err == nil {
		_ = json.Unmarshal(b, &c) // A damaged file is as none.
	}
	if d := now.Sub(c.Seen); d > clockJump || d < -time.Hour {
		c.Since = now
	}
	c.Seen = now
	b, err := json.Marshal(c)
	if err == nil {
		err = atomicfile.Write(path, b, atomicfile.Options{Sync: atomicfile.SyncNone})
	}
	return err == nil && now.Sub(c.Since) >= clockProof, err
}
