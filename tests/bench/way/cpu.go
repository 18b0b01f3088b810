package way

import (
	"time"

	"github.com/hookspan/hookspan/internal/testkit/cputime"
)

// CPUTime is the processor time that this process has taken.
func CPUTime() time.Duration { return cputime.Used() }
