package importer

import (
	"context"
	"os"
	"slices"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/transcript"
)

// Sessions lists an agent's sessions on this machine, the oldest first.
func Sessions(ctx context.Context, files *transcript.Files, a transcript.Reader) ([]Session, error) {
	files = files.Remember()
	found, err := files.Sessions(ctx, a)
	out := make([]Session, len(found))
	for i, s := range found {
		q := transcript.Query{Session: s.ID, Dialect: s.Dialect, Path: s.Path, Full: true}
		out[i] = Session{
			Session: s,
			Read:    func(ctx context.Context) (*hook.Transcript, error) { return files.Read(ctx, a, q) },
		}
	}
	return out, err
}

// Select returns the sessions with the given ids, or all if there are none. If a
// session is not among them, missing is its id.
func Select(all []Session, ids []string) (selected []Session, missing string) {
	if len(ids) == 0 {
		return all, ""
	}
	for _, id := range ids {
		i := slices.IndexFunc(all, func(s Session) bool { return s.ID == id })
		if i < 0 {
			return nil, id
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s Session) bool { return !slices.Contains(ids, s.ID) }), ""
}

// Order returns the destinations with the given names, or all if there are none,
// in the order that Importer needs: the local store last.
func Order(all []deliver.Destination, names []string) []deliver.Destination {
	out := slices.DeleteFunc(slices.Clone(all), func(d deliver.Destination) bool {
		return len(names) > 0 && !slices.Contains(names, d.Name)
	})
	slices.SortStableFunc(out, func(x, y deliver.Destination) int {
		switch {
		case x.Name == storeName && y.Name != storeName:
			return 1
		case y.Name == storeName && x.Name != storeName:
			return -1
		}
		return 0
	})
	return out
}

// Memory is the limit of the heap for an import, in bytes: most of what it allocates
// is soon free, but for the session that is read, and what is kept of each for the second
// reading. With less than that needs, the collector would run all the time.
func Memory(sessions []Session) int64 {
	const others, times, each = 96 << 20, 3, 5 << 10
	largest := int64(0)
	for i := range sessions {
		if info, err := os.Stat(sessions[i].Path); err == nil {
			largest = max(largest, info.Size())
		}
	}
	return others + times*largest + each*int64(len(sessions))
}
