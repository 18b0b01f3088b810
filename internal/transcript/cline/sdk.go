package cline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// messagesSuffix ends the name of every messages file; before it stands the
// session id (the lead agent's) or a subagent's id.
const messagesSuffix = ".messages.json"

// manifest is <sid>.json. Its messages_path is not followed: it is data from a
// file, and the messages lie beside it.
type manifest struct {
	SessionID     string `json:"session_id"`
	Source        string `json:"source"`
	StartedAt     string `json:"started_at"`
	EndedAt       string `json:"ended_at"`
	Status        string `json:"status"`
	Provider      string `json:"provider"`
	Model         string `json:"model"`
	Cwd           string `json:"cwd"`
	WorkspaceRoot string `json:"workspace_root"`
	Metadata      struct {
		Origin struct {
			Version string `json:"version"`
		} `json:"sessionHistoryOrigin"`
	} `json:"metadata"`
}

// end returns the kind and time of the session's end, hook.KindUnknown while
// it is under way.
func (m *manifest) end() (hook.Kind, time.Time) {
	at := transcript.ISOTime(m.EndedAt)
	switch {
	case at.IsZero(), m.Status == "running", m.Status == "":
		return hook.KindUnknown, time.Time{}
	case m.Status == "completed":
		return hook.KindRunComplete, at
	case m.Status == "failed":
		return hook.KindRunError, at
	}
	return hook.KindSessionEnd, at
}

// sourceApps names the programs behind a manifest's source.
var sourceApps = map[string]string{
	"cli":       "Cline CLI",
	"vscode":    "Visual Studio Code",
	"jetbrains": "JetBrains",
}

// readSDK reads one session's folder. The error is transcript.ErrNotFound where neither a
// manifest nor the lead's messages are there.
func readSDK(ctx context.Context, f *transcript.Files, dir, id string, full bool) (*hook.Transcript, error) {
	var t hook.Transcript
	var errs []error
	manifestPath := filepath.Join(dir, id+".json")
	m, manifestErr := transcript.Small[manifest](ctx, f, manifestPath, true)
	switch {
	case manifestErr == nil:
		t.Sources = append(t.Sources, manifestPath)
	case !errors.Is(manifestErr, transcript.ErrNotFound):
		errs = append(errs, manifestErr)
	}
	t.Cwd = cmp.Or(m.Cwd, m.WorkspaceRoot)
	t.HostApp = cmp.Or(sourceApps[m.Source], m.Source)
	t.HostVersion = m.Metadata.Origin.Version

	leadPath := filepath.Join(dir, id+messagesSuffix)
	lead, leadErr := readMessages(ctx, f, leadPath, "", transcript.ISOTime(m.StartedAt))
	switch {
	case leadErr == nil:
		t.Sources = append(t.Sources, leadPath)
	case !errors.Is(leadErr, transcript.ErrNotFound):
		errs = append(errs, leadErr)
	case manifestErr != nil && errors.Is(manifestErr, transcript.ErrNotFound):
		return nil, fmt.Errorf("session in %q: %w: neither %s nor %s", dir, transcript.ErrNotFound, id+".json", id+messagesSuffix)
	}
	lead.addTo(&t)
	if kind, at := m.end(); full && kind != hook.KindUnknown {
		t.Ends = []hook.TurnEnd{{At: at, Kind: kind}}
	}
	t.Prompts = lead.prompts
	t.HostVersion = cmp.Or(t.HostVersion, lead.version)
	t.Provider, t.Model = cmp.Or(lead.model.Provider, m.Provider), cmp.Or(lead.model.ID, m.Model)
	t.Pending = m.Status == "running" && lead.unanswered(f.Now())

	agents, err := agentFiles(dir, id)
	if err != nil {
		errs = append(errs, err)
	}
	for _, agent := range agents {
		path := filepath.Join(dir, agent+messagesSuffix)
		log, err := readMessages(ctx, f, path, agent, time.Time{})
		if err != nil {
			errs = append(errs, err)
		} else {
			t.Sources = append(t.Sources, path)
		}
		log.addTo(&t)
	}
	slices.SortStableFunc(t.Calls, func(a, b hook.LLMCall) int { return a.Start.Compare(b.Start) })
	return &t, errors.Join(errs...)
}

// agentFiles lists the ids of the subagents that have a messages file, sorted.
func agentFiles(dir, leadID string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list session %q: %w", dir, err)
	}
	var agents []string
	for _, e := range entries {
		agent, ok := strings.CutSuffix(e.Name(), messagesSuffix)
		if ok && agent != leadID && transcript.CheckID("agent id", agent) == nil {
			agents = append(agents, agent)
		}
	}
	return agents, nil
}

// messageLog is what one agent's messages file says.
type messageLog struct {
	agent   string
	version string
	calls   []hook.LLMCall
	prompts []hook.Prompt
	results []hook.ToolResult
	model   sdkModel

	tools    map[string]transcript.Block
	last     time.Time
	lastRole string
}

type sdkModel struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
}

type sdkMessage struct {
	ID        string            `json:"id"`
	Role      string            `json:"role"`
	TS        transcript.Millis `json:"ts"`
	Content   json.RawMessage   `json:"content"`
	ModelInfo *sdkModel         `json:"modelInfo"`
	Metrics   *struct {
		InputTokens      *float64 `json:"inputTokens"`
		OutputTokens     *float64 `json:"outputTokens"`
		CacheReadTokens  *float64 `json:"cacheReadTokens"`
		CacheWriteTokens *float64 `json:"cacheWriteTokens"`
		Cost             *float64 `json:"cost"`
	} `json:"metrics"`
}

// readMessages reads one messages file. started stands in for the time of a
// message before the first.
func readMessages(ctx context.Context, f *transcript.Files, path, agent string, started time.Time) (*messageLog, error) {
	var log messageLog
	err := f.Stream(ctx, path, func(r io.Reader) error {
		log = messageLog{agent: agent, last: started}
		return log.decode(ctx, r)
	})
	return &log, err
}

// decode streams the file: an object with the list of messages among its
// members, or, from early versions, the bare list.
func (l *messageLog) decode(ctx context.Context, r io.Reader) error {
	dec := json.NewDecoder(r)
	message := func() error {
		var m sdkMessage
		if err := transcript.DecodeValue(dec, &m); err != nil {
			return err
		}
		l.add(&m)
		return nil
	}
	tok, err := dec.Token()
	if err != nil {
		return atEOF(err)
	}
	switch tok {
	case json.Delim('['):
		return decodeElements(ctx, dec, message)
	case json.Delim('{'):
	default:
		return fmt.Errorf("%w: found %v, want an object with messages", errShape, tok)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return atEOF(err)
		}
		switch key {
		case "messages":
			if err := decodeArray(ctx, dec, message); err != nil {
				return err
			}
		case "origin":
			var origin struct {
				Version string `json:"version"`
			}
			if err := transcript.DecodeValue(dec, &origin); err != nil {
				return err
			}
			l.version = origin.Version
		default:
			var skipped json.RawMessage
			if err := transcript.DecodeValue(dec, &skipped); err != nil {
				return err
			}
		}
	}
	return expect(dec, '}')
}

func (l *messageLog) add(m *sdkMessage) {
	at := m.TS.Time()
	if at.IsZero() {
		at = l.last
	}
	c := transcript.DecodeContent(m.Content)
	switch m.Role {
	case "assistant":
		l.addReply(m, c, at)
	case "user":
		l.addUser(c, at)
	}
	l.last, l.lastRole = at, m.Role
}

// addReply takes in an assistant message. One that names neither a model nor
// metrics was not asked of a model: Cline wrote it itself.
func (l *messageLog) addReply(m *sdkMessage, c transcript.Content, at time.Time) {
	for _, b := range c {
		if b.Type == "tool_use" && b.ID != "" {
			if l.tools == nil {
				l.tools = make(map[string]transcript.Block)
			}
			l.tools[b.ID] = b
		}
	}
	if m.Metrics == nil && m.ModelInfo == nil {
		return
	}
	call := hook.LLMCall{
		Kind:        hook.CallRequest,
		ID:          cmp.Or(m.ID, transcript.TimeID("req-", at)),
		Agent:       l.agent,
		Start:       l.last,
		End:         at,
		Text:        c.Text(),
		ToolCallIDs: c.ToolIDs(),
	}
	// A request begins when the message it answers was written. Clocks can be
	// set back in between.
	if call.Start.IsZero() || call.Start.After(at) {
		call.Start = at
	}
	if m.ModelInfo != nil {
		l.model = *m.ModelInfo
		call.Provider, call.Model = m.ModelInfo.Provider, m.ModelInfo.ID
	}
	if u := m.Metrics; u != nil {
		call.Usage = sdkUsage(counts{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.Cost})
	}
	l.calls = append(l.calls, call)
}

func (l *messageLog) addUser(c transcript.Content, at time.Time) {
	for _, b := range c {
		if b.Type != "tool_result" {
			continue
		}
		text, failed := resultText(b.Content)
		use := l.tools[b.ToolUseID]
		r := hook.ToolResult{
			ID:    b.ToolUseID,
			Agent: l.agent,
			Name:  cmp.Or(b.Name, use.Name),
			Input: rawjson.Canonical(use.Input),
			Text:  text,
			At:    at,
		}
		if failed || b.IsError {
			r.Status = hook.ToolFailed
		}
		l.results = append(l.results, r)
	}
	said := c.Text()
	if text, asked := cline.PromptText(said); asked && strings.TrimSpace(said) != "" {
		l.prompts = append(l.prompts, hook.Prompt{At: at, Text: text})
	}
}

// unanswered reports that the last message awaits its reply and is young enough
// for one to come.
func (l *messageLog) unanswered(now time.Time) bool {
	return l.lastRole == "user" && now.Sub(l.last) < transcript.PendingAge
}

func (l *messageLog) addTo(t *hook.Transcript) {
	t.Calls = append(t.Calls, l.calls...)
	t.ToolResults = append(t.ToolResults, l.results...)
}
