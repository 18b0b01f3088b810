package deliver

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFormatExampleIsReadable holds FORMAT.md to the program: its example has
// every member and no other.
func TestFormatExampleIsReadable(t *testing.T) {
	b, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(b), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	d := json.NewDecoder(strings.NewReader(example))
	d.DisallowUnknownFields()
	var st State
	if err := d.Decode(&st); err != nil {
		t.Fatal(err)
	}
	if st.Version != stateVersion {
		t.Errorf("the example has version %d, want %d", st.Version, stateVersion)
	}
	again, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if err := json.Unmarshal([]byte(example), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &got); err != nil {
		t.Fatal(err)
	}
	wantParked := want["parked"].([]any)[0].(map[string]any)
	gotParked := got["parked"].([]any)[0].(map[string]any)
	if d := cmp.Diff(wantParked, gotParked); d != "" {
		t.Errorf("parked run (-example +written):\n%s", d)
	}
	// Those of Ref are among them; a run that is denied is not elsewhere.
	if n := reflect.TypeFor[Parked]().NumField() + reflect.TypeFor[Ref]().NumField() - 2; len(wantParked) != n {
		t.Errorf("the example's parked run has %d members, want all %d", len(wantParked), n)
	}
	delete(want, "rejected") // left out when 0
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s of the example is lost", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d members written, the example has %d", len(got), len(want))
	}
}
