package claude

import (
	"hash/maphash"
	"slices"
	"time"
	"unique"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// build gathers what the files of one session say.
type build struct {
	session string
	texts   transcript.Texts
	// whole is Query.Whole.
	whole   func(id, name string) bool
	calls   responses
	results []hook.ToolResult
	prompts []hook.Prompt
	ends    turnEnds
	// compactions are when the conversation was shortened.
	compactions []time.Time
	// spawns are the calls that started the agents, by agent.
	spawns map[string]string

	// others has the rows that other sessions count.
	others others
	// shown are hashes of the conversation's rows, true for those of the lead agent; nil
	// for a session without subagents.
	shown map[uint64]bool

	// read are hashes of the results that were read.
	seed maphash.Seed
	read map[uint64]bool

	// gone reports that only the subagents' files are left of the session.
	gone bool
	// kinds are those of rows that are not known.
	kinds transcript.Kinds
	// damaged are the lines of which something could not be read.
	damaged           int
	version, cwd, app string
	moves             hook.Moves
	folders           []string
	checkouts         hook.Checkouts
	// lastTime is the newest row's of the conversation with the user.
	lastTime time.Time
}

func newBuild(session string, maxText int) *build {
	return &build{
		session: session,
		texts:   transcript.Texts{Max: maxText},
		spawns:  make(map[string]string),
		seed:    maphash.MakeSeed(),
		read:    make(map[uint64]bool),
	}
}

// repeats reports that a result was read before: a session that is resumed may begin
// with the rows that its file has already, and an agent's file with the conversation.
func (b *build) repeats(id string, at time.Time) bool {
	key := maphash.Comparable(b.seed, [2]any{id, at.UnixNano()})
	repeats := b.read[key]
	b.read[key] = true
	return repeats && id != "" && !at.IsZero()
}

// addFolders adds the folders of the workspace, of which some rows have all. It reports whether
// the row is one.
func (b *build) addFolders(r *row) bool {
	o := r.Members("attachment").Members("snapshot")
	main := o.Text("workingDirectory")
	b.folders = transcript.AddFolders(b.folders, main, o.Get("additionalWorkingDirectories"))
	return main != ""
}

// owns reports that a subagent's file beside the session's own, mine, is of the session:
// its rows have the session's id, or that of the rows of the first file of a session
// that has none of its name.
func (b *build) owns(agent, mine *head, all *project) bool {
	if agent.session == b.session {
		return true
	}
	if agent.session == "" || agent.session != mine.session || b.others.exists(agent.session) {
		return false
	}
	first := slices.IndexFunc(all.sessions, func(h head) bool { return h.session == mine.session })
	return first >= 0 && all.sessions[first].path == mine.path
}

// eachText visits the texts that are kept.
func (b *build) eachText(text, input func(*string)) {
	for _, c := range b.calls.list {
		text(&c.Text)
		text(&c.Reasoning)
		c.words, c.thoughts = nil, nil // they have the uncut texts
	}
	for i := range b.results {
		text(&b.results[i].Text)
		input(&b.results[i].Input)
	}
	for i := range b.prompts {
		text(&b.prompts[i].Text)
	}
	for i := range b.ends.found {
		text(&b.ends.found[i].Result)
	}
}

// word is s, in the memory of the same word seen before.
func word(s string) string { return unique.Make(s).Value() }
