package fault_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
)

// preToolUse is a Cline payload for the tool call of this number.
func preToolUse(session string, n int) []byte {
	return fmt.Appendf(nil, `{"clineVersion":"3.38.0","hookName":"PreToolUse","timestamp":"%d","taskId":%q,"workspaceRoots":["/home/dev/project"],"userId":"u","preToolUse":{"toolName":"read_file","parameters":{"path":"src/%d.go"}}}`,
		1795175957341+n, session, n)
}

// toolNumber is the number of a payload's tool call.
func toolNumber(t *testing.T, payload []byte) int {
	t.Helper()
	var p struct {
		PreToolUse struct {
			Parameters struct{ Path string }
		}
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		t.Fatalf("a stored payload: %v: %.200q", err, payload)
	}
	path := p.PreToolUse.Parameters.Path
	n, err := strconv.Atoi(path[min(len(path), len("src/")):max(0, len(path)-len(".go"))])
	if err != nil {
		t.Fatalf("path %q of a stored payload: %v", path, err)
	}
	return n
}
