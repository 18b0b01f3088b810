package agentfiles

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// clineCounts are the tokens of a request, in the words of the extension or of the SDK.
type clineCounts struct {
	TokensIn, InputTokens                                      *float64
	TokensOut, OutputTokens                                    float64
	CacheReads, CacheWrites, CacheReadTokens, CacheWriteTokens float64
	Cost                                                       *float64
	CancelReason                                               string
}

// request is a request, nil without tokens.
func (u *clineCounts) request(failed bool) *Request {
	input := cmp.Or(u.TokensIn, u.InputTokens)
	if input == nil {
		return nil
	}
	read, write := u.CacheReads+u.CacheReadTokens, u.CacheWrites+u.CacheWriteTokens
	q := counted(*input+read+write, u.TokensOut+u.OutputTokens, read, write)
	q.Bare, q.Cost, q.Failed = int64(*input), u.Cost, failed || u.CancelReason != ""
	return &q
}

type clineRow struct {
	TS                       float64
	Say, Ask, Text, ID, Role string
	Images                   []jsontext.Value
	Content                  blockList
	ModelInfo                struct{ ID, ModelID string }
	Metadata                 struct{ DisplayRole string }
	Metrics                  clineCounts
}

func openCline(r *file) func([]byte) {
	r.session = filepath.Base(filepath.Dir(r.path))
	name := filepath.Base(r.path)
	return func(text []byte) {
		switch {
		case name == "ui_messages.json":
			for i, raw := range value[[]jsontext.Value](text) {
				row := value[clineRow](raw)
				r.kind("cline", row.Say, raw)
				r.kind("cline", row.Ask, raw)
				r.clineShown(i, &row)
			}
		case name == "api_conversation_history.json":
			r.clineMessages(value[[]jsontext.Value](text), true)
		case strings.HasSuffix(name, ".messages.json"):
			r.clineMessages(value[struct{ Messages []jsontext.Value }](text).Messages, false)
		}
	}
}

func (r *file) row(i int, at float64) {
	r.line = i + 1
	r.at = time.Time{}
	if at > 0 {
		r.at = time.UnixMilli(int64(at))
	}
}

// clineShown adds a row of what Cline shows. Its sums leave the first row out.
func (r *file) clineShown(i int, row *clineRow) {
	r.row(i, row.TS)
	switch row.Say {
	case "api_req_started", "deleted_api_reqs", "subagent_usage":
		u := value[clineCounts]([]byte(row.Text))
		q := u.request(false)
		if i == 0 || q == nil {
			return
		}
		r.request(1, fmt.Sprintf("%s/%d", r.session, i), row.ModelInfo.ModelID, *q)
		r.turn.Answered = r.turn.Answered && row.Say != "api_req_started"
	case "completion_result":
		r.turn.Answered = true
	case "task", "user_feedback", "text":
		if len(row.Images) > 0 {
			row.Text = cmp.Or(row.Text, "[image]")
		}
		if row.Text != "" && (row.Say != "text" || i == 0) {
			r.prompt(1, r.nth(1, row.Text), row.Text)
		}
	}
}

// clineMessages adds the calls of a conversation, and the tokens where it has them.
func (r *file) clineMessages(rows []jsontext.Value, classic bool) {
	name := fileName(r.path)
	sub := strings.HasPrefix(name, "agent_")
	if sub {
		r.agent = name
	}
	var asked []block
	for i, raw := range rows {
		row := value[clineRow](raw)
		r.row(i, row.TS)
		r.kind("cline messages", row.Role, raw)
		for _, b := range row.Content {
			r.kind("cline parts", b.Type, raw)
		}
		switch row.Role {
		case "assistant":
			asked = nil
			for _, b := range row.Content {
				if b.Type == "tool_use" && b.ID != "" && b.Name != "attempt_completion" {
					r.call(b.ID, b.Name)
					asked = append(asked, b)
				}
			}
			failed := row.Metadata.DisplayRole == "error"
			if q := row.Metrics.request(failed); q != nil && !classic {
				r.request(1, row.ID, cmp.Or(row.ModelInfo.ID, row.ModelInfo.ModelID), *q)
			} else if failed && !classic {
				r.failure(row.ID)
			}
			if !sub {
				r.says(!classic && len(asked) == 0, false)
			}
		case "user":
			for _, b := range row.Content {
				switch {
				case b.Type == "text" && !classic && !sub && strings.HasPrefix(b.Text, "<user_input"):
					r.prompt(1, row.ID, typedIn(b.Text))
				default:
					asked = r.clineResult(asked, &b, classic)
				}
			}
		}
	}
}

// clineStatus is what a result says.
func clineStatus(b *block, classic bool) Status {
	if b.IsError {
		return Bad
	}
	if !classic {
		return sdkStatus(string(b.Content))
	}
	text := strings.ReplaceAll(string(b.Content), `\"`, `"`)
	if strings.Contains(text, `"success":false`) || strings.Contains(text, `"success": false`) {
		return Bad
	}
	return Unstated
}

// sdkStatus is what the parts of a result of the SDK say, or of a long one its end. It may be
// one part, in a text. What a command printed may look the same.
func sdkStatus(raw string) Status {
	if text := value[string]([]byte(raw)); text != "" {
		raw = "[" + text + "]"
	}
	status := Unstated
	for _, part := range value[[]struct{ Success *bool }]([]byte(raw)) {
		switch {
		case part.Success == nil:
		case !*part.Success:
			return Bad
		default:
			status = OK
		}
	}
	if end := strings.ReplaceAll(raw[max(0, len(raw)-40):], `\"`, `"`); strings.Contains(raw, "\n…") && strings.Contains(end, `"success":false}`) {
		return Bad
	}
	return status
}

// clineResult adds a result, of a text that of the first call of the tool in its heading. It returns
// the calls without one.
func (r *file) clineResult(asked []block, b *block, classic bool) []block {
	switch {
	case b.Type == "tool_result":
		r.result(b.ToolUseID, clineStatus(b, classic))
	case b.Type != "text" || !strings.HasPrefix(b.Text, "[") || !strings.Contains(b.Text, "] Result:"):
	default:
		for i, q := range asked {
			if strings.HasPrefix(b.Text, "["+q.Name) {
				if !strings.Contains(b.Text, "was not executed because a tool has already been used") {
					r.result(q.ID, Unstated)
				}
				return append(asked[:i:i], asked[i+1:]...)
			}
		}
	}
	return asked
}
