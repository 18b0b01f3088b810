//go:build !linux

package fault_test

import (
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// diskRows mount file systems, which works on Linux only.
var diskRows []proof.Row
