package jsonedit

import "testing"

func TestCommentsBecomeWhiteSpace(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`:                      `{"a": 1}`,
		"{ // one\n\"a\": 1}":           "{       \n\"a\": 1}",
		"{/* a\r\n b */\"a\": 1}// end": "{    \r\n     \"a\": 1}      ",
		`{"a": "// no", "b\"/*": "*/"}`: `{"a": "// no", "b\"/*": "*/"}`,
		`{"a": /* "x" */ 1 /**/}`:       `{"a":           1     }`,
		`{"a": 1} /* never`:             `{"a": 1} /* never`,
		`{"a": 1} /`:                    `{"a": 1} /`,
		`{"a": "open // `:               `{"a": "open // `,
		`{"a": "\`:                      `{"a": "\`,
		"/*/ \"a\" */ [1]":              "           [1]",
		"// only":                       "       ",
		"":                              "",
	} {
		if got := string(WithoutComments([]byte(text))); got != want {
			t.Errorf("%q without comments is %q, want %q", text, got, want)
		}
	}
}

func TestEditsKeepComments(t *testing.T) {
	const text = "{\n  // mine\n  \"a\": 1, /* beside */\n  \"b\": [] // last\n}\n"
	root, err := ParseWithComments([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	style := DetectStyle([]byte(text), root)
	added := style.AddMember([]byte(text), root, Field{Key: "c", Value: Array{"x"}})
	if root, err = ParseWithComments(added); err != nil {
		t.Fatalf("%v:\n%s", err, added)
	}
	if got := root.Get("c"); got == nil || len(got.Items) != 1 {
		t.Fatalf("no member c in\n%s", added)
	}
	if got := string(Cut(added, root, root.Member("c"))); got != text {
		t.Errorf("taken out again:\n%s\nwant\n%s", got, text)
	}
	if _, err := Parse([]byte(text)); err == nil {
		t.Error("a comment is JSON")
	}
}
