package main

import (
	"fmt"
	"time"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/hookproc"
)

// otherAgentsFor is how long the doctor mentions an agent that ran hooks which
// were installed for another.
const otherAgentsFor = 30 * 24 * time.Hour

// examineOtherAgents names the agents that run hooks which were installed for
// another, so that a user who misses their traces learns why.
func (a *app) examineOtherAgents() []finding {
	var out []finding
	for _, o := range hookproc.OtherAgents(a.cfg.StateDir) {
		if a.now().Sub(o.Last) > otherAgentsFor {
			continue
		}
		out = append(out, finding{
			"note", fmt.Sprintf("%s runs %s too, last on %s; its sessions are not recorded",
				agents.OtherName(o.Agent), o.Program, o.Last.Local().Format(time.DateOnly)),
			"hookspan does not support that agent yet; running the program does it no harm",
		})
	}
	return out
}
