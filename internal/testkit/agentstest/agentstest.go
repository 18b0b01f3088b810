// Package agentstest gives tests what hookspan knows of an agent.
package agentstest

import (
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/otelmap"
)

// Mapping returns what the mapping of events to spans must know of an agent, nothing of one
// that is not supported.
func Mapping(host string) otelmap.Traits {
	for _, a := range agents.All() {
		if a.Host == host {
			return a.Mapping
		}
	}
	return otelmap.Traits{}
}
