package diagnose

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/pipeline"
)

// TestServerOf has what the agents' own commands write.
func TestServerOf(t *testing.T) {
	table := agents.All()
	for name, tt := range map[string]struct{ host, file, text, variable, want string }{
		"Claude Code":        {hook.HostClaude, ".claude.json", "{\n \"mcpServers\": {\n  \"hookspan\": {\n   \"type\": \"stdio\",\n   \"command\": \"hookspan\",\n   \"args\": [\n    \"mcp\"\n   ],\n   \"env\": {}\n  }\n }\n}", "", "hookspan"},
		"its other folder":   {hook.HostClaude, "other/.claude.json", `{"mcpServers":{"x":{"command":"/opt/hookspan","args":["mcp","--all"]}}}`, "CLAUDE_CONFIG_DIR", "/opt/hookspan"},
		"Codex":              {hook.HostCodex, ".codex/config.toml", "[mcp_servers.hookspan]\ncommand = \"hookspan\"\nargs = [\"mcp\"]\n", "", "hookspan"},
		"Codex' folder":      {hook.HostCodex, "other/config.toml", "[mcp_servers.x]\ncommand = '/usr/bin/hookspan'\nargs = ['mcp', '--project', '/w']\n", "CODEX_HOME", "/usr/bin/hookspan"},
		"Copilot":            {hook.HostCopilot, ".copilot/mcp-config.json", `{"mcpServers":{"hookspan":{"tools":["*"],"type":"local","command":"hookspan","args":["mcp"]}}}`, "", "hookspan"},
		"Kimi Code":          {hook.HostKimi, "other/mcp.json", `{"mcpServers":{"hookspan":{"command":"hookspan","args":["mcp"]}}}`, "KIMI_CODE_HOME", "hookspan"},
		"Gemini CLI":         {hook.HostGemini, "other/.gemini/settings.json", `{"mcpServers":{"hookspan":{"command":"hookspan","args":["mcp"]}}}`, "GEMINI_CLI_HOME", "hookspan"},
		"Qwen Code, Windows": {hook.HostQwen, ".qwen/settings.json", `{"mcpServers":{"hookspan":{"command":"C:\\bin\\hookspan.exe","args":["mcp"]}}}`, "", `C:\bin\hookspan.exe`},
		"opencode":           {hook.HostOpencode, ".config/opencode/opencode.jsonc", `{"mcp":{"hookspan":{"type":"local","command":["hookspan", "mcp"]}}}`, "", "hookspan"},
		"opencode's JSON":    {hook.HostOpencode, ".config/opencode/opencode.json", `{"mcp":{"hookspan":{"type":"local","command":["hookspan","mcp"]}}}`, "", "hookspan"},
		"Pi":                 {hook.HostPi, ".pi/agent/mcp.json", `{"mcpServers":{"hookspan":{"command":"hookspan","args":["mcp"],"exposure":"direct"}}}`, "", "hookspan"},
		"Pi's folder":        {hook.HostPi, "other/mcp.json", `{"mcpServers":{"hookspan":{"command":"hookspan","args":["mcp"]}}}`, "PI_CODING_AGENT_DIR", "hookspan"},
		"Cline":              {hook.HostCline, ".cline/data/settings/cline_mcp_settings.json", `{"mcpServers":{"hookspan":{"transport":{"type":"stdio","command":"hookspan","args":["mcp"]}}}}`, "", "hookspan"},
		"Cline CLI 2":        {hook.HostCline, ".cline/data/settings/cline_mcp_settings.json", `{"mcpServers":{"hookspan":{"command":"/opt/hookspan","type":"stdio","args":["mcp"]}}}`, "", "/opt/hookspan"},
		"two servers":        {hook.HostCline, ".cline/data/settings/cline_mcp_settings.json", `{"mcpServers":{"a":{"command":"hookspan"},"b":{"command":"x","args":["mcp"]}}}`, "", ""},
		"another server":     {hook.HostCline, ".cline/data/settings/cline_mcp_settings.json", `{"mcpServers":{"hookspan":{"command":"other","args":["mcp"]}}}`, "", ""},
		"its hooks":          {hook.HostGemini, ".gemini/settings.json", `{"hooks":{"command":"hookspan","args":["flush"]}}`, "", ""},
		"no file":            {hook.HostGemini, "other/x", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, filepath.FromSlash(tt.file))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			getenv := func(variable string) string {
				if variable == tt.variable {
					return filepath.Join(home, "other")
				}
				return ""
			}
			e := &exam{Machine: &Machine{Setup: &pipeline.Setup{Home: home, Getenv: getenv}}}
			a, _ := table.Named(tt.host)
			if _, got := e.serverOf(a); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			e.Setup.Agents = agents.Table{a}
			e.asking(t.Context())
			want := map[bool]Level{true: Problem, false: OK}[filepath.IsAbs(tt.want)]
			if tt.want != "hookspan" && tt.want != `C:\bin\hookspan.exe` && (len(e.found) != 1 || e.found[0].Level != want) {
				t.Errorf("%+v, want one %s", e.found, want)
			}
		})
	}
}
