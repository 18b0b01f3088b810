package hookfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestForwardEnablesOnceAndDisables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hooks.json")
	const command = "cline-hook --port 3043"
	on := Forwarding{Count: len(Events()), Events: Events()}
	for _, tt := range []struct {
		name, action string
		want         Forwarding
	}{
		{"no file", "status", Forwarding{}},
		{"nothing to disable", "disable", Forwarding{}},
		{"enabled", "enable", on},
		{"enabled twice", "enable", on},
		{"status", "status", on},
		{"disabled", "disable", Forwarding{Backup: path + ".hookspan-backup"}},
	} {
		got, err := Forward(path, tt.action, command)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestForwardKeepsABrokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hooks.json")
	const broken = `{"hooks": [`
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"enable", "disable", "status"} {
		if _, err := Forward(path, action, "cline-hook --port 1"); !errors.As(err, new(*UnreadableError)) {
			t.Errorf("%s: got %v, want an unreadable file", action, err)
		}
	}
	if got, _ := os.ReadFile(path); string(got) != broken { //nolint:gosec // The test's own file.
		t.Errorf("the file is %q", got)
	}
}
