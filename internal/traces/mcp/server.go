// Package mcp answers what an agent asks about earlier tasks, over the Model Context Protocol.
//
// It reads the local store alone, which is open during a call only. The folders of which it
// answers are fixed when it starts: no argument widens them. An answer has at most 2,000 tokens
// and says how to get the rest. Recorded text is quoted between marks that are random in each
// answer, so that no text can contain them. Secrets and invisible characters are removed from it.
// An error is an answer in words.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// Server answers about the tasks of one scope.
type Server struct {
	// Path is the store's file. Scope has the folders; without a Directory every task is in it.
	Path  string
	Scope store.Filter
	// Known reports a supported agent's name in traces: another name is a recorded text.
	Known func(host string) bool
	// Redact removes secrets. If nil, texts are as they were stored.
	Redact *redact.Redactor
	// NoTexts reports that HOOKSPAN_CAPTURE is none.
	NoTexts bool
	Version string
	Now     func() time.Time
}

// asked are the arguments of all tools.
type asked struct {
	Query   string `json:"query,omitempty" jsonschema:"words that are all in one text; quotes make a phrase"`
	ID      string `json:"id,omitempty" jsonschema:"TASK or TASK:CALL as other answers print it"`
	File    string `json:"file,omitempty" jsonschema:"name, path or folder/ that calls read or changed"`
	Failed  bool   `json:"failed,omitempty" jsonschema:"only with failed calls: which, and why"`
	Denied  bool   `json:"denied,omitempty" jsonschema:"only with denied calls: which, by whom and why"`
	Outcome string `json:"outcome,omitempty" jsonschema:"completed, failed, interrupted, cancelled or abandoned"`
	By      string `json:"by,omitempty" jsonschema:"day, week, month, model, agent, tool, command, hook, session or project"`
	Key     string `json:"key,omitempty" jsonschema:"only groups that begin so, such as npm test"`
	Project string `json:"project,omitempty" jsonschema:"path of a folder"`
	Branch  string `json:"branch,omitempty"`
	Since   string `json:"since,omitempty" jsonschema:"12h, 30d, monday, 2026-01-31"`
	Until   string `json:"until,omitempty"`
	Page    int    `json:"page,omitempty"`
}

// tools are what an agent can call, each with its arguments, of which the first may be needed.
var tools = []struct {
	name, about string
	needs       int
	takes       []string
	answer      func(*Server, context.Context, *store.Store, *asked) (string, error)
}{
	{
		"search", "Search earlier tasks of coding agents in this repository: what was asked, done and answered, and how an error was solved.",
		1,
		[]string{"query", "project", "branch", "since", "until"},
		(*Server).list,
	},
	{"open", "Read one of these tasks step by step, or one call and what followed it.", 1, []string{"id", "page"}, (*Server).open},
	{
		"list", "List these tasks, newest first, with outcome and cost; with the calls that name a file, failed or were denied.",
		0,
		[]string{"file", "failed", "denied", "outcome", "project", "branch", "since", "until"},
		(*Server).list,
	},
	{
		"stats", "Sum up tasks, calls, failures, cost and times (P50, P95 of a command): all, or by a key.",
		0,
		[]string{"by", "key", "project", "branch", "since", "until"},
		(*Server).stats,
	},
}

// Run serves until the agent ends the connection.
func (s *Server) Run(ctx context.Context, over sdk.Transport) error {
	// Otherwise the server promises a log, and lists that change.
	able := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}
	server := sdk.NewServer(&sdk.Implementation{Name: "hookspan", Version: s.Version}, &sdk.ServerOptions{Capabilities: able})
	for _, t := range tools {
		schema, err := jsonschema.For[asked](nil)
		if err != nil {
			return err
		}
		maps.DeleteFunc(schema.Properties, func(name string, _ *jsonschema.Schema) bool { return !slices.Contains(t.takes, name) })
		schema.PropertyOrder, schema.Required = t.takes, t.takes[:t.needs]
		declared := &sdk.Tool{Name: t.name, Description: t.about, InputSchema: schema, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}
		sdk.AddTool(server, declared, func(ctx context.Context, _ *sdk.CallToolRequest, in asked) (*sdk.CallToolResult, any, error) {
			text, err := s.withStore(ctx, func(st *store.Store) (string, error) { return t.answer(s, ctx, st, &in) })
			if err != nil {
				// It may quote an argument, and says behind that what is wrong with it.
				text = s.clean(termtext.Message(err))
				if len(text) > long {
					text = termtext.Head(text, long/2) + "…" + termtext.Tail(text, long/2)
				}
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: err != nil}, nil, nil
		})
	}
	return server.Run(ctx, over)
}

// withStore asks the store, which it does not make.
func (s *Server) withStore(ctx context.Context, ask func(*store.Store) (string, error)) (text string, err error) {
	if _, err := os.Stat(s.Path); errors.Is(err, fs.ErrNotExist) {
		return "No tasks are stored yet. The user can run hookspan doctor, which says why.", nil
	}
	st, err := store.Open(ctx, s.Path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	text, err = ask(st)
	if s.NoTexts {
		text = "HOOKSPAN_CAPTURE is none: prompts, arguments and results are not kept.\n" + text
	}
	return text, err
}

// filter is what arguments select within the scope.
func (s *Server) filter(in *asked) (f store.Filter, err error) {
	f = s.Scope
	f.Branch, f.Outcome, f.Failed, f.Denied = in.Branch, in.Outcome, in.Failed, in.Denied
	if in.Project != "" {
		if !view.IsPath(in.Project) || !f.In(in.Project) {
			return f, fmt.Errorf("project %q: want the path of a folder in %s", in.Project, f.Directory)
		}
		f.Directory, f.Resolved, f.Also = in.Project, "", nil
	}
	if in.Since != "" {
		f.Since, _, err = view.Period(in.Since, s.Now())
	}
	if in.Until != "" && err == nil {
		_, f.Until, err = view.Period(in.Until, s.Now())
	}
	return f, err
}
