package rig

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// conversation is the editor's side of the Agent Client Protocol (JSON-RPC 2.0,
// one message a line, agentclientprotocol.com) over a command's standard input
// and output. It offers neither files nor terminals, so that the agent uses its
// own.
type conversation struct {
	acp *ACP
	cwd string
	in  io.WriteCloser
	out io.ReadCloser

	asked int

	mu      sync.Mutex
	log     bytes.Buffer
	session string // empty before there is one
}

// message is a JSON-RPC message of any kind.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// incoming is a message with its payload not yet decoded.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

func newConversation(cmd *exec.Cmd, acp *ACP, cwd string) (*conversation, error) {
	cmd.Stdout = nil
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("open the standard input of %s: %w", cmd.Path, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open the standard output of %s: %w", cmd.Path, err)
	}
	return &conversation{acp: acp, cwd: cwd, in: in, out: out}, nil
}

// transcript is what the agent wrote.
func (c *conversation) transcript() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

// hold leads the whole conversation. At its end it closes the agent's standard
// input, which ends the agent, and reads what it still says.
func (c *conversation) hold(ctx context.Context) error {
	lines := bufio.NewReader(c.out)
	err := c.talk(ctx, lines)
	err = errors.Join(err, c.in.Close())
	c.mu.Lock()
	defer c.mu.Unlock()
	_, copyErr := io.Copy(&c.log, lines)
	return errors.Join(err, copyErr)
}

func (c *conversation) talk(ctx context.Context, lines *bufio.Reader) error {
	if _, err := c.call(ctx, lines, 0, "initialize", map[string]any{
		"protocolVersion": 1,
		"clientCapabilities": map[string]any{
			"fs": map[string]any{"readTextFile": false, "writeTextFile": false}, "terminal": false,
		},
	}); err != nil {
		return err
	}
	session := struct {
		ID string `json:"sessionId"`
	}{c.acp.Session}
	if session.ID != "" {
		if _, err := c.call(ctx, lines, 1, "session/load", map[string]any{
			"sessionId": session.ID, "cwd": c.cwd, "mcpServers": []any{},
		}); err != nil {
			return err
		}
	} else {
		res, err := c.call(ctx, lines, 1, "session/new", map[string]any{"cwd": c.cwd, "mcpServers": []any{}})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(res, &session); err != nil {
			return fmt.Errorf("decode the answer to session/new: %w", err)
		}
	}
	c.mu.Lock()
	c.session = session.ID
	c.mu.Unlock()
	for i, p := range c.acp.Prompts {
		if _, err := c.call(ctx, lines, 2+i, "session/prompt", map[string]any{
			"sessionId": session.ID, "prompt": []any{map[string]any{"type": "text", "text": p}},
		}); err != nil {
			return err
		}
	}
	return nil
}

// call sends a request and serves the agent's own requests until the answer is
// there.
func (c *conversation) call(ctx context.Context, lines *bufio.Reader, id int, method string, params any) (json.RawMessage, error) {
	rawID := json.RawMessage(fmt.Sprint(id))
	if err := c.send(message{ID: rawID, Method: method, Params: params}); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	for ctx.Err() == nil {
		line, err := lines.ReadBytes('\n')
		c.mu.Lock()
		c.log.Write(line)
		c.mu.Unlock()
		if err != nil {
			return nil, fmt.Errorf("%s: read the answer: %w", method, err)
		}
		var m incoming
		if json.Unmarshal(line, &m) != nil {
			continue // Log lines of the agent are not our business.
		}
		switch {
		case m.Method == "" && bytes.Equal(m.ID, rawID):
			if m.Error != nil {
				return nil, fmt.Errorf("%s: agent answers error %d: %s %s", method, m.Error.Code, m.Error.Message, m.Error.Data)
			}
			return m.Result, nil
		case m.Method != "" && len(m.ID) > 0:
			if err := c.send(c.serve(&m)); err != nil {
				return nil, fmt.Errorf("answer %s: %w", m.Method, err)
			}
		}
	}
	return nil, fmt.Errorf("%s: %w", method, ctx.Err())
}

// cancel asks the agent to stop the prompt, as an editor does for its user. It may be
// called while call runs.
func (c *conversation) cancel() error {
	c.mu.Lock()
	id := c.session
	c.mu.Unlock()
	return c.send(message{Method: "session/cancel", Params: map[string]any{"sessionId": id}})
}

// serve answers a request of the agent.
func (c *conversation) serve(m *incoming) message {
	reply := message{ID: m.ID}
	if m.Method != "session/request_permission" {
		reply.Error = &rpcError{Code: -32601, Message: "not offered: " + m.Method}
		return reply
	}
	var req struct {
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	// A request that does not decode has no option, which is answered below.
	_ = json.Unmarshal(m.Params, &req)
	kind := ""
	if n := len(c.acp.Permissions); n > 0 {
		kind = c.acp.Permissions[min(c.asked, n-1)]
	}
	if c.acp.Rejects != "" && bytes.Contains(m.Params, []byte(c.acp.Rejects)) {
		kind = "reject_once"
	}
	c.asked++
	for _, o := range req.Options {
		if o.Kind == kind {
			reply.Result = map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.ID}}
			return reply
		}
	}
	reply.Result = map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
	return reply
}

func (c *conversation) send(m message) error {
	m.Version = "2.0"
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	_, err = c.in.Write(append(data, '\n'))
	return err
}
