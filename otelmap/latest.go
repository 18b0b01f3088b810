package otelmap

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// LatestSchemaURL is the version of the GenAI conventions that WithLatestNames follows. They
// left the core conventions with 1.42.
const LatestSchemaURL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"

// The latest conventions' keys for what the default names lack or name otherwise.
const (
	KeyLatestCacheWrite = "gen_ai.usage.cache_write.input_tokens"
	KeyReasoningLevel   = "gen_ai.request.reasoning.level"
	KeyLatestCompacted  = "gen_ai.conversation.compacted"
	KeySkillName        = "gen_ai.skill.name"
	// KeyExitCode and KeyExecutable are on tool calls that are commands.
	KeyExitCode   = string(semconv.ProcessExitCodeKey)
	KeyExecutable = string(semconv.ProcessExecutableNameKey)
)

// latestKeys are the latest keys by the default ones, on requests to the model.
var latestKeys = map[string]string{
	KeyCacheWriteTokens: KeyLatestCacheWrite, KeyEffort: KeyReasoningLevel, KeyCompacted: KeyLatestCompacted,
}

// WithLatestNames returns spans with the names of the latest GenAI conventions in place of
// the default ones. The argument is not changed.
func WithLatestNames(m *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	m = proto.CloneOf(m)
	for _, scope := range m.GetScopeSpans() {
		scope.SchemaUrl = LatestSchemaURL
		for _, s := range scope.GetSpans() {
			switch otlp.Text(s.Attributes, KeyOperation) {
			case OpChat:
				for _, kv := range s.Attributes {
					if key, ok := latestKeys[kv.GetKey()]; ok {
						kv.Key = key
					}
				}
			case OpInvokeAgent:
				s.Attributes = latestAgent(s.Attributes)
			case OpExecuteTool:
				s.Attributes = append(s.Attributes, latestTool(s)...)
			}
		}
	}
	return m
}

// latestAgent leaves out what agents no longer have. Counts of the cache keep hookspan's
// names.
func latestAgent(a []*commonpb.KeyValue) []*commonpb.KeyValue {
	for _, kv := range a {
		if key := kv.GetKey(); key == KeyCacheReadTokens || key == KeyCacheWriteTokens {
			kv.Key = RunKey(key)
		}
	}
	return slices.DeleteFunc(a, func(kv *commonpb.KeyValue) bool { return kv.GetKey() == KeyProvider })
}

// shells and skills are the agents' tools that run a command, and that load a skill.
var (
	shells = []string{"bash", "powershell", "execute_command", "run_commands", "run_shell_command", "shell"}
	skills = []string{"skill", "skills", "use_skill", "activate_skill"}
)

// SkillOf returns the skill that a call loads, "" for another call.
func SkillOf(tool, arguments string) string {
	if !slices.Contains(skills, strings.ToLower(tool)) {
		return ""
	}
	return rawjson.Members([]byte(arguments)).Text("skill", "skill_name", "name")
}

// ServerLoaded returns the MCP server whose tools, and no others, a call of Claude Code's loads,
// "" for another call.
func ServerLoaded(tool, arguments string) (server string) {
	names, ok := strings.CutPrefix(rawjson.Members([]byte(arguments)).Text("query"), "select:")
	if tool != "ToolSearch" || !ok {
		return ""
	}
	for name := range strings.SplitSeq(names, ",") {
		of := mcpServer(strings.TrimSpace(name), "")
		if of == "" || server != "" && of != server {
			return ""
		}
		server = of
	}
	return server
}

// latestTool returns what is known of a command's process, and a skill's name.
func latestTool(s *tracepb.Span) (a attrs) {
	tool := otlp.Text(s.Attributes, KeyToolName)
	name := strings.ToLower(tool)
	in := rawjson.Members([]byte(otlp.Text(s.Attributes, KeyToolArguments)))
	switch {
	case slices.Contains(skills, name):
		a.texts(KeySkillName, SkillOf(tool, otlp.Text(s.Attributes, KeyToolArguments)))
	case slices.Contains(shells, name):
		command := in.Text("command")
		if several, _ := in.Elements("commands"); len(several) == 1 {
			command = rawjson.Text(several[0])
		}
		a.texts(KeyExecutable, executable(command))
		if code, ok := exitCode(s); ok {
			a.num(KeyExitCode, code)
		}
	}
	return a
}

// executable returns the program that a command starts, "" unless it is a single program
// without a shell's syntax.
func executable(command string) string {
	words := strings.Fields(command)
	for len(words) > 0 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	if len(words) == 0 || strings.ContainsAny(command, ";&|<>()$`\\\n{}…") || strings.ContainsAny(words[0], `"'`) {
		return ""
	}
	return path.Base(words[0])
}

// exitLine is the agents' line about a command that failed, the first or the last of what it
// returned.
var exitLine = regexp.MustCompile(`^(?:Exit [Cc]ode:? |Command failed with exit code |\[Command exited with code )(\d{1,10})(?:\.|\])?$`)

func exitCode(s *tracepb.Span) (int64, bool) {
	if s.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		return 0, false
	}
	lines := strings.Split(strings.TrimSpace(Returned(s)), "\n")
	for _, line := range []string{lines[0], lines[len(lines)-1]} {
		if m := exitLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			code, err := strconv.ParseInt(m[1], 10, 64)
			return code, err == nil
		}
	}
	return 0, false
}
