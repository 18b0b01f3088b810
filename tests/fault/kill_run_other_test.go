//go:build !linux

package fault_test

import "github.com/hookspan/hookspan/tests/internal/proof"

var killRunRows []proof.Row // Linux alone
