package translate

import (
	"crypto/sha256"
	"fmt"

	"github.com/hookspan/hookspan/hook"
)

// rowTime is the form of times in transcripts.
const rowTime = "2006-01-02T15:04:05.000Z"

// Rows are the lines that the event adds to a transcript in Claude's form, each
// without a line end: the prompt, a call's beginning and end, the final text.
//
// They have what scripts read: type, message.role, message.content with its
// blocks, uuid, timestamp, sessionId and cwd. Token counts and the chain of
// parents are not known here. A subagent's lines are marked isSidechain.
func (c *Call) Rows() [][]byte {
	switch c.Kind {
	case hook.KindPrompt:
		if c.Prompt == "" || c.injected() {
			return nil
		}
		return [][]byte{c.row(0, "user", c.Prompt, nil)}
	case hook.KindToolStart:
		var rows [][]byte
		for i, op := range c.call.operations {
			block := object{{"type", "tool_use"}, {"id", c.toolUseID(op)}, {"name", op.tool}, {"input", op.input}}
			rows = append(rows, c.row(i, "assistant", []any{block}, nil))
		}
		return rows
	case hook.KindToolEnd:
		var rows [][]byte
		for i, op := range c.ended() {
			if i < len(c.results) {
				rows = append(rows, c.resultRow(i, op, c.results[i]))
			}
		}
		return rows
	case hook.KindRunComplete:
		if c.Result == "" {
			return nil
		}
		return [][]byte{c.row(0, "assistant", []any{object{{"type", "text"}, {"text", c.Result}}}, nil)}
	}
	return nil
}

// resultRow is the end of a call.
func (c *Call) resultRow(i int, op operation, r outcome) []byte {
	said, structure := r.said(op.tool), r.response(op, c.Event.Tool.Duration)
	if r.failed {
		said = r.message(op.tool)
		structure = "Error: " + said
	}
	block := object{{"type", "tool_result"}, {"tool_use_id", c.toolUseID(op)}, {"content", said}, {"is_error", r.failed}}
	return c.row(i, "user", []any{block}, structure)
}

// row is one line. A toolUseResult that is nil is left out.
func (c *Call) row(i int, role string, content, toolUseResult any) []byte {
	message := object{{"role", role}, {"content", content}}
	if role == "assistant" && c.Model != "" {
		message = append(object{{"model", c.Model}}, message...)
	}
	sidechain := c.ParentAgent != ""
	row := object{{"type", role}, {"isSidechain", sidechain}}
	if sidechain {
		row = append(row, field{"agentId", c.Agent})
	}
	row = append(row, object{
		{"message", message},
		{"uuid", c.rowID(i)},
		{"timestamp", c.At().UTC().Format(rowTime)},
		{"sessionId", c.Session},
		{"cwd", c.Cwd},
	}...)
	if toolUseResult != nil {
		row = append(row, field{"toolUseResult", toolUseResult})
	}
	return row.encode()
}

// rowID is the unique id of a row: it is made of the payload and of the time when it
// was stored, so that the same event always gives the same id.
func (c *Call) rowID(i int) string {
	e := &c.Event
	sum := sha256.Sum256(fmt.Appendf(nil, "%x %d %d %d", e.Hash, e.StoredAt.UnixNano(), e.Offset, i))
	// Version 8 of RFC 9562: the bits are the maker's own.
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
