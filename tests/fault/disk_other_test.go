//go:build !linux

package fault_test

import (
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// diskRows mount file systems of their own, which is Linux's alone.
var diskRows []proof.Row
