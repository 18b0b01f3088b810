package hookproc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/logfile"
)

// chainVariable names the user's own hook script that a shim stands in for.
const chainVariable = "HOOKSPAN_CHAIN"

// reply is the answer to the agent; the zero value is the neutral one.
type reply struct {
	// raw is the user's own answer, already in a form the host accepts.
	raw  []byte
	sent bool
}

func (p *Process) answer(r reply) {
	if r.sent || p.Host.Reply == nil {
		return
	}
	out := r.raw
	if out == nil {
		out = p.Host.Reply(hook.Reply{})
	}
	// The agent may have stopped listening; that is its own business.
	_, _ = p.Stdout.Write(append(out, '\n'))
}

// chain runs the user's own hook, if the shim names one, with the same payload,
// and gives its answer. The event is stored by then, whatever the script does.
func (p *Process) chain(in payload, log logfile.Log) reply {
	script, env := takeVariable(p.Environ, chainVariable)
	if script == "" || p.Host.Reply == nil {
		return reply{}
	}
	cmd := exec.Command(script) //nolint:gosec,noctx // The user's own hook; the host limits its time.
	cmd.Env, cmd.Dir = env, p.Dir
	cmd.Stdin = bytes.NewReader(in.data)
	// What the script says to the user goes where it went before.
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		log.Line(fmt.Sprintf("%s: chained hook %s: %v", p.Event, script, err))
		return reply{}
	}
	merged, err := merge(p.Host.Reply(hook.Reply{}), out)
	if err != nil {
		log.Line(fmt.Sprintf("%s: chained hook %s: %v", p.Event, script, err))
		return reply{}
	}
	return reply{raw: merged}
}

func takeVariable(environ []string, name string) (value string, rest []string) {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
			continue
		}
		rest = append(rest, kv)
	}
	return value, rest
}

// merge lays the user's answer over our neutral one. A member that is null, as
// scripts print it, keeps the neutral value: Cline drops a whole answer that
// holds one.
func merge(neutral, user []byte) ([]byte, error) {
	var out, theirs map[string]any
	if err := json.Unmarshal(neutral, &out); err != nil {
		return nil, err
	}
	obj := lastObject(user)
	if obj == nil {
		if len(bytes.TrimSpace(user)) == 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("its output holds no JSON object")
	}
	if err := json.Unmarshal(obj, &theirs); err != nil {
		return nil, err
	}
	for k, v := range theirs {
		if v != nil && v != "" {
			out[k] = v
		}
	}
	return json.Marshal(out)
}

// lastObject finds the answer in a script's output as Cline does: the whole of
// it, else the last JSON object that begins a line.
func lastObject(out []byte) []byte {
	whole := bytes.TrimSpace(out)
	if len(whole) > 0 && whole[0] == '{' && json.Valid(whole) {
		return whole
	}
	for end := len(out); end > 0; {
		i := bytes.LastIndexByte(out[:end], '\n') + 1
		rest := bytes.TrimSpace(out[i:])
		if len(rest) > 0 && rest[0] == '{' {
			var obj json.RawMessage
			if json.NewDecoder(bytes.NewReader(rest)).Decode(&obj) == nil {
				return obj
			}
		}
		end = i - 1
	}
	return nil
}
