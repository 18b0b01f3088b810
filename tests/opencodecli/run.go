// Package opencodecli drives the real opencode program with a scripted model and no
// network, to compare what hookspan makes of a run with what the model answered.
package opencodecli

import (
	"bufio"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

//go:embed npm/*/package.json npm/*/package-lock.json
var manifests embed.FS

// Agent is opencode, Forks are its forks.
var (
	Agent = agent("opencode", "opencode-linux-x64-baseline/bin/opencode", "run")
	Forks = []*scenario.Agent{agent("kilo", "@kilocode/cli-linux-x64-baseline/bin/kilo", "run", "--auto")}
)

// agent is the one of a name, with the path of its program in node_modules.
func agent(name, path string, args ...string) *scenario.Agent {
	program := rig.Program{Name: name, Manifest: manifests, Folder: "npm/" + name, Path: path, Args: args}
	g := &scenario.Agent{
		Name: name, Word: name, Host: name, Program: program, Version: program.Version(), Model: llm.Name, Asked: true, Beside: true,
		Env: make(map[string]string),
		Prepare: func(a *rig.Arena, _, _ string) error {
			a.Env["RECORDS"] = a.Records
			return a.Write(fetched("home/.config/"+name, hook.AgentOf(name).Plugin, program.Version()))
		},
		Settings: func(a *rig.Arena, more map[string]string) error { return settings(a, "home/.config/"+name, more) },
		Form:     llm.Form{API: llm.Chat, LeadTool: "task"}, Read: read, Kept: ".config/" + name + "/plugin", Prompts: prompts, Known: counted,
		Again:  true,
		Prices: map[string]scenario.Price{llm.Name: {Input: 3, CacheRead: 0.3, CacheWrite: 3.75, Output: 15}}, // as the settings have it
	}
	for _, off := range []string{"AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"} {
		g.Env[strings.ToUpper(name)+"_DISABLE_"+off] = "1"
	}
	return g
}

// read gives the requests the ids of opencode's messages: each is one, in the same order.
func read(res *rig.Result) error {
	bus, err := Bus(res.Arena)
	if err != nil {
		return err
	}
	messages := Messages(bus, "assistant")
	for i := range min(len(res.Requests), len(messages)) {
		res.Requests[i].ID = messages[i].Properties.Info.ID
	}
	return err
}

// counted leaves out what opencode never counts: the tokens of a request whose call was
// cut off.
func counted(_ *testing.T, _ *rig.Result, got *rig.Trace, own []llm.Request, want []scenario.Tool) ([]llm.Request, []scenario.Tool) {
	if got.Outcome() == otelmap.OutcomeInterrupted && len(own) > 0 {
		own = slices.Clone(own)
		own[len(own)-1].Usage = nil
	}
	return own, want
}

// prompts are those that opencode has published, without those of subagents.
func prompts(t *testing.T, _ []rig.Recorded, res *rig.Result) (list []scenario.Prompt) {
	t.Helper()
	bus, err := Bus(res.Arena)
	if err != nil {
		t.Fatal(err)
	}
	agents := make(map[string]bool)
	for _, e := range bus {
		if e.Type == "session.created" && e.Properties.Info.Parent != "" {
			agents[e.Properties.Info.ID] = true
		}
	}
	for _, m := range Messages(bus, "user") {
		if agents[m.Properties.Session] {
			continue
		}
		p := scenario.Prompt{Session: m.Properties.Session, Turn: m.Properties.Info.ID}
		for _, e := range bus {
			if part := e.Properties.Part; part.Message == p.Turn && part.Type == "text" {
				p.Text = part.Text
			}
		}
		list = append(list, p)
	}
	return list
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
func Messages(bus []Event, role string) (list []Event) {
	for _, e := range bus {
		same := func(x Event) bool { return x.Properties.Info.ID == e.Properties.Info.ID }
		if e.Type == "message.updated" && e.Properties.Info.Role == role && !slices.ContainsFunc(list, same) {
			list = append(list, e)
		}
	}
	return list
}

// Bus are opencode's own events in a run.
func Bus(a *rig.Arena) (events []Event, err error) {
	file, err := os.Open(filepath.Join(a.Records, "bus.ndjson"))
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

// fetched is what the agent takes for the package that it fetches for any plugin, which the
// plugins here do not import. Without it the agent waits for the registry.
func fetched(dir, pkg, version string) map[string]string {
	return map[string]string{
		dir + "/package.json": `{"dependencies":{"` + pkg + `":"` + version + `"}}`,
		dir + "/package-lock.json": `{"lockfileversion":3,"requires":true,"packages":{` +
			`"":{"dependencies":{"` + pkg + `":"` + version + `"}},` +
			`"node_modules/` + pkg + `":{"version":"` + version + `"}}}`,
		dir + "/node_modules/" + pkg + "/package.json": `{"name":"` + pkg + `","version":"` + version + `"}`,
	}
}

// settings writes the user's settings into a folder, with a comment and the permissions that
// more has, and a plugin of the user's that records the agent's events and denies what is forbidden.
func settings(a *rig.Arena, dir string, more map[string]string) error {
	return a.Write(map[string]string{
		dir + "/" + filepath.Base(dir) + ".jsonc": fmt.Sprintf(userSettings, cmp.Or(more["permission"], "{}")),
		dir + "/plugin/recorder.js":               recorder,
	})
}

const userSettings = `{
  // nothing that leaves the machine
  "autoupdate": false, "share": "disabled", "model": "mock/` + llm.Name + `", "small_model": "mock/` + llm.Name + `",
  "permission": %s,
  "provider": {"mock": {
    "npm": "@ai-sdk/openai-compatible", "name": "Mock", "options": {"baseURL": "` + rig.ModelURL + `/v1", "apiKey": "sk-mock"},
    "models": {"` + llm.Name + `": {
      "name": "Mock", "tool_call": true, "limit": {"context": 100000, "output": 8000},
      "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
    }}
  }}
}
`

// A call runs once the agent has published it: a command that has it interrupted before that
// leaves a process that ends with the call neither published nor stored.
const recorder = `import fs from "node:fs"
const calls = new Map() // that the bus has or that wait for it, by session and id, which comes again
const running = new Set() // their parts
const callOf = (session, id) => {
	const key = session + " " + id
	if (!calls.has(key)) calls.set(key, { key, ...Promise.withResolvers() })
	return calls.get(key)
}
const publish = ({ type, id, sessionID, callID, state }) => {
	if (type !== "tool") return
	const call = callOf(sessionID, callID)
	if (state.status === "running" && !running.has(id)) {
		running.add(id)
		call.part = id
		call.resolve()
	} else if (state.status !== "running" && call.part === id) calls.delete(call.key)
}
export const Recorder = async () => ({
	event: async ({ event }) => {
		if (event.type.startsWith("message.") || event.type.startsWith("session.")) fs.appendFileSync(process.env.RECORDS + "/bus.ndjson", JSON.stringify(event) + "\n")
		if (event.properties.part) publish(event.properties.part)
	},
	"tool.execute.before": async (input, output) => {
		const call = callOf(input.sessionID, input.callID)
		await call.promise
		calls.delete(call.key)
		if (output.args.command?.includes("forbidden")) throw new Error("a plugin says no")
	},
})
`
