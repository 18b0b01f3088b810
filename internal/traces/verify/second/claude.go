package second

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func claudeFolders(e Env) []string {
	homes := append([]string{e.Getenv("CLAUDE_CONFIG_DIR")}, below([]string{e.Home}, ".claude")...)
	return below(append(homes, below([]string{e.Home}, ".config", "claude")...), "projects")
}

type claudeUsage struct {
	Type   string  `json:"type"`
	Model  string  `json:"model"`
	Input  float64 `json:"input_tokens"`
	Output float64 `json:"output_tokens"`
	Read   float64 `json:"cache_read_input_tokens"`
	Write  float64 `json:"cache_creation_input_tokens"`
	Split  struct {
		Short float64 `json:"ephemeral_5m_input_tokens"`
		Long  float64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Iterations []claudeUsage `json:"iterations"`
}

func (u *claudeUsage) request() Request {
	write := cmp.Or(u.Write, u.Split.Short+u.Split.Long)
	return counted(u.Input+u.Read+write, u.Output, u.Read, write)
}

// counted is a request whose input is a count with the cache.
func counted(input, output, read, write float64) Request {
	return Request{Input: int64(input), Bare: int64(input), Output: int64(output), CacheRead: int64(read), CacheWrite: int64(write)}
}

type claudeRow struct {
	Type       string `json:"type"`
	UUID       string `json:"uuid"`
	Session    string `json:"sessionId"`
	Asker      string `json:"requestSessionId"`
	Request    string `json:"requestId"`
	Time       string `json:"timestamp"`
	Source     string `json:"promptSource"`
	Operation  string `json:"operation"`
	Subtype    string `json:"subtype"`
	Agent      string `json:"agentId"`
	Side       bool   `json:"isSidechain"`
	Meta       bool   `json:"isMeta"`
	Summary    bool   `json:"isCompactSummary"`
	APIError   bool   `json:"isApiErrorMessage"`
	ForkedFrom struct {
		Session string `json:"sessionId"`
	} `json:"forkedFrom"`
	Origin struct {
		Kind string `json:"kind"`
	} `json:"origin"`
	Attachment struct {
		Type   string         `json:"type"`
		Mode   string         `json:"commandMode"`
		Prompt jsontext.Value `json:"prompt"`
	} `json:"attachment"`
	Content jsontext.Value `json:"content"`
	Message struct {
		ID      string       `json:"id"`
		Model   string       `json:"model"`
		Stop    string       `json:"stop_reason"`
		Usage   *claudeUsage `json:"usage"`
		Content blockList    `json:"content"`
	} `json:"message"`
}

// block is a part of a message, of Claude Code, Cline and the Gemini CLI.
type block struct {
	Inline jsontext.Value `json:"inlineData"`
	Type   string         `json:"type"`
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Text   string         `json:"text"`
	Use    string         `json:"tool_use_id"`
	Failed bool           `json:"is_error"`
}

// blockList is a content, which may be one text.
type blockList []block

// UnmarshalJSONFrom reads a content without a copy of what is not kept.
func (l *blockList) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	switch in.PeekKind() {
	case '"':
		var text string
		err := json.UnmarshalDecode(in, &text)
		*l = blockList{{Type: "text", Text: text}}
		return err
	case '[':
		return json.UnmarshalDecode(in, (*[]block)(l))
	}
	return in.SkipValue()
}

// blocks reads a content.
func blocks(raw jsontext.Value) []block { return value[blockList](raw) }

// claudeKinds are what a row must hold of which something is kept.
var claudeKinds = [][]byte{[]byte(`"usage"`), []byte(`"tool_`), []byte(`"user"`), []byte(`"queue`), []byte(`"queued_command"`), []byte(`"assistant"`), []byte(`"stop_hook_summary"`), []byte(`"turn_duration"`)}

func openClaude(r *file) func([]byte) {
	name := strings.TrimSuffix(filepath.Base(r.path), ".jsonl")
	side := strings.HasPrefix(name, "agent-")
	if !side {
		r.own = name
	}
	var queued []string           // typed, and not yet given to the model
	given := make(map[string]int) // given as the queue says, less than 0 as attachments say
	pending := ""                 // a command, a prompt only if the model is asked
	var row claudeRow
	return func(line []byte) {
		if r.line > 1 && line[0] == '{' && line[len(line)-1] == '}' && !slices.ContainsFunc(claudeKinds, func(k []byte) bool { return bytes.Contains(line, k) }) {
			if !jsontext.Value(line).IsValid(lenient) {
				r.skip(r.line, "it is no JSON object")
			}
			return
		}
		row = claudeRow{}
		if !r.parse(line, &row) {
			return
		}
		from := cmp.Or(row.Asker, row.ForkedFrom.Session)
		r.at, r.session = timeOf(row.Time), cmp.Or(from, row.Session, r.session, name)
		lead := !side && !row.Side && row.Agent == ""
		if from != "" && from != cmp.Or(row.Session, name) {
			r.give(cmp.Or(row.Session, name))
		}
		content := row.Message.Content
		switch row.Type {
		case "assistant":
			r.claudeAnswer(&row, content, lead)
			if pending != "" && lead && row.Message.Model != "<synthetic>" {
				r.typed(1, pending)
				pending = ""
			}
		case "user":
			result := false
			for _, b := range content {
				if b.Type == "tool_result" && b.Use != "" {
					result = true
					r.result(b.Use, b.Failed)
				}
			}
			text := joined(content)
			for strings.HasPrefix(text, "<ide_") { // what the editor shows comes before the words
				_, text, _ = strings.Cut(text, "</ide_")
				_, text, _ = strings.Cut(text, ">")
				text = strings.TrimSpace(text)
			}
			typed := row.Source == "" || row.Source == "typed" || row.Source == "sdk" || row.Source == "queued"
			typed = typed && (row.Origin.Kind == "" || row.Origin.Kind == "human")
			switch {
			case lead && row.Meta && strings.HasPrefix(text, "Stop hook feedback:"):
				r.answered = false
			case result || !lead || row.Meta || row.Summary || text == "":
			case interruption(text):
				r.interrupt()
				pending = ""
			case strings.Contains(text, "<command-name>") && strings.HasPrefix(strings.TrimSpace(text), "<command-"):
				pending = hashed(row.Time, text)
				r.begin(pending)
				r.answered = true // until the model is asked
			case strings.HasPrefix(strings.TrimSpace(text), "<local-command-"), strings.HasPrefix(strings.TrimSpace(text), "<bash-"):
			case !typed || claudeHost(text):
				r.begin("")
				pending = ""
			default:
				pending = ""
				r.prompt(1, hashed(row.Time, text))
			}
		case "system":
			if lead && !r.cut && (row.Subtype == "stop_hook_summary" || row.Subtype == "turn_duration") {
				r.answered = true
			}
		case "queue-operation":
			text := value[string](row.Content)
			switch {
			case row.Operation == "enqueue" && !claudeHost(text):
				queued = append(queued, text)
			case row.Operation == "enqueue":
				queued = append(queued, "")
			case row.Operation == "dequeue" && len(queued) > 0:
				queued = queued[1:]
			case row.Operation == "remove" && len(queued) > 0:
				if text = queued[0]; given[text] < 0 {
					given[text]++
				} else if text != "" {
					given[text]++
					r.typed(1, hashed(row.Time, text))
				}
				queued = queued[1:]
			case row.Operation == "popAll":
				queued = nil
			}
		case "attachment":
			text := value[string](row.Attachment.Prompt)
			switch {
			case row.Attachment.Type != "queued_command" || !lead || row.Attachment.Mode != "" && row.Attachment.Mode != "prompt" || claudeHost(text):
			case given[text] > 0:
				given[text]--
			default:
				given[text]--
				r.typed(1, hashed(row.Time, text))
			}
		}
	}
}

// claudeHost reports words of the host in place of a prompt.
func claudeHost(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || interruption(text) || strings.HasPrefix(text, "<task-notification") || strings.HasPrefix(text, "<teammate-message")
}

// claudeAnswer adds an answer's tokens and calls.
func (r *file) claudeAnswer(row *claudeRow, content []block, lead bool) {
	m := &row.Message
	if m.Model == "<synthetic>" || row.APIError {
		r.answered = r.answered || lead && row.APIError // it failed and was not interrupted
		return
	}
	if lead && r.turn == nil {
		r.begin("") // the file begins within a turn
	}
	id := cmp.Or(m.ID, row.Request, row.UUID)
	if m.Usage != nil {
		q, advice := m.Usage.request(), 0
		for i := range m.Usage.Iterations {
			switch it := &m.Usage.Iterations[i]; it.Type {
			case "advisor_message":
				advice++
				r.request(1, fmt.Sprintf("%s-advisor-%d", id, advice), cmp.Or(it.Model, m.Model), it.request())
			case "compaction":
				more := it.request()
				q = counted(float64(q.Input+more.Input), float64(q.Output+more.Output), float64(q.CacheRead+more.CacheRead), float64(q.CacheWrite+more.CacheWrite))
			}
		}
		r.request(1, id, m.Model, q)
	}
	for _, b := range content {
		switch {
		case b.Type == "tool_use" && b.ID != "":
			r.call(b.ID)
			r.answered = r.answered && !lead
		case b.Type == "text" && lead:
			r.answered = true
		}
	}
	if lead && m.Stop != "" {
		r.answered = m.Stop != "tool_use" && m.Stop != "pause_turn"
	}
}

// give gives the prompts that a fork's file began with to the session of the row, whose copies
// they are.
func (r *file) give(session string) {
	s, from := r.sessions[session], r.of()
	if s == nil || s == from {
		return
	}
	old := func(f Fact) bool { return !f.At.After(r.at) }
	s.Prompts = slices.DeleteFunc(s.Prompts, func(p Prompt) bool {
		if old(p.Fact) {
			from.addPrompt(1, p)
		}
		return old(p.Fact)
	})
	s.Turns = slices.DeleteFunc(s.Turns, func(t *Turn) bool {
		if old(t.Fact) {
			from.Turns = append(from.Turns, t)
		}
		return old(t.Fact)
	})
	if len(s.Prompts) == 0 {
		s.Began = time.Time{}
	}
}

// joined joins texts. Without one, an image or a document is a prompt, too.
func joined(content []block) string {
	var texts []string
	shown := ""
	for _, b := range content {
		switch b.Type {
		case "text", "input_text":
			texts = append(texts, b.Text)
		case "image", "input_image", "document":
			shown = "[image]"
		}
	}
	return cmp.Or(strings.Join(texts, "\n"), shown)
}
