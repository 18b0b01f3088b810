package codex

import (
	"context"
	"path/filepath"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/transcript"
)

// agentFiles lists the files of a subagent's thread: of the day of the session's file, else
// of any other day, as days are local and the zone may have changed, else of the archive.
func (l *log) agentFiles(ctx context.Context, f *transcript.Files, path, thread string) (files []string) {
	day := filepath.Dir(path)
	if l.beside == nil {
		l.beside = transcript.Recall(f, filesOf(day), func(*transcript.Files) map[string][]string { return byThread(day) })
	}
	if files = l.beside[thread]; len(files) > 0 {
		return files
	}
	if l.shelf == nil {
		l.shelf = shelfOf(ctx, f)
	}
	for _, archived := range [...]bool{false, true} {
		for _, path := range l.shelf.paths[thread] {
			if (filepath.Base(filepath.Dir(path)) == archive) == archived {
				files = append(files, path)
			}
		}
		if len(files) > 0 {
			return files
		}
	}
	return nil
}

// addEvents adds the events of Codex's hooks, with the keys that a hook's event has.
func addEvents(b *transcript.EventBuilder, _ string) {
	for _, p := range b.Transcript.Prompts {
		b.Add(p.At, hook.Event{
			Kind: hook.KindPrompt, Name: "UserPromptSubmit", Turn: p.Turn, Prompt: p.Text, Key: claude.PromptKey(p.Turn, p.Text),
		})
	}
	addUnprompted(b)
	b.AddTools(nil)
	b.AddAgents("SubagentStart", "SubagentStop", nil)
	names := map[hook.Kind]string{
		hook.KindRunComplete: "Stop",
		hook.KindRunError:    "failure", // Codex has no hook for it
		hook.KindSessionEnd:  "Interrupt",
	}
	b.AddEnds(names, func(end *hook.TurnEnd) string {
		if end.Kind == hook.KindRunComplete {
			return "Stop/" + end.Turn
		}
		return ""
	})
}

// addUnprompted adds the begin of each turn for which nobody typed anything: its requests
// would be of no run.
func addUnprompted(b *transcript.EventBuilder) {
	began := make(map[string]time.Time)
	for _, p := range b.Transcript.Prompts {
		began[p.Turn] = time.Time{}
	}
	var turns []string
	see := func(agent, turn string, at time.Time) {
		first, known := began[turn]
		switch {
		case agent != "" || turn == "" || at.IsZero() || known && first.IsZero():
		case !known:
			turns = append(turns, turn)
			began[turn] = at
		case at.Before(first):
			began[turn] = at
		}
	}
	for i := range b.Transcript.Requests {
		c := &b.Transcript.Requests[i]
		see(c.Agent, c.Turn, c.Start)
	}
	for i := range b.Transcript.ToolResults {
		r := &b.Transcript.ToolResults[i]
		see(r.Agent, r.Turn, r.Asked)
	}
	for _, turn := range turns {
		b.Add(began[turn], hook.Event{Kind: hook.KindRunResume, Name: "session file", Turn: turn})
	}
}
