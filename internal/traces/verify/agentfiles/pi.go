package agentfiles

import (
	"cmp"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

type piRow struct {
	Type, ID, Timestamp, CWD, ParentSession, ModelID string

	Model   string
	Usage   *piUsage
	Message struct {
		Role, Model, StopReason, ResponseID, ToolCallID, ToolName string

		Timestamp   float64
		Content     jsontext.Value
		IsError     bool
		DurationMs  *float64
		Usage       *piUsage
		NestedCalls struct {
			Calls []struct{ ID, Name, Status string }
		}
	}
}

type piUsage struct {
	Input, Output, CacheRead, CacheWrite float64

	Cost struct{ Total *float64 }
}

// request is what the tokens come to. Pi counts the input without the cache.
func (u *piUsage) request() Request {
	if u == nil {
		return Request{}
	}
	q := counted(u.Input+u.CacheRead+u.CacheWrite, u.Output, u.CacheRead, u.CacheWrite)
	q.Cost = u.Cost.Total
	return q
}

// none reports that nothing was counted.
func (u *piUsage) none() bool { return u.request().Input+u.request().Output == 0 }

// piFile is what is known of a session's file while it is read.
type piFile struct {
	r     *file
	model string
	// born is when a fork was made, zero for another session; done is the time of the newest
	// answer or result.
	born, done time.Time
	// custom is the time of an extension's message, zero without one.
	custom time.Time
	// cut reports that a call since the newest answer was broken off.
	cut bool
}

func openPi(r *file) func([]byte) {
	c := &piFile{r: r}
	return rows(r, func(row *piRow, line []byte) {
		if row.Type == "session" {
			c.r.session = row.ID
			c.r.in(row.CWD)
			if row.ParentSession != "" {
				c.born = timeOf(row.Timestamp)
				name := row.ParentSession[strings.LastIndexAny(row.ParentSession, `/\`)+1:]
				_, parent, _ := strings.Cut(strings.TrimSuffix(name, ".jsonl"), "_")
				c.r.origins = append(c.r.origins, parent)
			}
			return
		}
		if c.r.session == "" {
			_, c.r.session, _ = strings.Cut(fileName(r.path), "_")
		}
		if r.repeats(row.ID, row.Timestamp) {
			return
		}
		r.at = timeOf(row.Timestamp)
		r.copied = !c.born.IsZero() && !r.at.After(c.born)
		if !c.born.IsZero() && !r.copied { // what follows is the fork's own
			c.born, c.done, c.custom, r.turn = time.Time{}, time.Time{}, time.Time{}, &r.first
		}
		c.take(row, line)
	})
}

func (c *piFile) take(row *piRow, line []byte) {
	kind := row.Type
	if kind == "message" {
		kind += "/" + row.Message.Role
	}
	c.r.kind("pi", kind, line)
	switch kind {
	case "model_change":
		c.model = row.ModelID
	case "message/user":
		c.asks(row)
	case "message/assistant":
		c.answers(row)
	case "message/toolResult":
		c.results(row)
	case "custom_message":
		c.custom = c.r.at
	case "usage", "compaction", "branch_summary":
		if row.Usage.none() {
			return
		}
		if c.r.turn.Answered || c.r.turn.Cut { // the turn's that has ended
			c.r.at = c.r.turn.Last
		}
		c.r.within()
		c.r.request(1, row.ID, cmp.Or(row.Model, c.model), row.Usage.request())
	}
}

// asks notes a prompt. One that was typed before the newest answer or result is of the turn that
// was under way.
func (c *piFile) asks(row *piRow) {
	text, key := joined(value[blockList](row.Message.Content)), row.ID+"/"+row.Timestamp
	c.custom = time.Time{}
	typed := time.UnixMilli(int64(row.Message.Timestamp))
	waited := c.r.turn != &c.r.first && row.Message.Timestamp > 0 && typed.Before(c.done) && !c.r.at.Before(c.done)
	if row.Message.Timestamp > 0 {
		c.r.at = typed
	}
	if waited {
		c.r.typed(1, key, text)
		c.r.says(false, false)
		return
	}
	c.cut = false
	c.r.prompt(1, key, text)
}

// answers adds a request, with the calls that it asks for.
func (c *piFile) answers(row *piRow) {
	m := &row.Message
	c.model = cmp.Or(m.Model, c.model)
	if !c.custom.IsZero() && (c.r.turn == &c.r.first || c.r.turn.Answered || c.r.turn.Cut) {
		answered := c.r.at
		c.r.at = c.custom
		c.r.begin("")
		c.r.at = answered
	}
	c.r.within()
	c.custom, c.done = time.Time{}, c.r.at
	parts := value[[]struct{ Type, ID, Name string }](m.Content)
	failed, aborted := m.StopReason == "error", m.StopReason == "aborted"
	unsent := aborted && len(parts) == 0 && m.Usage.none() && (c.cut || m.DurationMs != nil && *m.DurationMs == 0)
	c.cut = false
	if m.Usage != nil && !unsent || failed {
		q := m.Usage.request()
		q.Failed = failed || aborted
		id := cmp.Or(m.ResponseID, row.ID)
		if c.r.of().Requests[id] != nil {
			id, q.Given = row.ID, id
		}
		c.r.request(1, id, c.model, q)
	}
	called := false
	for _, p := range parts {
		c.r.kind("pi parts", p.Type, m.Content)
		if p.Type == "toolCall" && !failed && !aborted {
			c.r.call(p.ID, p.Name)
			called = true
		}
	}
	c.r.turn.Unclear = false
	if aborted {
		c.r.interrupt()
		return
	}
	c.r.turn.Cut = false
	c.r.says(!called, failed)
}

// results adds the result of a call, the calls that it has made, and what they took.
func (c *piFile) results(row *piRow) {
	m := &row.Message
	text := joined(value[blockList](m.Content))
	switch {
	case !m.IsError:
		c.r.result(m.ToolCallID, OK)
	case strings.HasSuffix(text, " aborted"):
		c.r.result(m.ToolCallID, Bad)
		c.cut = true
	case m.DurationMs != nil || strings.HasSuffix(text, " not found") || strings.Contains(text, " was not executed: ") || strings.HasPrefix(text, "Validation failed"):
		c.r.result(m.ToolCallID, Failed)
	default:
		c.r.result(m.ToolCallID, Denied)
	}
	for _, q := range m.NestedCalls.Calls {
		c.r.call(q.ID, q.Name)
		if q.Status != "unfinished" {
			c.r.result(q.ID, map[bool]Status{true: OK, false: Bad}[q.Status == "ok"])
		}
	}
	if !m.Usage.none() {
		c.r.request(1, row.ID+"/tool", "", m.Usage.request())
	}
	c.done, c.r.turn.Unclear = c.r.at, true // the tool may end the turn
}
