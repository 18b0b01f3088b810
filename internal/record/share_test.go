package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestReadPayloadKeepsMembersAfterLargeOnes puts a large result before what tells to
// which call it belongs, as the hosts do.
func TestReadPayloadKeepsMembersAfterLargeOnes(t *testing.T) {
	const count = 200_000
	type object = map[string]any
	// list holds that the elements left are those of the beginning, of which the
	// last may have lost its end.
	list := func(t *testing.T, v any, most, least int) {
		t.Helper()
		l, ok := v.([]any)
		if !ok || len(l) < least || len(l) >= most {
			t.Errorf("%d elements left, want at least %d and fewer than %d", len(l), least, most)
		}
		for _, e := range l[:max(0, len(l)-1)] {
			if d := cmp.Diff(l[0], e); d != "" {
				t.Fatalf("(-first +other):\n%s", d)
			}
		}
	}
	const (
		claude     = `{"session_id":"s1","prompt_id":"p1","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"Glob","tool_input":{"pattern":"**"},"tool_response":`
		claudeEnd  = `,"tool_use_id":"toolu_01","duration_ms":12}`
		clineStart = `{"taskId":"17","hookName":"PostToolUse","postToolUse":{"toolName":"x","parameters":{"a":"b"},"result":`
		clineEnd   = `,"executionTimeMs":5,"success":true},"workspaceRoots":["/w"],"model":{"slug":"m"}}`
	)
	claudeWant := object{
		"session_id": "s1", "prompt_id": "p1", "cwd": "/w", "hook_event_name": "PostToolUse", "tool_name": "Glob",
		"tool_input": object{"pattern": "**"}, "tool_use_id": "toolu_01", "duration_ms": 12.0,
	}
	clineWant := object{
		"taskId": "17", "hookName": "PostToolUse", "workspaceRoots": []any{"/w"}, "model": object{"slug": "m"},
		"postToolUse": object{"toolName": "x", "parameters": object{"a": "b"}, "executionTimeMs": 5.0, "success": true},
	}
	for name, tc := range map[string]struct {
		in    io.Reader
		want  object
		check func(t *testing.T, response any) // of tool_response, or of result
	}{
		"a list of paths within the response": {
			in:   stream(claude+`{"durationMs":3,"filenames":[`, `"/home/dev/some/file.go",`, count, `"/last"],"numFiles":7,"truncated":false}`+claudeEnd),
			want: claudeWant, check: func(t *testing.T, v any) {
				list(t, v.(object)["filenames"], count, 7_500)
				delete(v.(object), "filenames")
				if d := cmp.Diff(object{"durationMs": 3.0, "numFiles": 7.0, "truncated": false}, v); d != "" {
					t.Errorf("the rest of the response (-want +got):\n%s", d)
				}
			},
		},
		"a patch of many parts": {
			in:   stream(claude+`{"filePath":"/f","structuredPatch":[`, `{"lines":["-a [\"{","+b\\"],"oldStart":1},`, count, `{}],"userModified":true}`+claudeEnd),
			want: claudeWant, check: func(t *testing.T, v any) {
				list(t, v.(object)["structuredPatch"], count, 4_500)
				delete(v.(object), "structuredPatch")
				if d := cmp.Diff(object{"filePath": "/f", "userModified": true}, v); d != "" {
					t.Errorf("the rest of the response (-want +got):\n%s", d)
				}
			},
		},
		"a response that is a list of texts": {
			in:   stream(claude+"[ ", `{"type":"text","text":"some text"}, `, count, `{}]`+claudeEnd),
			want: claudeWant, check: func(t *testing.T, v any) { list(t, v, count, 12_000) },
		},
		"a response of many members": {
			in:   stream(claude+`{`, `"a":{"b":[1,2,3]},"c":"some text",`, count, `"z":1}`+claudeEnd),
			want: claudeWant, check: func(t *testing.T, v any) {
				if o, ok := v.(object); !ok || o["c"] != "some text" {
					t.Errorf("the response is %v", v)
				}
			},
		},
		"Cline's result, a list": {
			in:   stream(clineStart+`[`, `"0123456789abcdef",`, count, `""]`+clineEnd),
			want: clineWant, check: func(t *testing.T, v any) { list(t, v, count, 9_000) },
		},
		"Cline's result, lists in lists": {
			in:   stream(clineStart+`{"a":[`, `[[["0123456789abcdef"]]],`, count, `0]}`+clineEnd),
			want: clineWant, check: func(t *testing.T, v any) { list(t, v.(object)["a"], count, 5_000) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readPayload(tc.in, bigLimit, io.Discard)
			if err != nil || !got.JSON || got.Cut <= bigLimit || len(got.Data) > bigLimit {
				t.Fatalf("%d bytes, json %v, cut %d, error %v", len(got.Data), got.JSON, got.Cut, err)
			}
			var o object
			if err := json.Unmarshal(got.Data, &o); err != nil {
				t.Fatal(err)
			}
			holder, key := o, "tool_response"
			if body, ok := o["postToolUse"].(object); ok {
				holder, key = body, "result"
			}
			tc.check(t, holder[key])
			delete(holder, key)
			if d := cmp.Diff(tc.want, o); d != "" {
				t.Errorf("what stands around the result (-want +got):\n%s", d)
			}
		})
	}
}

// TestReadPayloadSharesTheRoom holds that of several large members each keeps a
// beginning, whatever their kind.
func TestReadPayloadSharesTheRoom(t *testing.T) {
	for name, tc := range map[string]struct {
		member string
		count  int
	}{
		"texts":   {`"` + strings.Repeat("some text ", 50_000) + `"`, 40},
		"lists":   {`[` + strings.Repeat(`"some text",`, 50_000) + `0]`, 12},
		"objects": {`{"a":1,"b":[` + strings.Repeat(`{"c":"d"},`, 50_000) + `0],"e":2}`, 9},
	} {
		for where, tail := range map[string]string{"outermost": "}", "in a member": "}}"} {
			t.Run(name+", "+where, func(t *testing.T) {
				count, text := tc.count, "{"
				if where == "in a member" {
					count, text = tc.count*2/3, `{"postToolUse":{`
				}
				for i := range count {
					text += fmt.Sprintf(`"m%d":%s,`, i, tc.member)
				}
				got, err := readPayload(strings.NewReader(text+`"end":true`+tail), bigLimit, io.Discard)
				if err != nil || !got.JSON || len(got.Data) > bigLimit {
					t.Fatalf("%d bytes, json %v, error %v", len(got.Data), got.JSON, err)
				}
				ms := members(t, got.Data)
				if where == "in a member" {
					ms = members(t, ms[0].value)
				}
				if len(ms) != count+1 {
					t.Fatalf("%d members, want %d", len(ms), count+1)
				}
				for i, m := range ms[:count] {
					if m.name != fmt.Sprintf("m%d", i) || len(m.value) < 80 || string(m.value[:6]) != tc.member[:6] {
						t.Errorf("member %d is %s, %d bytes: %.60s", i, m.name, len(m.value), m.value)
					}
				}
			})
		}
	}
}

// TestReadPayloadCutsBothEndsAlike holds the two ends of a call to one input,
// however long: Cline's classic dialect gives nothing else to pair them by.
func TestReadPayloadCutsBothEndsAlike(t *testing.T) {
	parameters := `{"path":"/w/file","content":"` + strings.Repeat("some text\\n", 300_000) + `"}`
	var inputs []string
	for _, text := range []string{
		`{"taskId":"17","hookName":"PreToolUse","timestamp":"1","preToolUse":{"toolName":"write_to_file","parameters":` + parameters + `}}`,
		`{"taskId":"17","hookName":"PostToolUse","timestamp":"1","workspaceRoots":["/work/on/something"],"postToolUse":{"toolName":"write_to_file","parameters":` + parameters + `,"success":true}}`,
	} {
		got, err := readPayload(strings.NewReader(text), bigLimit, io.Discard)
		if err != nil || !got.JSON {
			t.Fatalf("json %v, error %v", got.JSON, err)
		}
		for _, m := range members(t, got.Data) {
			if strings.HasSuffix(m.name, "ToolUse") {
				inputs = append(inputs, string(members(t, m.value)[1].value))
			}
		}
	}
	if len(inputs) != 2 || inputs[0] != inputs[1] || len(inputs[0]) < 30_000 {
		t.Errorf("%d inputs, of %d and %d bytes, want two that are equal", len(inputs), len(inputs[0]), len(inputs[len(inputs)-1]))
	}
}

// member is one of an object's, in its order.
type member struct {
	name  string
	value json.RawMessage
}

func members(t interface{ Fatal(...any) }, object []byte) []member {
	dec := json.NewDecoder(bytes.NewReader(object))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		t.Fatal("no object:", first, err)
	}
	var ms []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		m := member{name: name.(string)}
		if err := dec.Decode(&m.value); err != nil {
			t.Fatal(err)
		}
		ms = append(ms, m)
	}
	return ms
}

// short says that a member is one of those that are always kept.
func (m member) short() bool {
	return m.value[0] != '{' && m.value[0] != '[' && len(m.value) <= shortText && len(m.name) <= shortText
}

// shortBytes is how much of an object's text is written with room that is kept
// for short members: theirs, that of strings which are just not shorter, and of
// one more that proves long in the end.
func shortBytes(ms []member) int {
	n := 2*shortText + 16
	for _, m := range ms {
		if m.value[0] != '{' && m.value[0] != '[' && len(m.value) <= shortText+len(`""`) {
			n += len(m.name) + len(m.value) + len(`"":,`)
		}
	}
	return n
}

// lost says which member of in that should be kept is missing in out, and what
// in out is out of order.
func lost(in, out []member) string {
	at := 0
	for _, o := range out {
		for at < len(in) && in[at].name != o.name {
			if in[at].short() {
				return fmt.Sprintf("member %q is lost", in[at].name)
			}
			at++
		}
		if at == len(in) {
			return fmt.Sprintf("member %q is new, or out of order", o.name)
		}
		if in[at].short() && !bytes.Equal(in[at].value, o.value) {
			return fmt.Sprintf("member %q is %.100s, want %.100s", o.name, o.value, in[at].value)
		}
		at++
	}
	for _, i := range in[at:] {
		if i.short() {
			return fmt.Sprintf("member %q is lost", i.name)
		}
	}
	return ""
}

// TestCutKeepsShortMembers puts 64 short members among any number of others. What
// is short is kept as long as all of it is no more than an eighth of the limit.
func TestCutKeepsShortMembers(t *testing.T) {
	big := rapid.Custom(func(t *rapid.T) string {
		open := rapid.SampledFrom([]string{`"`, `[`, `{"a":[`, `{"a":{"b":[[`, `{"r":"`, `{`, `7`}).Draw(t, "open")
		unit, end := `"abc [{",`, "0"
		switch open[len(open)-1] {
		case '"':
			unit, end = rapid.SampledFrom([]string{"x", `\"`, "é", `\ud83d\ude00`}).Draw(t, "unit"), `"`
		case '{':
			unit, end = rapid.SampledFrom([]string{`"k":1,`, `"k":{"l":[]},`, `"k":"` + strings.Repeat("v", 1100) + `",`}).Draw(t, "unit"), `"k":0`
		case '7':
			unit, end = "7", ""
		}
		size := rapid.SampledFrom([]int{0, 10, 1 << 10, 1100, 5 << 10, 200 << 10, 200 << 10}).Draw(t, "size")
		text := open + strings.Repeat(unit, size/len(unit)) + end
		for i := len(open) - 1; i >= 0; i-- {
			if open[i] == '{' || open[i] == '[' {
				text += string(open[i] + 2)
			}
		}
		return text
	})
	rapid.Check(t, func(t *rapid.T) {
		bigs := rapid.SliceOfN(big, 0, 4).Draw(t, "bigs")
		repeat := rapid.SampledFrom([]int{1, 1, 3, 10}).Draw(t, "repeat")
		limit := rapid.SampledFrom([]int{512 << 10, bigLimit}).Draw(t, "limit")
		size := rapid.SampledFrom([]int{0, 1, 62, 63, 64, 500, 900}).Draw(t, "size")
		indent := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "indent")
		var all []string
		for i := range 64 {
			if i%16 == 5 {
				for j := range repeat {
					for k, v := range bigs {
						all = append(all, fmt.Sprintf(`"b%d.%d.%d":%s%s`, i, j, k, indent, v))
					}
				}
			}
			value := []string{"true", "null", `"` + strings.Repeat("é", size/2) + `"`, strings.Repeat("9", size+1), `"` + strings.Repeat(`\n`, size/2) + `"`}[i%5]
			all = append(all, fmt.Sprintf(`%s"s%d":%s%s`, indent, i, indent, value))
		}
		text := "{" + strings.Join(all, ",") + indent + "}"
		got, err := readPayload(strings.NewReader(text), limit, io.Discard)
		if err != nil || !got.JSON || !json.Valid(got.Data) || len(got.Data) > limit {
			t.Fatalf("%d of %d bytes, json %v, error %v", len(got.Data), len(text), got.JSON, err)
		}
		in := members(t, []byte(text))
		if problem := lost(in, members(t, got.Data)); len(text) > limit && shortBytes(in) <= limit/8 && problem != "" {
			t.Fatalf("%d of %d bytes: %s", len(got.Data), len(text), problem)
		}
	})
}
