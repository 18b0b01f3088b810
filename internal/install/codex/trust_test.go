package codex

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListHooksReadsTrust(t *testing.T) {
	answers := `{"method":"note","params":[]}
{"id":1,"result":{}}
{"id":2,"result":{"data":[{"hooks":[{"command":"a","trustStatus":"trusted"},{"command":"b","trustStatus":"modified"}]}]}}
`
	var sent strings.Builder
	got, err := listHooks(&sent, strings.NewReader(answers), "/src")
	if diff := cmp.Diff(map[string]string{"a": "trusted", "b": "modified"}, got); err != nil || diff != "" {
		t.Errorf("%v, states (-want +got):\n%s", err, diff)
	}
	for _, want := range []string{`"method":"initialize"`, `"method":"initialized"`, `"method":"hooks/list","params":{"cwds":["/src"]}`} {
		if !strings.Contains(sent.String(), want) {
			t.Errorf("no %s in\n%s", want, sent.String())
		}
	}
	if _, err := listHooks(io.Discard, strings.NewReader("{}\n"), "/src"); err == nil {
		t.Error("no error without an answer")
	}
}

func TestUntrustedHooksCountsHookspansHooks(t *testing.T) {
	const hook = "GOMEMLIMIT= GODEBUG= exec '/x/claude-hook' codex "
	tests := map[string]struct {
		statuses map[string]string
		want     string
	}{
		"trusted":   {map[string]string{hook + "Stop": "trusted"}, ""},
		"another's": {map[string]string{"guard.sh": "untrusted", "claude-hook --port 3043": "untrusted"}, ""},
		"some": {
			map[string]string{hook + "Stop": "untrusted", hook + "SessionEnd": "untrusted", hook + "PreCompact": "modified", "guard.sh": "untrusted"},
			"Codex silently skips 3 hooks of hookspan's (2 not trusted, 1 changed since they were trusted): nothing is recorded by them",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := untrustedHooks(tt.statuses); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
