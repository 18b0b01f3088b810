package hookfile

import "testing"

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"guard.sh": "guard.sh", "/a-b/c_d.sh": "/a-b/c_d.sh", "": "''", "a b": "'a b'", "it's": `"it's"`,
		"$HOME": "'$HOME'", "~/x": "'~/x'", "a\nb": `$'a\nb'`, "é": "é", "*": "'*'",
	} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
