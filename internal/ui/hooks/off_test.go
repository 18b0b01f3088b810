package hooks

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

// document draws a hooks file with a person's white space.
func document(t *rapid.T) []byte {
	space := rapid.SampledFrom([]string{"", " ", "\n", "\n\t", "\r\n  ", "  \n"})
	n := 0
	list := func(what string, most int, one func() string) string {
		var b strings.Builder
		for i := range rapid.IntRange(0, most).Draw(t, what) {
			if i > 0 {
				b.WriteString(space.Draw(t, "space") + ",")
			}
			b.WriteString(space.Draw(t, "space") + one())
		}
		return b.String() + space.Draw(t, "space")
	}
	hook := func() string {
		n++
		return fmt.Sprintf(`{%s"type":%s"command", "command": "c%d"%s}`, space.Draw(t, "space"), space.Draw(t, "space"), n, space.Draw(t, "space"))
	}
	group := func() string {
		matcher := rapid.SampledFrom([]string{"", `"matcher":"Bash",`, `"matcher": "Edit|Write" ,`, `"matcher":"",`}).Draw(t, "matcher")
		return "{" + matcher + `"hooks":[` + list("hooks", 3, hook) + "]}"
	}
	events := []string{"PreToolUse", "PostToolUse", "Stop"}
	at := -1
	event := func() string {
		at++
		return `"` + events[at] + `":` + space.Draw(t, "space") + "[" + list("groups", 3, group) + "]"
	}
	return []byte(space.Draw(t, "space") + `{"a":1,` + space.Draw(t, "space") + `"hooks":{` + list("events", 3, event) + `},"z":[ ]}` + space.Draw(t, "space"))
}

func commands(t *rapid.T, text []byte) (out []string) {
	entries, err := hookfile.Text{Data: text}.Entries()
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, e := range entries {
		out = append(out, e.Event+" "+strings.TrimPrefix(e.Matcher, "*")+" "+e.Command)
	}
	return out
}

// TestHooksAreSwitchedOffAndOnInAnyOrder: in the end the file has its bytes. If another
// program changes it in between, no hook is lost and none is doubled.
func TestHooksAreSwitchedOffAndOnInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := document(t)
		all := commands(t, start)
		text, f := start, offFile{}
		foreign := rapid.IntRange(0, 4).Draw(t, "whether others write") == 0
		changed := false
		check := func() {
			t.Helper()
			have := commands(t, text)
			for _, h := range f.Hooks {
				have = append(have, h.Event+" "+h.Matcher+" "+h.text())
			}
			slices.Sort(have)
			want := slices.Sorted(slices.Values(all))
			if diff := cmp.Diff(want, have); diff != "" {
				t.Fatalf("hooks in the file and off (-want +got):\n%s\nin\n%s", diff, text)
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			n := len(commands(t, text))
			var out []byte
			var err error
			switch on := rapid.Bool().Draw(t, "on"); {
			case foreign && rapid.IntRange(0, 3).Draw(t, "write") == 0:
				out, changed = append(bytes.Clone(text), ' '), true
			case on && len(f.Hooks) > 0:
				out, err = f.switchOn(hookfile.Text{Data: text}, rapid.SampledFrom(f.Hooks).Draw(t, "which").ID)
			case n > 0:
				out, err = f.switchOff(hookfile.Text{Data: text}, rapid.IntRange(0, n-1).Draw(t, "index"), time.Time{})
			default:
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			text = out
			check()
		}
		for len(f.Hooks) > 0 {
			out, err := f.switchOn(hookfile.Text{Data: text}, rapid.SampledFrom(f.Hooks).Draw(t, "which").ID)
			if err != nil {
				t.Fatal(err)
			}
			text = out
			check()
		}
		if !changed {
			if diff := cmp.Diff(string(start), string(text)); diff != "" {
				t.Fatalf("the file, all hooks on again (-before +after):\n%s", diff)
			}
		}
	})
}

func TestSwitchOffRefusesWhatIsNotThere(t *testing.T) {
	text := hookfile.Text{Data: []byte(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"}]}]}}`)}
	for _, i := range []int{-1, 1, 7} {
		if _, err := (&offFile{}).switchOff(text, i, time.Time{}); err == nil {
			t.Errorf("hook %d was switched off", i)
		}
	}
	if _, err := (&offFile{}).switchOn(text, "x"); err == nil {
		t.Error("a hook that is not off was switched on")
	}
}
