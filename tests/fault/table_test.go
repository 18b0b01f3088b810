package fault_test

import (
	"slices"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

func TestMain(m *testing.M) { lab.Main(m) }

// TestFaults is the table: one line for each file of rows.
func TestFaults(t *testing.T) {
	proof.Run(t, "docs/results/reliability.md", "faults", slices.Concat(
		stormRows, killHookRows, killInstallRows, killRandomRows, killRunRows, errnoRows, killFlushRows, flushersRows,
		powerRows, tornRows, diskRows, limitRows, placeRows, streamRows, payloadRows, clockRows,
		historyRows, lateRows, outageRows, metricsRows, backendRows, capRows, programsRows, filesystemRows,
	))
}
