// Package opencodecli drives the real opencode program with a scripted model and no
// network, to compare what hookspan makes of a run with what the model answered.
package opencodecli

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

//go:embed npm/opencode/package.json npm/opencode/package-lock.json
var manifests embed.FS

// Version is the version of opencode that the lock file pins.
const Version = "1.18.33"

// Install makes sure that the program is in the cache folder and returns the command
// that starts it; see rig.Program.
func Install(ctx context.Context, cache string) ([]string, error) {
	manifest, err := fs.Sub(manifests, "npm/opencode")
	if err != nil {
		return nil, fmt.Errorf("manifest of opencode: %w", err)
	}
	dir, err := rig.Program{Name: "opencode", Manifest: manifest, Platforms: []string{"linux/amd64"}}.Install(ctx, cache)
	if err != nil {
		return nil, err
	}
	return []string{filepath.Join(dir, "node_modules", "opencode-linux-x64-baseline", "bin", "opencode"), "run"}, nil
}

// Script is what the model says: the turns of the lead agent and those of subagents.
type Script struct {
	Main []mockllm.Turn `json:"main"`
	Sub  []mockllm.Turn `json:"sub,omitempty"`
}

// The parts of a script. The request for a title has neither.
const (
	partMain = mockanthropic.PartMain
	partSub  = mockanthropic.PartSub
)

// part returns the part of the script that answers a request: opencode offers the tool
// that starts a subagent to the lead agent alone.
func part(tools []string) string {
	switch {
	case slices.Contains(tools, "task"):
		return partMain
	case len(tools) > 0:
		return partSub
	}
	return "title"
}

// Inner does the inner half's work if this process was started as one, and reports
// whether it was; see rig.Inner.
func Inner(stdin io.Reader, stdout, stderr io.Writer) (code int, inner bool) {
	return rig.Inner(stdin, stdout, stderr, func(script json.RawMessage) (rig.Model, error) {
		var s Script
		if err := json.Unmarshal(script, &s); err != nil {
			return nil, fmt.Errorf("decode the script: %w", err)
		}
		return mockllm.NewParts(map[string][]mockllm.Turn{partMain: s.Main, partSub: s.Sub}, part), nil
	})
}

// Result is what came out of a run.
type Result struct {
	*rig.Result

	// Requests is the model's log, without requests for titles. Their ids are those of
	// opencode's messages.
	Requests []mockanthropic.Request
	// Bus has opencode's own events.
	Bus []Event
}

// Event is an event of opencode's bus.
type Event struct {
	Type       string `json:"type"`
	Properties struct {
		Session string  `json:"sessionID"`
		Info    Message `json:"info"`
		Part    struct {
			Type    string `json:"type"`
			Text    string `json:"text"`
			Message string `json:"messageID"`
		} `json:"part"`
	} `json:"properties"`
}

// Message is a message of a session, or a session.
type Message struct {
	ID     string `json:"id"`
	Role   string `json:"role"`
	Parent string `json:"parentID"`
}

// Messages are the first events of the messages with a role, in order.
func (r *Result) Messages(role string) (list []Event) {
	for _, e := range r.Bus {
		same := func(x Event) bool { return x.Properties.Info.ID == e.Properties.Info.ID }
		if e.Type == "message.updated" && e.Properties.Info.Role == role && !slices.ContainsFunc(list, same) {
			list = append(list, e)
		}
	}
	return list
}

// Do executes steps in an arena in dir, which must be empty, after setup has prepared
// it. The error is about the test machinery only.
func Do(ctx context.Context, cache, dir string, script Script, steps []rig.Step, setup func(*rig.Arena) error) (*Result, error) {
	command, err := Install(ctx, cache)
	if err != nil {
		return nil, err
	}
	a, err := rig.NewArena(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"} {
		a.Env["OPENCODE_DISABLE_"+name] = "1"
	}
	a.Env["SHELL"], a.Env["RECORDS"] = "/bin/bash", a.Records
	if err := a.Write(packages); err != nil {
		return nil, err
	}
	if err := setup(a); err != nil {
		return nil, fmt.Errorf("set the run up: %w", err)
	}
	res, log, err := rig.Play[mockllm.Request](ctx, a, command, script, steps)
	if err != nil {
		return nil, err
	}
	r := &Result{Result: res}
	if r.Bus, err = bus(filepath.Join(a.Records, "bus.ndjson")); err != nil {
		return nil, err
	}
	r.Requests = r.requests(log, script)
	return r, nil
}

// packages are what opencode takes for the packages that it fetches for any plugin, none
// of which the plugins here import. Without them it waits for the registry.
var packages = map[string]string{
	"home/.config/opencode/package.json": `{"dependencies":{"@opencode-ai/plugin":"` + Version + `"}}`,
	"home/.config/opencode/package-lock.json": `{"lockfileVersion":3,"requires":true,"packages":{` +
		`"":{"dependencies":{"@opencode-ai/plugin":"` + Version + `"}},` +
		`"node_modules/@opencode-ai/plugin":{"version":"` + Version + `"}}}`,
	"home/.config/opencode/node_modules/@opencode-ai/plugin/package.json": `{"name":"@opencode-ai/plugin","version":"` + Version + `"}`,
}

func bus(path string) (events []Event, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read opencode's events: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("decode opencode's event %.200q: %w", lines.Text(), err)
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read opencode's events: %w", err)
	}
	return events, nil
}

// requests gives the model's log the form in which it is compared with spans. Each
// request is a message of opencode's, in the same order.
func (r *Result) requests(log []mockllm.Request, script Script) (out []mockanthropic.Request) {
	turns := map[string][]mockllm.Turn{partMain: script.Main, partSub: script.Sub}
	messages := r.Messages("assistant")
	for _, l := range log {
		if len(turns[l.Part]) == 0 {
			continue
		}
		q := mockanthropic.Request{
			N: l.N, Part: l.Part, Turn: l.Turn, Start: l.Start, End: l.End,
			Text: turns[l.Part][l.Turn].Text, Status: l.Status, Complete: l.Complete,
		}
		if len(out) < len(messages) {
			q.ID = messages[len(out)].Properties.Info.ID
		}
		if u := l.Usage; u != nil {
			q.Usage = &mockanthropic.Usage{Input: u.Prompt - u.Cached, CacheRead: u.Cached, Output: u.Completion}
		}
		for i, c := range l.Calls {
			q.Calls = append(q.Calls, mockanthropic.ToolCall{ID: mockllm.CallID(l.N, i), Name: c.Name, Input: c.Args})
		}
		out = append(out, q)
	}
	return out
}

// Settings writes the user's settings, with permissions and a comment, and a plugin of the
// user's that records opencode's events and denies what is forbidden.
func Settings(a *rig.Arena, permission string) error {
	if permission == "" {
		permission = "{}"
	}
	return a.Write(map[string]string{
		"home/.config/opencode/opencode.jsonc":     fmt.Sprintf(settings, permission),
		"home/.config/opencode/plugin/recorder.js": recorder, "ws/a.txt": "alpha\n", "ws/b.txt": "beta\n",
	})
}

const settings = `{
  // nothing that leaves the machine
  "autoupdate": false, "share": "disabled", "model": "mock/` + mockllm.Model + `", "small_model": "mock/` + mockllm.Model + `",
  "permission": %s,
  "provider": {"mock": {
    "npm": "@ai-sdk/openai-compatible", "name": "Mock", "options": {"baseURL": "` + rig.ModelURL + `/v1", "apiKey": "sk-mock"},
    "models": {"` + mockllm.Model + `": {
      "name": "Mock", "tool_call": true, "limit": {"context": 100000, "output": 8000},
      "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
    }}
  }}
}
`

const recorder = `import fs from "node:fs"
export const Recorder = async () => ({
	event: async ({ event }) => {
		if (event.type.startsWith("message.") || event.type.startsWith("session.")) fs.appendFileSync(process.env.RECORDS + "/bus.ndjson", JSON.stringify(event) + "\n")
	},
	"tool.execute.before": async (input, output) => {
		if (output.args.command?.includes("forbidden")) throw new Error("a plugin says no")
	},
})
`
