package second

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
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
	Type     string           `json:"type"`
	ID       string           `json:"id"`
	Session  string           `json:"session_id"`
	Role     string           `json:"role"`
	Name     string           `json:"name"`
	CallID   string           `json:"call_id"`
	Model    string           `json:"model"`
	Response string           `json:"response_id"`
	Turn     string           `json:"turn_id"`
	Source   jsontext.Value   `json:"source"`
	Content  jsontext.Value   `json:"content"`
	Output   jsontext.Value   `json:"output"`
	Message  jsontext.Value   `json:"message"`
	Images   []jsontext.Value `json:"images"`
	Last     jsontext.Value   `json:"last_agent_message"`
	Usage    *codexUsage      `json:"usage"`
	Info     *struct {
		Total *codexUsage `json:"total_token_usage"`
		Last  *codexUsage `json:"last_token_usage"`
	} `json:"info"`
	Item struct {
		Type   string `json:"type"`
		ID     string `json:"id"`
		Status string `json:"status"`
	} `json:"item"`
}

type codexRow struct {
	codexItem `json:",inline"`
	Time      string     `json:"timestamp"`
	Payload   *codexItem `json:"payload"`
	Head      *struct {
		codexItem `json:",inline"`
		Time      string `json:"timestamp"`
	} `json:"session"`
	Items []codexItem `json:"items"`
}

// codexExit finds the exit code in the text of a command's output.
var codexExit = regexp.MustCompile(`(?m)^(?:Exit code:|Process exited with code) (-?\d+)|"exit_code":\s*(-?\d+)`)

// codexFile is what is known of a rollout while it is read.
type codexFile struct {
	*file
	model, turn string
	// began, compacted and prompted are about the turn: it shortens the conversation, and has a
	// prompt.
	began               time.Time
	compacted, prompted bool
	// home is the session of the file's own rows. forked is the time of the newest row that a
	// fork has copied, from whose rows these are.
	home, from string
	forked     time.Time
	last       *codexUsage
	polls      []string
}

func openCodex(r *file) func([]byte) {
	c := &codexFile{file: r}
	name, _, _ := strings.Cut(filepath.Base(r.path), ".")
	if parts := strings.Split(name, "-"); len(parts) > 5 {
		c.own = strings.Join(parts[len(parts)-5:], "-")
	}
	c.home, r.session = c.own, c.own
	return func(line []byte) {
		var row codexRow
		if !r.parse(line, &row) {
			return
		}
		c.tick(row.Time)
		if r.copied = r.copied && r.at.Sub(c.forked) <= 10*time.Millisecond; r.copied {
			c.forked = r.at
		}
		switch {
		case row.Head != nil:
			r.session, r.at = cmp.Or(row.Head.ID, r.session), timeOf(row.Head.Time)
			for i := range row.Items {
				c.tick("")
				c.take("", &row.Items[i])
			}
		case row.Payload != nil:
			c.take(row.Type, row.Payload)
		case row.Type != "":
			c.take("", &row.codexItem)
		}
	}
}

// tick sets the time of a row; those without one follow each other closely.
func (c *codexFile) tick(text string) {
	if at := timeOf(text); !at.IsZero() {
		c.at = at
	} else if !c.at.IsZero() {
		c.at = c.at.Add(time.Millisecond)
	}
}

func (c *codexFile) take(kind string, it *codexItem) {
	r := c.file
	switch kind {
	case "session_meta":
		c.meta(it)
		return
	case "turn_context":
		c.model, c.turn = cmp.Or(it.Model, c.model), cmp.Or(it.Turn, c.turn)
		return
	case "compacted":
		c.compacted = true
		return
	case "token_usage_record":
		if it.Usage != nil {
			r.request(2, it.Response, c.model, it.Usage.request())
		}
		return
	}
	switch it.Type {
	case "task_started":
		c.turn, c.began, c.compacted, c.prompted = cmp.Or(it.Turn, c.turn), c.at, false, false
	case "token_count":
		c.count(it)
	case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call":
		r.answered = false
		id := cmp.Or(it.CallID, it.ID)
		unnamed := id == ""
		if unnamed {
			id = fmt.Sprintf("%s:%d", filepath.Base(r.path), r.line)
		}
		r.call(id).Unnamed = unnamed
		if it.Name == "write_stdin" { // asks for what a command did that was left running
			c.polls = append(c.polls, id)
		}
		if it.Type == "web_search_call" {
			r.result(id, false)
		}
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		m := codexExit.FindStringSubmatch(unquoted(it.Output))
		r.result(it.CallID, m != nil && cmp.Or(m[1], m[2]) != "0" && !slices.Contains(c.polls, it.CallID))
	case "user_message":
		text := unquoted(it.Message)
		if len(it.Images) > 0 {
			text = cmp.Or(text, "[image]")
		}
		if !hostText(text) {
			r.prompt(3, c.key(3, text))
		}
	case "item_completed":
		if it.Item.Type == "UserMessage" {
			r.prompt(2, it.Item.ID)
		}
		if call := r.of().Calls[it.Item.ID]; call != nil && it.Item.Status != "in_progress" {
			call.Answered = true // its output may be lost
		}
	case "message":
		text := joined(blocks(it.Content))
		switch {
		case it.Role == "assistant":
			r.answered = true
		case it.Role != "user" || hostText(text) || strings.HasPrefix(text, "# AGENTS.md instructions for "):
		case kind == "":
			r.prompt(1, c.key(1, text)) // no event says that a turn begins
		default:
			r.typed(1, c.key(1, text))
		}
	case "task_complete":
		if c.compacted && !c.prompted && value[string](it.Last) == "" {
			at := c.at
			c.at = c.began
			r.prompt(3, c.key(3, "/compact"))
			c.at = at
		}
		r.answered = true
	case "agent_message", "error":
		r.answered = true
	case "turn_aborted":
		r.interrupt()
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
	if c.line == 1 && it.ID != "" {
		c.own, c.home = it.ID, cmp.Or(source.Sub.Spawn.Parent, it.Session, it.ID)
		c.session, c.sub = c.home, c.home != it.ID
	}
	if c.line > 1 && it.ID != "" && it.ID != c.own && !c.sub {
		c.from, c.forked, c.copied = it.ID, c.at, true
	}
}

// key is the key of a prompt, which is the same in a copy.
func (c *codexFile) key(rank int, text string) string {
	c.prompted = true
	key := c.nth(rank, c.turn+"/"+text)
	if c.turn != "" {
		return strings.TrimPrefix(key, ordinal)
	}
	return key
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
	of := c.own
	if c.copied {
		of = c.from
	}
	c.request(1, fmt.Sprintf("%s/%v/%v/%v", cmp.Or(c.turn, of), total.Input, total.Output, total.Total), c.model, use.request())
}

// unquoted returns the text of a value, or the value if it is no text.
func unquoted(raw jsontext.Value) string {
	if len(raw) > 0 && raw[0] == '"' {
		return value[string](raw)
	}
	return string(raw)
}
