package agentfiles

import (
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookspan/hookspan/internal/files/regular"
)

type kimiUsage struct{ InputOther, Output, InputCacheRead, InputCacheCreation float64 }

type kimiRow struct {
	Type, PromptID, Kind, Model, Reason, Target string
	Time                                        float64
	Input                                       jsontext.Value
	Origin                                      struct{ Kind, Trigger, Phase string }
	Usage                                       *kimiUsage
	Message                                     struct{ Meta struct{ MessageID string } }
	Event                                       struct {
		Type, UUID, StepUUID, ToolCallID, Name, FinishReason, MessageID string
		Usage                                                           *kimiUsage
		Part                                                            struct{ Type string }
		Result                                                          struct{ IsError bool }
	}
}

// kimiFile is what is known of an agent's file while it is read.
type kimiFile struct {
	f *file
	// step is that of the request under way, empty if it is of none, model its model, and last
	// what was counted of it.
	step, model string
	last        *Request
}

// openKimi prepares for an agent's file: SESSION/agents/AGENT/wire.jsonl.
func openKimi(r *file) func([]byte) {
	agent := filepath.Base(filepath.Dir(r.path))
	folder := filepath.Dir(filepath.Dir(filepath.Dir(r.path)))
	if filepath.Base(r.path) != "wire.jsonl" {
		return func([]byte) {}
	}
	r.session = filepath.Base(folder)
	if text, err := regular.Read(filepath.Join(folder, "state.json"), regular.Options{Max: maxLine}); err == nil {
		r.in(value[struct{ CWD string }](text).CWD)
	}
	if agent != "main" {
		r.agent, r.sub = agent, true
	}
	c := &kimiFile{f: r}
	return rows(r, func(row *kimiRow, line []byte) {
		r.at = time.UnixMilli(int64(row.Time))
		r.kind("kimi-code", row.Type, line)
		r.kind("kimi-code events", row.Event.Type, line)
		r.kind("kimi-code parts", row.Event.Part.Type, line)
		if row.Type == "context.append_loop_event" {
			c.event(row)
		} else {
			c.take(row)
		}
	})
}

func (c *kimiFile) take(row *kimiRow) {
	switch {
	case row.Type == "llm.request":
		c.model, c.last = row.Model, nil
		if row.Kind != "loop" {
			c.step = ""
		}
	case row.Type == "usage.record" && row.Usage != nil:
		id := c.step
		if c.last != nil {
			id = "" // of the program itself
		}
		c.last = cmp.Or(c.last, c.f.request(1, id, cmp.Or(c.model, row.Model), row.Usage.request()))
	case row.Type == "agent.message.appended":
		// It comes behind the turn, and has what the row of an interrupted step lacks.
		id := row.Message.Meta.MessageID
		if id != "" && c.last != nil && c.last.ID == c.step && c.f.of().Requests[id] == nil {
			c.rename(id)
		}
	case row.Type == "forked":
		// What is before it is there in another session, too.
		c.f.of().copied = true
		c.f.of().Began = time.Time{}
		c.f.of().each(func(_ key, f *Fact) { f.copied = true })
	case c.f.sub:
	case row.Type == "turn.prompt" || row.Type == "turn.steer":
		c.asked(row)
	case row.Type == "turn.ended" && row.Reason == "cancelled":
		c.f.interrupt()
	case row.Type == "turn.ended":
		c.f.finish(row.Reason != "completed")
	}
}

// asked notes a prompt, and the turn that it begins. The host begins turns, too.
func (c *kimiFile) asked(row *kimiRow) {
	var texts []string
	for _, part := range value[[]struct{ Text string }](row.Input) {
		texts = append(texts, part.Text)
	}
	text := cmp.Or(strings.Join(texts, "\n"), value[string](row.Input))
	typed := row.Origin.Kind == "user" || row.Origin.Trigger == "user-slash" || row.Origin.Phase == "input"
	id := cmp.Or(row.PromptID, c.f.nth(1, text))
	switch {
	case row.Type == "turn.steer":
		if typed {
			c.f.typed(1, id, text)
		}
	case typed:
		c.f.prompt(1, id, text)
	default:
		c.f.begin("")
	}
}

// event takes what happens within a step. That of a request that failed has no tokens.
func (c *kimiFile) event(row *kimiRow) {
	switch e := &row.Event; e.Type {
	case "step.begin":
		c.step, c.last = e.UUID, nil
	case "tool.call":
		c.f.call(e.ToolCallID, e.Name)
	case "tool.result":
		c.f.result(e.ToolCallID, map[bool]Status{true: Bad, false: OK}[e.Result.IsError])
	case "step.end":
		id := cmp.Or(e.MessageID, e.UUID)
		switch {
		case c.last != nil && c.last.ID == e.UUID:
			c.rename(id)
		case c.last == nil && e.Usage != nil:
			c.f.request(1, id, c.model, e.Usage.request())
		case c.last == nil && (e.FinishReason == "error" || e.FinishReason == "interrupted"):
			c.f.failure(id)
		}
		if !c.f.sub {
			c.f.says(e.FinishReason == "end_turn", false)
		}
	}
}

// rename gives the request of a step its answer's id.
func (c *kimiFile) rename(id string) {
	all := c.f.of().Requests
	delete(all, c.last.ID)
	c.last.ID, all[id] = id, c.last
}

func (u *kimiUsage) request() Request {
	return counted(u.InputOther+u.InputCacheRead+u.InputCacheCreation, u.Output, u.InputCacheRead, u.InputCacheCreation)
}
