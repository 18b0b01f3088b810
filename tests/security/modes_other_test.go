//go:build windows

package security_test

import "github.com/hookspan/hookspan/tests/internal/proof"

// modeRows are about what Windows has no such modes for.
var modeRows []proof.Row
