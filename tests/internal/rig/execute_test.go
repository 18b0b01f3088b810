package rig

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/tests/internal/llm"
)

func TestWordsOfAScriptAreReplacedAtAnyDepth(t *testing.T) {
	t.Parallel()
	script := func(workspace string) llm.Script {
		call := llm.Call{Name: "n", Args: map[string]any{"list": []any{map[string]any{"path": workspace + "/a"}, 60000.0, true}}}
		return llm.Script{Main: []llm.Turn{llm.Answer(workspace, call)}, Sub: []llm.Turn{{Message: workspace, HTTPError: 400}}}
	}
	got, err := expand(script(WordWorkspace), &Arena{Workspace: "/ws"})
	if diff := cmp.Diff(script("/ws"), got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
