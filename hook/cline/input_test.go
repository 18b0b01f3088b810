package cline

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/rawjson"
	"pgregory.net/rapid"
)

func TestParameters(t *testing.T) {
	tests := []struct{ name, tool, in, want string }{
		{"keys sorted, spaces gone", "read_file", `{ "path": "b", "limit" : 1.50 }`, `{"limit":1.50,"path":"b"}`},
		{"HTML stays readable", "t", `{"a":"<b> & c"}`, `{"a":"<b> & c"}`},
		{"list the host turned into text", "read_files", `{"files":"[{\"path\":\"a\"}]"}`, `{"files":[{"path":"a"}]}`},
		{"object the host turned into text", "x", `{"opts":"{\"b\":1,\"a\":[null,true]}"}`, `{"opts":{"a":[null,true],"b":1}}`},
		{"scalars stay text", "x", `{"verified":"true","n":"1","z":"null","s":"\"q\""}`, `{"n":"1","s":"\"q\"","verified":"true","z":"null"}`},
		{"indented JSON stays a text", "x", `{"data":"{\n  \"a\": 1\n}\n"}`, `{"data":"{\n  \"a\": 1\n}\n"}`},
		{"content of a file is text", "write_to_file", `{"content":"{\"b\":1,\"a\":2}"}`, `{"content":"{\"b\":1,\"a\":2}"}`},
		{"a command is text", "execute_command", `{"command":"[\"x\"]"}`, `{"command":"[\"x\"]"}`},
		{"arguments of an MCP tool in any form", "use_mcp_tool", `{"arguments":"{\"number\": 12}\n"}`, `{"arguments":{"number":12}}`},
		{"arguments of another tool only as the host writes them", "x", `{"arguments":"{\"number\": 12}"}`, `{"arguments":"{\"number\": 12}"}`},
		{"doubled keys would be lost", "x", `{"a":"{\"k\":1,\"k\":2}"}`, `{"a":"{\"k\":1,\"k\":2}"}`},
		{"half surrogates would be lost", "x", `{"a":"[\"\\ud800\"]"}`, `{"a":"[\"\\ud800\"]"}`},
		{"numbers keep their spelling", "x", `{"a":"[1e3,10000000000000000001,-0]"}`, `{"a":[1e3,10000000000000000001,-0]}`},
		{"broken JSON stays text", "x", `{"a":"[1,","b":"{","c":"[] []"}`, `{"a":"[1,","b":"{","c":"[] []"}`},
		{"nested too deeply to unfold", "x", `{"a":"` + nested(maxEmbeddedDepth+1) + `"}`, `{"a":"` + nested(maxEmbeddedDepth+1) + `"}`},
		{"unfolds one level only", "x", `{"a":"[\"[1]\"]"}`, `{"a":["[1]"]}`},
		{"values that are no text already", "x", `{"a":[1, 2],"b":null}`, `{"a":[1,2],"b":null}`},
		{"empty", "x", `{}`, `{}`},
		{"not an object", "x", `"text"`, `"text"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := parameters(tt.tool, []byte(tt.in)); got != tt.want {
				t.Errorf("parameters(%s)\n got %s\nwant %s", tt.in, got, tt.want)
			}
		})
	}
	if got := parameters("x", nil); got != "" {
		t.Errorf("parameters of nothing = %q", got)
	}
}

func TestInputOfACall(t *testing.T) {
	tests := []struct{ name, payload, want string }{
		{"sdk's own input", `{"hookName":"tool_call","tool_call":{"input":{"b":[1],"a":"[2]"}},"preToolUse":{"parameters":{"b":"[1]","a":"[2]"}}}`, `{"a":"[2]","b":[1]}`},
		{"sdk without its own input", `{"hookName":"tool_call","preToolUse":{"parameters":{"b":"[1]"}}}`, `{"b":[1]}`},
		{"sdk without any", `{"hookName":"tool_call","preToolUse":{}}`, ``},
		{"proto3 leaves out an empty map", `{"hookName":"PreToolUse","preToolUse":{"toolName":"x"}}`, `{}`},
		{"no body", `{"hookName":"PreToolUse"}`, ``},
		{"classic", `{"hookName":"PreToolUse","preToolUse":{"tool":"use_mcp_tool","parameters":{"arguments":"{ }"}}}`, `{"arguments":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := decodeOne(t, tt.payload, "").Tool.Input; got != tt.want {
				t.Errorf("input %s, want %s", got, tt.want)
			}
		})
	}
}

// jsonValue draws any JSON object or array with plain texts.
func jsonValue(depth int) *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.IntRange(-1000, 1000).AsAny(), rapid.StringMatching(`[a-z <>&"\\\n\x{e9}]{0,8}`).AsAny(),
	)
	if depth == 0 {
		return scalar
	}
	list := rapid.SliceOfN(jsonValue(depth-1), 0, 4).AsAny()
	object := rapid.MapOfN(rapid.StringMatching(`[a-z]{0,3}`), jsonValue(depth-1), 0, 4).AsAny()
	return rapid.OneOf(scalar, list, object)
}

// What a host turned into text comes back as the value it was, and the input
// of a call can be read again without any loss.
func TestParametersUnfoldJSONText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := jsonValue(3).Draw(t, "value")
		spelled := rawjson.Encode(value)
		params := rawjson.Encode(map[string]any{"p": spelled})
		got := parameters("some_tool", []byte(params))
		want := rawjson.Encode(map[string]any{"p": value})
		if !strings.HasPrefix(spelled, "{") && !strings.HasPrefix(spelled, "[") {
			want = params
		}
		if got != want {
			t.Fatalf("parameters(%s)\n got %s\nwant %s", params, got, want)
		}
	})
}

// FuzzParameters holds that unfolding is deterministic, changes no text but for
// the order of keys, and always gives JSON in its canonical form.
func FuzzParameters(f *testing.F) {
	for _, seed := range []string{`[1]`, `{"b":1,"a":2}`, `{ }`, "[\"\u2028\"]", `["\ud800"]`, `["\/"]`, `{"a":1,"a":2}`, "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		params := rawjson.Encode(map[string]any{"p": s})
		got := parameters("some_tool", []byte(params))
		if again := parameters("some_tool", []byte(params)); again != got {
			t.Fatalf("a second time %s, first %s", again, got)
		}
		if rawjson.Canonical([]byte(got)) != got {
			t.Fatalf("%s is not canonical", got)
		}
		if got == params {
			return
		}
		var unfolded struct{ P json.RawMessage }
		if err := json.Unmarshal([]byte(got), &unfolded); err != nil {
			t.Fatal(err)
		}
		if rawjson.Canonical([]byte(s)) != string(unfolded.P) {
			t.Fatalf("%s was unfolded to %s", s, unfolded.P)
		}
	})
}
