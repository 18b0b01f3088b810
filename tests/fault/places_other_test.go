//go:build !linux

package fault_test

import (
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// placeRows wait for deliveries, which is Linux's alone.
var placeRows []proof.Row
