package shelltext

import "testing"

func TestWord(t *testing.T) {
	for text, want := range map[string]string{
		"guard.sh": "guard.sh", "/a-b/c_d.sh": "/a-b/c_d.sh", "": "''", "a b": "'a b'", "it's": `"it's"`,
		"$HOME": "'$HOME'", "~/x": "'~/x'", "a\nb": `$'a\nb'`, "é": "é", "*": "'*'",
	} {
		if got := Word(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestPromptWordIsForTheShellsOfTheSystem(t *testing.T) {
	for text, want := range map[string][2]string{
		`C:\code\shop`:          {`'C:\code\shop'`, `C:\code\shop`},
		`C:\Jane Doe\shop`:      {`'C:\Jane Doe\shop'`, `"C:\Jane Doe\shop"`},
		`C:\R&D (1)\a`:          {`'C:\R&D (1)\a'`, `"C:\R&D (1)\a"`},
		"/home/dev/O'Brien/x y": {`"/home/dev/O'Brien/x y"`, `"/home/dev/O'Brien/x y"`},
		"/home/dev/shop":        {"/home/dev/shop", "/home/dev/shop"},
	} {
		if got := [2]string{PromptWord("linux", text), PromptWord("windows", text)}; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
