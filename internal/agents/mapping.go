// Package agents is the table of the agents: what differs between them.
package agents

import (
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/otelmap"
)

// Mapping returns what the mapping of events to spans must know of an agent. It
// returns the zero value for an agent that is not in the table.
func Mapping(host string) otelmap.Agent { return mapping[host] }

var mapping = map[string]otelmap.Agent{
	cline.Host: {
		MaxInput: 200, MaxOutput: 300,
		Providers: map[string]string{"claude-code": "anthropic"},
	},
	claude.Host: {
		Turns: true, MaxInput: 500, MaxOutput: 500,
		ToolError: otelmap.ErrorToolFailure, Provider: "anthropic",
	},
}
