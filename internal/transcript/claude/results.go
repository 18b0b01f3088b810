package claude

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

func (l *fileLog) addResults(r *row, c transcript.Content) {
	for _, b := range c {
		if b.Type != "tool_result" || b.ToolUseID == "" {
			continue
		}
		use, agent, known := l.use(b.ToolUseID, cmp.Or(l.agent, r.text("agentId")))
		if !known && (l.copied || l.agent == "" && !l.begun) {
			continue // the call was made in the other session
		}
		if l.b.whole != nil && !l.b.whole(b.ToolUseID, use.name) {
			delete(l.tools, b.ToolUseID)
			continue
		}
		delete(l.tools, b.ToolUseID)
		if l.b.repeats(b.ToolUseID, r.dated) {
			continue
		}
		text := resultText(b.Content)
		status, asked := toolStatus(r, b.IsError, text)
		invalid := strings.HasPrefix(text, "<tool_use_error>") // Claude Code ran nothing
		if b.IsError && l.b.whole == nil {
			text = claude.FailureText(text)
		}
		subagent := r.in("toolUseResult", "agentId")
		if subagent != "" {
			// The report as hooks have it, without the words for the model around it.
			text = cmp.Or(resultText(rawjson.Member(r.Get("toolUseResult"), "content")), text)
		}
		l.b.results = append(l.b.results, hook.ToolResult{
			ID:     cmp.Or(use.id, b.ToolUseID),
			Agent:  agent,
			Turn:   cmp.Or(use.turn, l.turn),
			Name:   use.name,
			Input:  l.b.texts.KeepJSON(use.input),
			Text:   l.b.texts.Keep(text),
			Status: status,
			Ran:    status == hook.ToolCancelled && r.text("toolDenialKind") != "cancelled",
			Asked:  use.at,
			At:     r.at,
		})
		if l.b.whole != nil {
			last := &l.b.results[len(l.b.results)-1]
			last.Input, last.Text, last.File, last.Row = use.input, text, l.path, r.line
		}
		if status == hook.ToolFailed && !invalid || status == hook.ToolDenied && !asked && wasRunning(r.text("version"), l.mode) {
			l.refused = append(l.refused, len(l.b.results)-1)
		}
		if subagent != "" {
			l.b.spawns[subagent] = b.ToolUseID
		}
	}
	if l.lead(r) && len(c) > 0 {
		l.b.ends.open = true
	}
}

// use returns the call of a result in an agent's rows, and whose it is: the file of the conversation
// that the rows begin with may lack the result.
func (l *fileLog) use(id, agent string) (use toolUse, of string, known bool) {
	use, known = l.tools[id]
	if known || l.of == nil {
		return use, agent, known
	}
	if use, known := l.of.tools[id]; known {
		return use, use.agent, true
	}
	return use, agent, false
}

// addUnanswered adds the calls that have no result, of which another file or row may have
// one.
func (b *build) addUnanswered(agents []subagent, lead *fileLog) {
	answered := make(map[string]bool, len(b.results))
	for i := range b.results {
		answered[b.results[i].ID] = true
	}
	logs := []*fileLog{lead}
	for i := range agents {
		logs = append(logs, agents[i].log)
	}
	for _, l := range logs {
		for _, id := range slices.Sorted(maps.Keys(l.tools)) {
			use := l.tools[id]
			if answered[id] || b.whole != nil && !b.whole(id, use.name) {
				continue
			}
			answered[id] = true
			r := hook.ToolResult{
				ID: id, Agent: use.agent, Turn: use.turn, Name: use.name, Input: use.input, Status: hook.ToolUnknown, Asked: use.at,
			}
			if b.whole != nil {
				r.File, r.Row = l.path, use.line
			} else {
				r.Input = b.texts.KeepJSON(r.Input)
			}
			b.results = append(b.results, r)
		}
	}
}

// killed is how long before the user's interruption of a call the row of the call may be
// dated: another call of the same answer that failed earlier failed by itself.
const killed = 5 * time.Second

// interrupt marks the calls whose results are the user's interruption. tools reports that
// it stopped calls, and not an answer.
func (l *fileLog) interrupt(at time.Time, tools bool) {
	for _, i := range l.refused {
		res := &l.b.results[i]
		if res.Turn == l.turn && (res.Status == hook.ToolDenied || tools && at.Sub(res.At) <= killed) {
			res.Status, res.Ran = hook.ToolCancelled, true
		}
	}
	l.refused = l.refused[:0]
}
