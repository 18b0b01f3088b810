package security_test

import (
	"slices"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

func TestMain(m *testing.M) { lab.Main(m) }

// TestAttacks is the table: one line for each file of rows.
func TestAttacks(t *testing.T) {
	proof.Run(t, "docs/results/security.md", "attacks", slices.Concat(
		nameRows,
		bridgeRows,
		uiRows,
		redirectRows,
		endlessRows,
		cleartextRows,
		tlsRows,
		terminalRows,
		projectRows,
		kindRows,
		modeRows,
		injectRows, environRows,
		guardRows, buildRows,
		secretRows, formRows, gitleaksRows, saidRows, cutRows, ordinaryRows, programRows,
	))
}
