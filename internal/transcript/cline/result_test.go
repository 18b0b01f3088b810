package cline

import "testing"

func TestToolResultText(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		failed         bool
	}{
		{"nothing", ``, "", false},
		{"string", `"as it is"`, "as it is", false},
		{"string that looks like JSON", `"{not JSON"`, "{not JSON", false},
		{"string with another object", `"{\"text\":\"sub\",\"iterations\":2}"`, `{"text":"sub","iterations":2}`, false},
		{"string with one part", `"{\"query\":\"q\",\"result\":\"done\",\"success\":true}"`, "done", false},
		{"string with an error", `"{\"error\":\"bad\"}"`, "bad", false},
		{"one part", `[{"query":"q","result":"r","success":true}]`, "r", false},
		{"failed part", `[{"query":"q","result":"","error":"no file","success":false}]`, "no file", true},
		{"error said in the result too", `[{"query":"q","result":"exit code 1\nx","error":"exit code 1","success":false}]`, "exit code 1\nx", true},
		{"result and error", `[{"result":"half","error":"then died","success":false}]`, "half\nthen died", true},
		{"several parts, one failed", `[{"query":"a","result":"1","success":true},{"query":"b","result":"2","success":false}]`, "a\n1\n\nb\n2", true},
		{"text blocks", `[{"type":"text","text":"x"},{"type":"image","source":{"data":"AAAA"}}]`, "x\n\n[image]", false},
		{"result is an object", `[{"query":"q","result":{"b":1,"a":"<"},"success":true}]`, `{"a":"<","b":1}`, false},
		{"unknown part", `[{"b":1,"a":2},3]`, "{\"a\":2,\"b\":1}\n\n3", false},
		{"object", `{"result":"r","success":false}`, "r", true},
		{"number", `5`, "5", false},
		{"null members", `[{"result":null,"error":null,"success":true}]`, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, failed := resultText([]byte(c.in))
			if text != c.want || failed != c.failed {
				t.Errorf("resultText(%s) = %q, %v; want %q, %v", c.in, text, failed, c.want, c.failed)
			}
		})
	}
}
