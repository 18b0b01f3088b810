package clinehooks

import (
	"github.com/hookspan/hookspan/internal/clinehooks/hookmatch"
	"github.com/hookspan/hookspan/internal/clinehooks/hookrun"
)

// conditions are those of the programs that run every hook.
var conditions = hookrun.Conditions{Matcher: hookmatch.Compile, Rule: hookmatch.Fits}
