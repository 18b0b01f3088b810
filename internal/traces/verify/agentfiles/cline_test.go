package agentfiles

import (
	"strings"
	"testing"
)

// TestClineStatus has results of the SDK's tools, whose outputs may look like their status.
func TestClineStatus(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*maxHead)
	for content, want := range map[string]Status{
		`[{"query":"q","result":"fine","success":true}]`:                                        OK,
		`[{"query":"q","result":"no","error":"no","success":false}]`:                            Bad,
		`[{"result":"a","success":true},{"result":"","error":"no","success": false}]`:           Bad,
		`[{"query":"q","result":"{\"success\":false,\"error\":\"m\"}\n","success":true}]`:       OK,
		`[{"query":"q","result":"{\"success\":true}","error":"exit 4","success":false}]`:        Bad,
		`"{\"query\":\"q\",\"result\":\"x\",\"success\":true}"`:                                 OK,
		`"{\"query\":\"q\",\"error\":\"x\",\"success\":false}"`:                                 Bad,
		`"{\"query\":\"q\",\"result\":\"{\\\"success\\\":false}\",\"success\":true}"`:           OK,
		`"a text that says \"success\":false"`:                                                  Unstated,
		`[{"query":"q","result":"{\"success\":false}` + long + `","success":true}]`:             Unstated,
		`[{"query":"q","result":"{\"success\":true}` + long + `","error":"x","success":false}]`: Bad,
	} {
		b := value[block]([]byte(`{"content":` + content + `}`))
		if got := clineStatus(&b, false); got != want {
			t.Errorf("%.90s: %v, want %v", content, got, want)
		}
	}
}
