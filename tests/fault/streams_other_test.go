//go:build !linux

package fault_test

import (
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// streamRows wait for deliveries, which is Linux's alone.
var streamRows []proof.Row
