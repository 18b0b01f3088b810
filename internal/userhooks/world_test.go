package userhooks

import (
	"github.com/hookspan/hookspan/internal/userhooks/hookmatch"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
)

// conditions are those of the programs that run every hook.
var conditions = hookrun.Conditions{Matcher: hookmatch.Compile, Rule: hookmatch.Fits}
