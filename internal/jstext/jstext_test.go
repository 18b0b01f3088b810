package jstext

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// TestAgreesWithJavaScript compares with a real engine, if one is installed: every
// character of the basic plane at both ends of a text, and numbers as models write them.
func TestAgreesWithJavaScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if errors.Is(err, exec.ErrNotFound) {
		skip.Missing(t, "node is not installed, so there is no JavaScript to compare with")
	}
	numbers := []string{
		"", " ", "5", "05", "5abc", " 7", "\ufeff7", "\u00857", "7 ", "-3", "+3", "--3", "+-3", "0x10", "1e3", "1_000", "2.9", ".5", "x", "٣", "9007199254740991",
	}
	const script = `
		const {numbers} = JSON.parse(require("fs").readFileSync(0, "utf8"));
		const spaces = [];
		for (let i = 0; i < 0x10000; i++) if (String.fromCharCode(i).trim() === "") spaces.push(i);
		console.log(JSON.stringify({spaces, numbers: numbers.map(n => Number.parseInt(n, 10)), replaced: "a😀\u00e9b".replace(/[^a-z]/g, "_")}))`
	in, err := json.Marshal(map[string]any{"numbers": numbers})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "-e", script)
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Spaces   []rune
		Numbers  []*int64
		Replaced string
	}
	if err := json.Unmarshal(out, &want); err != nil || len(want.Spaces) < 20 || len(want.Numbers) != len(numbers) {
		t.Fatalf("%v: %.200s", err, out)
	}
	isSpace := map[rune]bool{}
	for _, r := range want.Spaces {
		isSpace[r] = true
	}
	for r := range rune(0x10000) {
		if utf16.IsSurrogate(r) {
			continue
		}
		text := string(r) + "x" + string(r)
		if got := Trim(text) == "x"; got != isSpace[r] || IsSpace(r) != got {
			t.Errorf("U+%04X is trimmed: %t, JavaScript says %t", r, got, isSpace[r])
		}
	}
	for i, s := range numbers {
		n, ok := Int(s)
		if w := want.Numbers[i]; ok != (w != nil) || ok && n != *w {
			t.Errorf("%q: %d, %t, JavaScript says %v", s, n, ok, w)
		}
	}
	if got := Replace("a😀\u00e9b", func(r rune) bool { return 'a' <= r && r <= 'z' }, '_'); got != want.Replaced {
		t.Errorf("%q, JavaScript says %q", got, want.Replaced)
	}
}

func TestIntRefusesWhatIsTooLong(t *testing.T) {
	if n, ok := Int(strings.Repeat("9", 40)); ok {
		t.Errorf("%d", n)
	}
}
