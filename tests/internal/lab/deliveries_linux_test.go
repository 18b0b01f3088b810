package lab

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// TestEndedDeliveriesLeaveNothing has a process that begins a session and ends, as deliveries do. One
// that the test started and waits for is left to it.
func TestEndedDeliveriesLeaveNothing(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		skip.Missing(t, "setsid is not installed")
	}
	if err := adopt(); err != nil {
		t.Fatal(err)
	}
	own := exec.CommandContext(t.Context(), "true")
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), "setsid", "--fork", "true").Run(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for pid == 0 || stat(own.Process.Pid)[0] != "Z" {
		pid = process(hasEnded)
	}
	if err := EndDeliveries("/nowhere"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		t.Errorf("process %d has ended and is not forgotten", pid)
	}
	if err := own.Wait(); err != nil {
		t.Errorf("the test's own process: %v", err)
	}
}
