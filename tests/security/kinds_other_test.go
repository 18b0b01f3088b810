//go:build !linux

package security_test

import "github.com/hookspan/hookspan/tests/internal/proof"

// kindRows need files that can be exchanged in one step.
var kindRows []proof.Row
