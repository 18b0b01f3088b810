package answer

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hooksession"
)

// ClineHook is the agent that starts cline-hook.
func ClineHook() record.Agent {
	return record.Agent{Facts: hook.AgentOf(hook.HostCline), Peek: cline.Peek, Reply: cline.EncodeReply, Answers: Cline().Answers}
}

// Cline are the hooks on Cline.
func Cline() *Hooks {
	return &Hooks{
		File: hookfile.In(""), Variable: "CLINE_DIR",
		Runner: hooksession.Program, Own: hooksession.Own, Ask: askPlain, Reporter: hooksession.Small,
	}
}

// askPlain runs plain hooks in this process. What it would log may hold secrets, and what
// finds them would cost every call time at start.
func askPlain(ctx context.Context, c *record.Call, about string) (answer, report []byte, err error) {
	p := c.Process
	_, environ := record.Variable(p.ChildEnviron(), chainVariable)
	hooks := &userhooks.Process{Config: c.Config, Spool: c.Spool, Environ: environ, Home: p.Home, GOOS: p.GOOS, Now: p.Now}
	request := userhooks.Request{Host: p.Agent.Facts.Host, Event: p.Event, Began: c.Began.UnixMilli(), About: about}
	answer, left, err := hooks.Ask(ctx, request, c.Payload.Data, p.Dir)
	switch {
	case errors.Is(err, userhooks.ErrSpan), errors.Is(err, userhooks.ErrSpelling):
		return nil, nil, otherProgram(hooksession.Small)
	case errors.Is(err, userhooks.ErrOther):
		return nil, nil, otherProgram(hooksession.Full)
	}
	if !left.Empty() {
		report, _ = json.Marshal(left) // texts always encode
	}
	return answer, report, err
}
