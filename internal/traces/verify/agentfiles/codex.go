package agentfiles

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookspan/hookspan/internal/pattern"
)

// usage are the tokens of a request, or of all so far, in the words of Codex and of Copilot.
type usage struct {
	Model, APICallID                                                                                                    string
	InputTokens, CachedInputTokens, CacheReadTokens, CacheWriteInputTokens, CacheWriteTokens, OutputTokens, TotalTokens float64
}

func (u *usage) request() Request {
	return counted(u.InputTokens, u.OutputTokens, u.CachedInputTokens+u.CacheReadTokens, u.CacheWriteInputTokens+u.CacheWriteTokens)
}

type codexItem struct {
	Type, ID, SessionID, Role, Phase, Name, CallID, Model, ResponseID, TurnID, CWD string
	LastAgentMessage                                                               string
	Source, Arguments, Error                                                       jsontext.Value
	Content, Message                                                               blockList
	Images                                                                         []jsontext.Value
	Output                                                                         ends
	Success                                                                        *bool
	Usage                                                                          *usage
	Info                                                                           *struct{ TotalTokenUsage, LastTokenUsage *usage }
	Item                                                                           struct {
		Type, ID, Status, Server, Tool string
		Content                        blockList
	}
}

type codexRow struct {
	codexItem `json:",inline"`
	Timestamp string
	Payload   *codexItem
	// Session begins a file of the first versions, Items are its rows.
	Session *struct{ ID, Timestamp string }
	Items   []codexItem
}

// ends are the beginning and the end of a call's output, where it says how the call ended.
type ends string

// UnmarshalJSONFrom keeps what is not in the middle of a long output.
func (o *ends) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	raw, err := in.ReadValue()
	if err != nil {
		return err
	}
	if len(raw) > 2*maxHead {
		*o = ends(raw[:maxHead]) + "\n…" + ends(raw[len(raw)-maxHead:])
		return nil
	}
	*o = ends(raw)
	return nil
}

// escapes are those of JSON that matter to text.
var escapes = strings.NewReplacer(`\n`, "\n", `\"`, `"`)

// text returns the output, or a part of it, without escapes.
func (o ends) text() string {
	text := escapes.Replace(string(o))
	if _, inner, found := strings.Cut(text, `"text":`); found && strings.HasPrefix(text, "[") {
		text = strings.TrimLeft(inner, " ")
	}
	return strings.TrimPrefix(text, `"`)
}

// codexExit finds the exit code in the head of a command's output, or behind the output of the
// versions that wrote JSON, codexLeft the session of one that was left running, and codexAsked
// that of a later question about it.
var (
	codexExit  = pattern.Of(`\AExit code: (-?\d+)|(?m:^Process exited with code) (-?\d+)|(?s:\A\{"output":.*"exit_code":\s*(-?\d+))`)
	codexLeft  = pattern.Of(`(?m)^(?:Process|Script) running with (session|cell) ID (\d+)`)
	codexAsked = pattern.Of(`(session|cell)_id[\\": ]+(\d+)`)
)

// Beginnings of outputs of calls that did not run, and of those that failed.
var (
	codexDenials  = pattern.Of("(?s)^(?:Command blocked by PreToolUse hook|exec_command failed(?: for `.*?`)?: CreateProcess { message: \"Rejected)")
	codexFailures = []string{"apply_patch verification failed", "unsupported call:", "unable to locate image", "exec_command failed", "write_stdin failed:", "Script failed"}
)

// codexStatus is what an output says of its call in a form that is not the tool's own words.
func codexStatus(text string) Status {
	var m []string
	head, _, _ := strings.Cut(text, "\nOutput:")
	if strings.HasPrefix(text, "{") {
		head = text
	}
	if strings.Contains(head, "code") {
		m = codexExit().FindStringSubmatch(head)
	}
	switch {
	case codexDenials().MatchString(text):
		return Denied
	case begins(text, codexFailures):
		return Failed
	case strings.HasPrefix(text, "Script completed"):
		return OK
	case strings.HasPrefix(text, "Script ") || m == nil:
		return Unstated
	case m[1]+m[2]+m[3] != "0":
		return Bad
	}
	return OK
}

// codexFile is what is known of a rollout while it is read.
type codexFile struct {
	*file
	model, turnID string
	// began, compacted and prompted are about the turn: whether it shortens the conversation, has a prompt.
	began               time.Time
	compacted, prompted bool
	// home is the session of the file's own rows. forked is the time of the newest row that a
	// fork has copied, from whose rows these are.
	home, from string
	forked     time.Time
	last       usage
	// rolled counts how often a rollback took counts back.
	rolled int
	// left are the calls of commands that run on, by their sessions, polls by the calls that ask for them.
	left, polls map[string]string
	// recorded are the turns with records of usage, whose counts repeat these.
	recorded map[string]bool
}

func openCodex(r *file) func([]byte) {
	c := &codexFile{file: r, left: make(map[string]string), polls: make(map[string]string), recorded: make(map[string]bool)}
	if parts := strings.Split(fileName(r.path), "-"); len(parts) > 5 {
		c.owner = strings.Join(parts[len(parts)-5:], "-")
	}
	c.home, r.session = c.owner, c.owner
	return rows(r, func(row *codexRow, line []byte) {
		c.tick(row.Timestamp)
		if r.copied = r.copied && r.at.Sub(c.forked) <= 10*time.Millisecond; r.copied {
			c.forked = r.at
		}
		switch {
		case row.Session != nil:
			r.session, r.at = cmp.Or(row.Session.ID, r.session), timeOf(row.Session.Timestamp)
			for i := range row.Items {
				c.tick("")
				c.take("", &row.Items[i], line)
			}
		case row.Payload != nil:
			c.take(row.Type, row.Payload, line)
		case row.Type != "":
			c.take("", &row.codexItem, line)
		}
	})
}

// tick sets the time of a row; those without one follow each other closely.
func (c *codexFile) tick(text string) {
	if at := timeOf(text); !at.IsZero() {
		c.at = at
	} else if !c.at.IsZero() {
		c.at = c.at.Add(time.Millisecond)
	}
}

// Script is the name of a call of Codex whose calls count in its place.
const Script = "exec"

// codexTools are the tools by the types of their items, and by other names.
var codexTools = map[string]string{
	"CommandExecution": "Bash", "exec_command_end": "Bash", "exec_command": "Bash", "shell": "Bash", "shell_command": "Bash",
	"container.exec": "Bash", "local_shell_call": "Bash", "FileChange": "apply_patch", "patch_apply_end": "apply_patch",
	"WebSearch": "web_search", "web_search_end": "web_search", "web_search_call": "web_search", "tool_search_call": "tool_search",
}

func (c *codexFile) take(kind string, it *codexItem, line []byte) {
	if kind != it.Type {
		c.kind("codex", kind, line)
	}
	if known("response_item event_msg", kind) {
		c.kind("codex items", it.Type, line)
	}
	if it.Type == "item_completed" {
		c.kind("codex done", it.Item.Type, line)
	}
	switch kind {
	case "session_meta":
		if c.meta(it); !c.copied {
			c.in(it.CWD)
		}
	case "turn_context":
		c.in(it.CWD)
		c.model, c.turnID = cmp.Or(it.Model, c.model), cmp.Or(it.TurnID, c.turnID)
	case "compacted":
		c.compacted = true
		if t := c.turn; t.Answered && c.began.IsZero() { // by itself, in files without the events of turns
			t.Breaks = append(t.Breaks, Break{t.At, c.at})
			c.lasts()
		}
	case "token_usage_record":
		if it.Usage != nil {
			c.record(it)
		}
	default:
		c.item(kind, it)
	}
}

func (c *codexFile) item(kind string, it *codexItem) {
	switch it.Type {
	case "task_started":
		c.turnID, c.began, c.compacted, c.prompted = cmp.Or(it.TurnID, c.turnID), c.at, false, false
	case "token_count":
		c.count(it)
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call":
		c.called(it)
	case "function_call_output", "custom_tool_call_output":
		c.output(it)
	case "tool_search_output":
		if it.CallID != "" {
			c.result(it.CallID, Unstated)
		}
	case "patch_apply_end", "web_search_end", "exec_command_end":
		c.nested(it)
	case "user_message":
		text := joined(it.Message)
		if len(it.Images) > 0 {
			text = cmp.Or(text, "[image]")
		}
		if !hostText(text) {
			c.prompt(3, c.key(3, text), text)
		}
	case "item_completed":
		c.completed(it)
	case "message":
		c.said(kind, it)
	case "task_complete":
		if c.compacted && !c.prompted && it.LastAgentMessage == "" {
			at := c.at
			c.at = c.began
			c.prompt(3, c.key(3, "/compact"), "/compact")
			c.at = at
		}
		bad := len(it.Error) > 0 && string(it.Error) != "null"
		if bad {
			c.failure(c.turnID + "/failed")
		}
		c.finish(c.turn.Failed || bad)
	case "agent_message":
		c.turn.Answered, c.turn.Failed = true, false
	case "error":
		c.failure(c.turnID + "/failed")
		c.finish(true)
	case "turn_aborted":
		c.interrupt()
	}
}

// nested adds a call of a script.
func (c *codexFile) nested(it *codexItem) {
	if strings.HasPrefix(it.CallID, "exec-") {
		c.call(it.CallID, codexTools[it.Type])
		c.result(it.CallID, statusIf(it.Success != nil && !*it.Success))
	} else if call := c.of().newest(it.CallID, c.agent); call != nil {
		call.Answered = true // its output may be lost
	}
}

// said adds a message.
func (c *codexFile) said(kind string, it *codexItem) {
	text := joined(it.Content)
	switch {
	case it.Role == "assistant":
		c.turn.Answered, c.turn.Failed = it.Phase != "commentary", false
	case it.Role != "user" || hostText(text) || strings.HasPrefix(text, "# AGENTS.md instructions for "):
	case kind == "":
		c.prompt(1, c.key(1, text), text) // no event says that a turn begins
	default:
		c.typed(1, c.key(1, text), text)
	}
}

// called adds a call.
func (c *codexFile) called(it *codexItem) {
	c.turn.Answered = false
	id := cmp.Or(it.CallID, it.ID)
	unnamed := id == ""
	if unnamed {
		id = fmt.Sprintf("%s:%d", filepath.Base(c.path), c.line)
	}
	name := cmp.Or(it.Name, it.Type)
	c.call(id, cmp.Or(codexTools[name], name)).Unnamed = unnamed
	if m := codexAsked().FindSubmatch(it.Arguments); (it.Name == "write_stdin" || it.Name == "wait") && m != nil { // asks for what was left running
		c.polls[id] = c.left[string(m[1])+string(m[2])]
	}
	if it.Type == "web_search_call" || it.Type == "tool_search_call" && unnamed { // of the provider
		c.result(id, Unstated)
	}
}

// output adds the output of a call, which may say how a command that was left running ended.
func (c *codexFile) output(it *codexItem) {
	text := it.Output.text()
	status := codexStatus(text)
	if of, polls := c.polls[it.CallID]; polls && !strings.HasPrefix(text, "write_stdin failed:") {
		if of != "" && status != Unstated {
			c.result(of, status)
		}
		status = OK
	} else if strings.Contains(text, " running with ") {
		if m := codexLeft().FindStringSubmatch(text); m != nil {
			c.left[m[1]+m[2]] = it.CallID
		}
	}
	c.result(it.CallID, status)
}

// completed adds what an item says: of a prompt, of a call, and of one that a script made.
func (c *codexFile) completed(it *codexItem) {
	if it.Item.Type == "UserMessage" {
		c.prompt(2, it.Item.ID, joined(it.Item.Content))
		return
	}
	name := codexTools[it.Item.Type]
	if it.Item.Type == "McpToolCall" {
		name = "mcp__" + it.Item.Server + "__" + it.Item.Tool
	}
	if strings.HasPrefix(it.Item.ID, "exec-") && name != "" {
		c.call(it.Item.ID, name)
	}
	if call := c.of().newest(it.Item.ID, c.agent); call != nil && it.Item.Status != "in_progress" {
		call.Answered = true // its output may be lost
		switch it.Item.Status {
		case "completed":
			call.Status = max(call.Status, OK)
		case "failed", "declined":
			call.Status = max(call.Status, Bad)
		}
	}
}

// meta reads whose the next rows are: in a fork's file, first the fork's, then those that it copied.
func (c *codexFile) meta(it *codexItem) {
	source := value[struct {
		Subagent struct {
			ThreadSpawn struct{ ParentThreadID string }
		}
	}](it.Source)
	if c.line == 1 && it.ID != "" {
		c.owner, c.home = it.ID, cmp.Or(source.Subagent.ThreadSpawn.ParentThreadID, it.SessionID, it.ID)
		c.session, c.sub = c.home, c.home != it.ID
		if c.sub {
			c.agent = it.ID
		}
	}
	if c.line > 1 && it.ID != "" && it.ID != c.owner && !c.sub {
		c.from, c.forked, c.copied = it.ID, c.at, true
		c.origins = append(c.origins, it.ID)
	}
}

// key is the key of a prompt, which is the same in a copy.
func (c *codexFile) key(rank int, text string) string {
	c.prompted = true
	key := c.nth(rank, c.turnID+"/"+text)
	if c.turnID != "" {
		return strings.TrimPrefix(key, ordinal)
	}
	return key
}

// record adds what a record says of a request, in place of the counts of its turn.
func (c *codexFile) record(it *codexItem) {
	if !c.recorded[c.turnID] {
		c.recorded[c.turnID] = true
		maps.DeleteFunc(c.of().Requests, func(id string, q *Request) bool { return strings.HasPrefix(id, c.turnID+"/") && !q.lost() })
	}
	c.request(1, it.ResponseID, c.model, it.Usage.request())
}

// count adds the tokens of a row. The same row may be written again.
func (c *codexFile) count(it *codexItem) {
	if it.Info == nil || it.Info.TotalTokenUsage == nil {
		return
	}
	total := *it.Info.TotalTokenUsage
	if c.last == total {
		return
	}
	use := cmp.Or(it.Info.LastTokenUsage, &usage{
		InputTokens: total.InputTokens - c.last.InputTokens, CachedInputTokens: total.CachedInputTokens - c.last.CachedInputTokens,
		CacheWriteInputTokens: total.CacheWriteInputTokens - c.last.CacheWriteInputTokens, OutputTokens: total.OutputTokens - c.last.OutputTokens,
	})
	if total.OutputTokens < c.last.OutputTokens {
		c.rolled++
	}
	c.last = total
	if c.recorded[c.turnID] {
		return
	}
	of := c.owner
	if c.copied {
		of = c.from
	}
	c.request(1, fmt.Sprintf("%s/%v/%v/%v", cmp.Or(c.turnID, fmt.Sprint(of, "/", c.rolled)), total.InputTokens, total.OutputTokens, total.TotalTokens), c.model, use.request())
}
