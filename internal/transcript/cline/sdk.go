package cline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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

// messagesSuffix ends the name of every messages file; before it is the session
// id for the lead agent, or a subagent's id.
const messagesSuffix = ".messages.json"

// manifest is <sid>.json. Its messages_path is not followed: it is data from a
// file, and the messages are beside it.
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

// readSDK reads one session's folder. The error is ErrNotFound if there is
// neither a manifest nor the lead's messages.
func readSDK(ctx context.Context, f *transcript.Files, dir, id string, q transcript.Query) (*hook.Transcript, error) {
	var t hook.Transcript
	var errs []error
	note := func(path string, err error) (missing bool) {
		switch {
		case err == nil:
			t.Sources = append(t.Sources, path)
		case errors.Is(err, transcript.ErrNotFound):
			return true
		default:
			errs = append(errs, err)
		}
		return false
	}
	path := filepath.Join(dir, id+".json")
	m, err := transcript.Small[manifest](ctx, f, path, true)
	noManifest := note(path, err)
	path = filepath.Join(dir, id+messagesSuffix)
	lead, err := readMessages(ctx, f, path, "", transcript.ISOTime(m.StartedAt), &q)
	if note(path, err) && noManifest {
		return nil, fmt.Errorf("session in %q: %w: neither %s nor %s", dir, transcript.ErrNotFound, id+".json", id+messagesSuffix)
	}
	t.Cwd = cmp.Or(m.Cwd, m.WorkspaceRoot)
	t.HostApp = cmp.Or(sourceApps[m.Source], m.Source)
	t.HostVersion = cmp.Or(m.Metadata.Origin.Version, lead.version)
	t.Provider, t.Model = cmp.Or(lead.model.provider, m.Provider), cmp.Or(lead.model.id, m.Model)
	t.Requests, t.ToolResults, t.Prompts = lead.calls, lead.results, lead.prompts
	t.Unread = lead.kinds.Unread()
	t.Pending = m.Status == "running" && lead.lastRole == "user" && !hook.Elapsed(f.Now(), lead.last, transcript.PendingAge)
	if kind, at := m.end(); q.Full && kind != hook.KindUnknown {
		t.Ends = []hook.TurnEnd{{At: at, Kind: kind}}
	}

	agents, err := agentFiles(dir, id)
	errs = append(errs, err)
	for _, agent := range agents {
		path := filepath.Join(dir, agent+messagesSuffix)
		log, err := readMessages(ctx, f, path, agent, time.Time{}, &q)
		note(path, err)
		t.Requests, t.ToolResults = append(t.Requests, log.calls...), append(t.ToolResults, log.results...)
		t.Unread = append(t.Unread, log.kinds.Unread()...)
	}
	slices.SortStableFunc(t.Requests, func(a, b hook.Request) int { return a.Start.Compare(b.Start) })
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
	calls   []hook.Request
	prompts []hook.Prompt
	results []hook.ToolResult
	model   model

	// tools are the calls without a result, with their names and inputs.
	tools map[string]hook.ToolResult
	// row is the number of the message.
	row      int
	last     time.Time
	lastRole string
	path     string
	kinds    transcript.Kinds
}

// readMessages reads one messages file. started is used as the time of a message
// before the first.
func readMessages(
	ctx context.Context, f *transcript.Files, path, agent string, started time.Time, q *transcript.Query,
) (*messageLog, error) {
	var log messageLog
	err := f.Stream(ctx, path, func(r io.Reader) error {
		log = messageLog{agent: agent, last: started, path: path, tools: make(map[string]hook.ToolResult)}
		return log.decode(ctx, r)
	})
	if log.row > 0 {
		err = f.Rest(path, err)
	}
	if q.Full || q.Whole != nil {
		log.results = append(log.results, log.unanswered()...)
	}
	log.results = wholeCalls(log.results, q.Whole, path)
	return &log, err
}

// decode streams the file: an object with the list of messages among its
// members, or, from early versions, the bare list.
func (l *messageLog) decode(ctx context.Context, r io.Reader) error {
	return transcript.StreamList(ctx, r, func(name string, value []byte) {
		if name == "origin" {
			l.version = rawjson.Unquote(rawjson.Member(value, "version"))
		}
	}, l.add)
}

func (l *messageLog) add(m rawjson.Object) {
	l.row++
	at := timeOf(m.Get("ts"))
	if at.IsZero() {
		at = l.last
	}
	c := transcript.DecodeContent(m.Get("content"))
	meetMessage(&l.kinds, l.path, m, c, at)
	role := rawjson.Unquote(m.Get("role"))
	switch role {
	case "assistant":
		l.addReply(m, c, at)
	case "user":
		l.addUser(c, at)
	}
	l.last, l.lastRole = at, role
}

// addReply adds an assistant message. One that names neither a model nor metrics
// is not from a model: Cline wrote it. One that is displayed as an error says why a
// request failed, which ended the run.
func (l *messageLog) addReply(m rawjson.Object, c transcript.Content, at time.Time) {
	for _, b := range c {
		if b.Type == "tool_use" && b.ID != "" {
			l.tools[b.ID] = hook.ToolResult{ID: b.ID, Name: b.Name, Input: rawjson.Canonical(b.Input), Agent: l.agent, Status: hook.ToolUnknown, Row: l.row}
		}
	}
	if m.Get("metrics", "modelInfo") == nil {
		return
	}
	call := hook.Request{
		Kind:        hook.RequestSingle,
		ID:          cmp.Or(rawjson.Unquote(m.Get("id")), transcript.TimeID("req-", at)),
		Agent:       l.agent,
		Start:       l.last,
		End:         at,
		Text:        c.Text(),
		ToolCallIDs: c.ToolIDs(),
		Usage:       usage(rawjson.Members(m.Get("metrics")), &sdkCounts),
	}
	// The SDK converts every provider's counts to one form: its price formula
	// subtracts cache reads and writes from inputTokens before it multiplies.
	setIncludesCache(call.Usage, true)
	// A request begins when the message it answers was written. Clocks can be
	// set back in between.
	if call.Start.IsZero() || call.Start.After(at) {
		call.Start = at
	}
	if info := m.Get("modelInfo"); info != nil {
		l.model = modelOf(info, "provider", "id")
		call.Provider, call.Model = l.model.provider, l.model.id
	}
	if rawjson.Unquote(rawjson.Member(m.Get("metadata"), "displayRole")) == "error" {
		call.Text, call.Error = "", cmp.Or(call.Text, "failed")
	}
	l.calls = append(l.calls, call)
}

func (l *messageLog) addUser(c transcript.Content, at time.Time) {
	for _, b := range c {
		if b.Type != "tool_result" {
			continue
		}
		r := l.tools[b.ToolUseID]
		delete(l.tools, b.ToolUseID)
		var failed bool
		r.Text, failed = resultText(b.Content)
		r.ID, r.Agent, r.Name, r.At, r.Row = b.ToolUseID, l.agent, cmp.Or(b.Name, r.Name), at, l.row
		if r.Status = hook.ToolOK; failed || b.IsError {
			r.Status, _ = cline.SDKOutcome(r.Text)
		}
		l.results = append(l.results, r)
	}
	said := c.Text()
	if text, asked := cline.PromptText(said); asked && strings.TrimSpace(said) != "" {
		l.prompts = append(l.prompts, hook.Prompt{At: at, Text: text})
	}
}

// unanswered returns the calls without a result, in their order.
func (l *messageLog) unanswered() []hook.ToolResult {
	return slices.SortedFunc(maps.Values(l.tools), func(a, b hook.ToolResult) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.ID, b.ID))
	})
}

// wholeCalls keeps the wanted calls and names their file. If whole is nil, it keeps
// all, without their places.
func wholeCalls(calls []hook.ToolResult, whole func(id, name string) bool, path string) []hook.ToolResult {
	if whole != nil {
		calls = slices.DeleteFunc(calls, func(r hook.ToolResult) bool { return !whole(r.ID, r.Name) })
	} else {
		path = ""
	}
	for i := range calls {
		if calls[i].File = path; path == "" {
			calls[i].Row = 0
		}
	}
	return calls
}
