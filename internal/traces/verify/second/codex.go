package second

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func codexFolders(e Env) []string {
	homes := append([]string{e.Getenv("CODEX_HOME")}, below([]string{e.Home}, ".codex")...)
	return append(below(homes, "sessions"), below(homes, "archived_sessions")...)
}

type codexUsage struct {
	Input  float64 `json:"input_tokens"`
	Read   float64 `json:"cached_input_tokens"`
	Write  float64 `json:"cache_write_input_tokens"`
	Output float64 `json:"output_tokens"`
	Total  float64 `json:"total_tokens"`
}

func (u *codexUsage) request() Request { return counted(u.Input, u.Output, u.Read, u.Write) }

type codexItem struct {
	Type     string         `json:"type"`
	ID       string         `json:"id"`
	Session  string         `json:"session_id"`
	Role     string         `json:"role"`
	Name     string         `json:"name"`
	CallID   string         `json:"call_id"`
	Model    string         `json:"model"`
	Response string         `json:"response_id"`
	Source   jsontext.Value `json:"source"`
	Content  jsontext.Value `json:"content"`
	Output   jsontext.Value `json:"output"`
	Message  jsontext.Value `json:"message"`
	Usage    *codexUsage    `json:"usage"`
	Info     *struct {
		Total *codexUsage `json:"total_token_usage"`
		Last  *codexUsage `json:"last_token_usage"`
	} `json:"info"`
	Item struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	} `json:"item"`
}

type codexRow struct {
	codexItem `json:",inline"`
	Time      string      `json:"timestamp"`
	Payload   *codexItem  `json:"payload"`
	Head      *codexItem  `json:"session"`
	Items     []codexItem `json:"items"`
}

// codexExit finds the exit code in the text of a command's output.
var codexExit = regexp.MustCompile(`(?m)^(?:Exit code:|Process exited with code) (-?\d+)|"exit_code":\s*(-?\d+)`)

// codexFile is what is known of a rollout while it is read.
type codexFile struct {
	*file
	model string
	sub   bool
	// copied is the time of the rows that a fork has copied.
	copied time.Time
	last   *codexUsage
}

func openCodex(r *file) func([]byte) {
	c := &codexFile{file: r}
	name, _, _ := strings.Cut(filepath.Base(r.path), ".")
	if parts := strings.Split(name, "-"); len(parts) > 5 {
		c.own = strings.Join(parts[len(parts)-5:], "-")
	}
	r.session = c.own
	return func(line []byte) {
		var row codexRow
		if !r.parse(line, &row) {
			return
		}
		r.at = timeOf(row.Time)
		if !c.copied.IsZero() && r.at.Sub(c.copied) > 10*time.Millisecond {
			r.session, c.copied = c.own, time.Time{}
		}
		switch {
		case row.Head != nil:
			r.session = cmp.Or(row.Head.ID, r.session)
			for i := range row.Items {
				c.take("", &row.Items[i])
			}
		case row.Payload != nil:
			c.take(row.Type, row.Payload)
		case row.Type != "":
			c.take("", &row.codexItem)
		}
	}
}

func (c *codexFile) take(kind string, it *codexItem) {
	r := c.file
	switch kind {
	case "session_meta":
		c.meta(it)
		return
	case "turn_context":
		c.model = cmp.Or(it.Model, c.model)
		return
	case "token_usage_record":
		if it.Usage != nil {
			r.request(2, it.Response, c.model, it.Usage.request())
		}
		return
	}
	switch it.Type {
	case "token_count":
		c.count(it)
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call":
		id := cmp.Or(it.CallID, it.ID)
		if it.Name == "exec" && it.Type == "custom_tool_call" {
			return // a script: its calls count
		}
		unnamed := id == ""
		if unnamed {
			id = fmt.Sprintf("%s:%d", filepath.Base(r.path), r.line)
		}
		r.call(id).Unnamed = unnamed
		if it.Type == "web_search_call" {
			r.result(id, false)
		}
		r.answered = false
	case "function_call_output", "custom_tool_call_output":
		m := codexExit.FindStringSubmatch(unquoted(it.Output))
		r.result(it.CallID, m != nil && cmp.Or(m[1], m[2]) != "0")
	case "user_message":
		if !c.sub && !hostText(unquoted(it.Message)) {
			r.prompt(3, r.nth(3, unquoted(it.Message)))
		}
	case "item_completed":
		if !c.sub && it.Item.Type == "UserMessage" {
			r.prompt(2, it.Item.ID)
		}
	case "message":
		text := joined(blocks(it.Content))
		switch {
		case it.Role == "assistant":
			r.answered = true
		case it.Role != "user" || c.sub || hostText(text) || strings.HasPrefix(text, "# AGENTS.md instructions for "):
		case kind == "":
			r.prompt(1, r.nth(1, text)) // no event says that a turn begins
		default:
			r.typed(1, r.nth(1, text))
		}
	case "agent_message", "task_complete", "error":
		r.answered = true
	case "turn_aborted":
		r.answered = false
	}
}

// meta reads the id of the session that the next rows belong to. In a fork's file, those
// that it has copied from its parent follow its own.
func (c *codexFile) meta(it *codexItem) {
	source := value[struct {
		Sub struct {
			Spawn struct {
				Parent string `json:"parent_thread_id"`
			} `json:"thread_spawn"`
		} `json:"subagent"`
	}](it.Source)
	parent := cmp.Or(source.Sub.Spawn.Parent, it.Session, it.ID)
	if c.line > 1 && it.ID != "" && it.ID != c.own && !c.sub {
		c.session, c.copied = parent, c.at
		c.of().copied = c.own
		return
	}
	if it.ID == "" || !c.copied.IsZero() {
		return
	}
	if c.line == 1 {
		c.own, c.sub = parent, parent != it.ID
		c.session = parent
	}
}

// count adds the tokens of a row. The same row may be written again.
func (c *codexFile) count(it *codexItem) {
	if it.Info == nil || it.Info.Total == nil {
		return
	}
	total := *it.Info.Total
	if c.last != nil && *c.last == total {
		return
	}
	use := it.Info.Last
	if use == nil {
		use = &total
		if c.last != nil {
			use = &codexUsage{
				Input: total.Input - c.last.Input, Read: total.Read - c.last.Read, Write: total.Write - c.last.Write, Output: total.Output - c.last.Output,
			}
		}
	}
	c.last = &total
	id := fmt.Sprintf("%s/%v/%v/%v", filepath.Base(c.path), total.Input, total.Output, total.Total)
	if !c.copied.IsZero() || !c.sub {
		id = fmt.Sprintf("%s/%v/%v/%v", c.session, total.Input, total.Output, total.Total)
	}
	c.request(1, id, c.model, use.request())
}

// unquoted returns the text of a value, or the value if it is no text.
func unquoted(raw jsontext.Value) string {
	if len(raw) > 0 && raw[0] == '"' {
		return value[string](raw)
	}
	return string(raw)
}
