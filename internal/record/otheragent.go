package record

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// OtherAgent is an agent that has run hooks installed for another.
type OtherAgent struct {
	// Program is the hook program, Agent the short name of the agent that ran it.
	Program, Agent string
	// Last is the time of its latest run.
	Last time.Time
}

// otherAgents is the folder, below the state folder, with an empty file for each
// program and agent, PROGRAM.AGENT, whose time is Last.
const otherAgents = "other-agents"

// OtherAgents lists the agents that have run hook programs of another, by name.
func OtherAgents(stateDir string) []OtherAgent {
	files, err := os.ReadDir(filepath.Join(stateDir, otherAgents))
	if err != nil {
		return nil // the first one makes the folder
	}
	var out []OtherAgent
	for _, f := range files {
		agent := filepath.Ext(f.Name())
		info, err := f.Info()
		if err != nil || len(agent) < 2 {
			continue
		}
		out = append(out, OtherAgent{
			Program: f.Name()[:len(f.Name())-len(agent)], Agent: agent[1:], Last: info.ModTime(),
		})
	}
	return out
}

// leaveAlone answers an agent that runs another agent's hook as if there were no
// hook. The first time it logs so.
func (c *Call) leaveAlone() {
	p, cfg := c.Process, c.Config
	c.answered = true
	if p.Agent.Silence != nil {
		// The agent may have stopped listening, which is no error.
		_, _ = p.Stdout.Write(p.Agent.Silence(c.Head.Agent))
	}
	// Without a state folder the path would be one of the working folder.
	if p.off(cfg) || cfg.StateDir == "" {
		return
	}
	path := filepath.Join(cfg.StateDir, otherAgents, p.Agent.Facts.Program+"."+c.Head.Agent)
	now := p.Now()
	if os.Chtimes(path, now, now) == nil {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // The name is this program's.
	if err != nil {
		return
	}
	_ = f.Close()
	c.Log.Line(fmt.Sprintf("%s: run by %s, not by %s: it is not recorded (said once)", c.Name(), c.Head.Agent, p.Agent.Facts.Host))
}
