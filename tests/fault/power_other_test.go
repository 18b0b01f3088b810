//go:build !linux

package fault_test

import (
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// powerRows need strace.
var powerRows []proof.Row
