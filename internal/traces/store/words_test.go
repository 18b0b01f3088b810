package store

import "testing"

// TestTextsOfCallsReadAsPeopleWriteThem has whole JSON, beginnings of it, and texts that only begin as JSON does.
func TestTextsOfCallsReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]string{
		`{"command":"npm test -- \"cart\"","n":1}`: ` command: npm test -- "cart", n: 1 `,
		`{"a":"x\nend"}`:               " a: x\nend ",
		`[{"b":["\u00e9t\u00e9","y"]}`: "  b:  été, y  ",
		`{"a":"cut in an esc\u00…`:     ` a: cut in an esc\u00…`,
		`{"a":"cut\`:                   ` a: cut\`,
		`{"a":"`:                       " a: ",
		`{"`:                           " ",
		`[INFO] "x" [1]y`:              `[INFO] "x" [1]y`,
		`{}`:                           `{}`,
		`plain {"a":1}`:                `plain {"a":1}`,
		"":                             "",
		`"go test\n\"ls\""`:            "go test\n\"ls\"",
		`"a" b`:                        `"a" b`,
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	want, err := phrases(`"test cart"`)
	if err != nil {
		t.Fatal(err)
	}
	if got := snippet([]string{Plain(`{"command":"npm test -- \"cart\"","cwd":"/x"}`)}, want); got != `command: npm test -- "cart", cwd: /x` {
		t.Errorf("the snippet is %q", got)
	}
}
