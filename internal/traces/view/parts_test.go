package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArgumentsWithThingsToDo(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"todos":[{"content":"read","status":"completed","activeForm":"Reading"},{"content":"write","status":"in_progress"},{"content":"test","status":"pending"}]}`: "[x] read\n[-] write\n[ ] test",
		`{"todos":[{"content":"read"}]}`: `[{"content":"read"}]`,
		`{"todos":[]}`:                   `[]`,
		`{"todos":[1]}`:                  `[1]`,
	} {
		if diff := cmp.Diff([]Part{{Name: "todos", Short: !strings.Contains(want, "\n"), Text: want}}, NewArguments("TodoWrite", arguments).Parts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
	}
}
