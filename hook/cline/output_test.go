package cline

import "testing"

func TestOutputText(t *testing.T) {
	tests := []struct {
		name, payload, want string
	}{
		{"classic text", post(dialectClassic, `{"result":"1 | x\n\n(File has 1 lines total.)"}`), "1 | x\n\n(File has 1 lines total.)"},
		{"text that is not UTF-8", post(dialectClassic, "{\"result\":\"a\xffb\"}"), "a\ufffdb"},
		{"blocks as JSON text", post(dialectClassic, `{"result":"[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"image\",\"source\":{}},{\"type\":\"text\",\"text\":\"two\"}]"}`), "one\n[image]\ntwo"},
		{"a tool's own list with a type", post(dialectClassic, `{"result":"[{\"type\":\"file\",\"name\":\"a\"}]"}`), `[{"type":"file","name":"a"}]`},
		{"a tool's own JSON, as it is laid out", post(dialectClassic, `{"result":"{\n  \"error\": \"none\"\n}"}`), "{\n  \"error\": \"none\"\n}"},
		{"an empty list", post(dialectClassic, `{"result":"[]"}`), "[]"},
		{"JSON-like text", post(dialectClassic, `{"result":"[1] note"}`), "[1] note"},
		{"hidden", post(dialectNext, `{"result":"[object Object]"}`), ""},
		{"not quite hidden", post(dialectNext, `{"result":"[object Object] is not iterable"}`), "[object Object] is not iterable"},
		{"a result that is no text", post(dialectClassic, `{"result":{"b":1,"a":[2]}}`), `{"a":[2],"b":1}`},
		{"operations", post(dialectSDK, `"tool_result":{"output":[{"query":"a","result":"A\n","success":true},{"query":"b","result":"B","success":true}]}`), "A\nB"},
		{"operation with blocks", post(dialectSDK, `"tool_result":{"output":[{"query":"a","result":[{"type":"text","text":"A"},{"type":"image","data":"x"}],"success":true}]}`), "A\n[image]"},
		{"operation with a structure", post(dialectSDK, `"tool_result":{"output":[{"query":"a","result":{"z":1,"y":2},"success":true}]}`), `{"y":2,"z":1}`},
		{"a list that is no operations", post(dialectSDK, `"tool_result":{"output":[{"query":"a","success":true},{"other":1}]}`), `[{"query":"a","success":true},{"other":1}]`},
		{"other structure", post(dialectSDK, `"tool_result":{"output":{"text":"t","iterations":2,"cost":1.50}}`), `{"cost":1.50,"iterations":2,"text":"t"}`},
		{"content blocks", post(dialectSDK, `"tool_result":{"output":{"content":[{"type":"text","text":"A"}]}}`), "A"},
		{"number", post(dialectSDK, `"tool_result":{"output":42}`), "42"},
		{"null", post(dialectSDK, `"tool_result":{"output":null}`), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := decodeOne(t, tt.payload, "").Tool.Output; got != tt.want {
				t.Errorf("output %q, want %q", got, tt.want)
			}
		})
	}
}

func TestHidden(t *testing.T) {
	for s, want := range map[string]bool{
		"[object Object]": true, "[object Object],[object Object]": true,
		"": false, "[object Object],": false, "x[object Object]": false, "[object Object]x": false, "[object Array]": false,
	} {
		if got := hidden(s); got != want {
			t.Errorf("hidden(%q) = %v, want %v", s, got, want)
		}
	}
}
