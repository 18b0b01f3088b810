package importer

import (
	"slices"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
	claudefiles "github.com/hookspan/hookspan/internal/transcript/claude"
	clinefiles "github.com/hookspan/hookspan/internal/transcript/cline"
)

// The agents and dialects of the tests.
const (
	HostCline      = hook.HostCline
	HostClaude     = hook.HostClaude
	DialectClassic = clinefiles.DialectClassic
	DialectSDK     = clinefiles.DialectSDK
	DialectClaude  = claudefiles.Dialect
)

func agent(host string) transcript.Reader {
	if host == HostClaude {
		return claudefiles.Agent
	}
	return clinefiles.Agent
}

// session describes a session as the agent's Sessions would.
func session(id, dialect string) transcript.Session {
	s := transcript.Session{ID: id, Dialect: dialect, Path: "/files/" + id, ModTime: at(0)}
	if dialect == DialectSDK {
		s.HookPrefix = "conv_"
	}
	return s
}

// Events returns the events of a session's transcript.
func Events(host, dialect string, tr *hook.Transcript) []hook.Event {
	return slices.Collect(agent(host).Events(dialect, tr))
}
