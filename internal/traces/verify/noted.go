package verify

import (
	"context"
	"encoding/json"

	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
)

// notes are what a verdict leaves to the next one: of which states of the files and of the
// sessions' traces it is.
type notes struct {
	Files  agentfiles.Notes
	Traces map[string]string
}

// reader is the name of the notes in the store.
const reader = "second reading"

// readNotes reads the notes of the last verdict by the same version of the program.
func readNotes(ctx context.Context, host string, p *Place) (n notes, err error) {
	text, err := p.Store.Reading(ctx, host, reader, p.Version)
	_ = json.Unmarshal([]byte(text), &n) // nothing if damaged
	return n, err
}

func (n notes) write(ctx context.Context, host string, p *Place) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return p.Store.NoteReading(ctx, host, reader, p.Version, string(b))
}
