package claude

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// side returns the log of the subagent that a row of the session's own file is of, nil
// for none: until some version of 1.0 subagents had no files, and the rows of each follow
// one another from its prompt on.
func (l *fileLog) side(r *row) *fileLog {
	if l.agent != "" || !r.sidechain || r.text("agentId") != "" {
		return nil
	}
	id, uuid := "", r.text("uuid")
	if parent := r.text("parentUuid"); parent != "" {
		id, _ = l.chains.of(parent)
	} else if r.opensTurn() {
		id = uuid
	}
	if id == "" {
		return nil
	}
	l.chains.note(uuid, id)
	side := l.sideOf[id]
	if side == nil {
		side = &fileLog{b: l.b, in: l, agent: id, clock: l.asking, turn: l.turn, rows: l.rows, meta: l.started(r)}
		if l.sideOf == nil {
			l.sideOf = make(map[string]*fileLog)
		}
		l.sides, l.sideOf[id] = append(l.sides, side), side
	}
	side.path = l.path
	return side
}

// started returns what the call says that started the subagent with a prompt: the first
// one with this prompt that has no subagent yet.
func (l *fileLog) started(r *row) (m agentMeta) {
	prompt := strings.TrimSpace(r.content().Text())
	line := 0
	for id, use := range l.tools {
		input := rawjson.Members([]byte(use.input))
		if strings.TrimSpace(input.Text("prompt")) != prompt || line > 0 && use.line > line ||
			slices.ContainsFunc(l.sides, func(side *fileLog) bool { return side.meta.ToolUseID == id }) {
			continue
		}
		line = use.line
		m = agentMeta{ToolUseID: id, AgentType: input.Text("subagent_type"), Description: input.Text("description")}
	}
	return m
}
