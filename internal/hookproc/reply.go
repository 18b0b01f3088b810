package hookproc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/logfile"
	"github.com/hookspan/hookspan/internal/regular"
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

// chained tells whether the shim names a hook of the user's own.
func (p *Process) chained() bool {
	script, _ := takeVariable(p.Environ, chainVariable)
	return script != "" && p.Host.Reply != nil
}

// chain runs the user's own hook, if the shim names one, with the same payload,
// whole even where the event's is cut, and gives its answer. The event is
// stored by then, whatever the script does.
func (p *Process) chain(in payload, over *spill, log logfile.Log) reply {
	if !p.chained() {
		return reply{}
	}
	script, env := takeVariable(p.Environ, chainVariable)
	if p.RestoreSignals != nil {
		p.RestoreSignals()
	}
	run := func(argv ...string) ([]byte, error) {
		cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // The user's own hook; the host limits its time.
		cmd.Env, cmd.Dir = env, p.Dir
		stdin, err := over.stdin(in.data)
		if err != nil {
			log.Line(fmt.Sprintf("%s: chained hook %s: %v", p.Event, script, err))
		}
		cmd.Stdin = stdin
		// What the script says to the user goes where it went before.
		cmd.Stderr = os.Stderr
		return cmd.Output()
	}
	argv := []string{script}
	if p.GOOS == "windows" && strings.EqualFold(filepath.Ext(script), ".ps1") {
		argv = []string{"powershell.exe", "-NoProfile", "-ExecutionPolicy", "Bypass", "-File", script}
	}
	out, err := run(argv...)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) {
		out, err = run(append(interpreter(script), script)...)
	}
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

// interpreter is what runs a script that the system does not start by itself,
// for want of the executable bit or of a first line that says how: the program
// of that line, else bash, as Cline's SDK does it.
func interpreter(script string) []string {
	f, _, err := regular.Open(script, regular.Options{})
	if err != nil {
		return []string{"bash"}
	}
	defer func() { _ = f.Close() }()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	if rest, ok := bytes.CutPrefix(line, []byte("#!")); ok {
		if words := strings.Fields(string(rest)); len(words) > 0 {
			return words
		}
	}
	return []string{"bash"}
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
// scripts print it, or not of the type it should have, keeps the neutral value:
// Cline drops a whole answer that holds one. Nothing printed is no answer.
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
	dec := json.NewDecoder(bytes.NewReader(obj))
	dec.UseNumber()
	if err := dec.Decode(&theirs); err != nil {
		return nil, err
	}
	for k, v := range theirs {
		if ours, known := out[k]; v == nil || v == "" || known && reflect.TypeOf(v) != reflect.TypeOf(ours) {
			continue
		}
		out[k] = v
	}
	// Where a context is given, however blank, Cline's SDK does not look for
	// the reason of a cancellation in the error message.
	if context, _ := out["contextModification"].(string); out["cancel"] == true && strings.TrimSpace(context) == "" {
		delete(out, "contextModification")
	}
	return json.Marshal(out)
}

// controlPrefix marks the line with the answer for Cline's SDK.
const controlPrefix = "HOOK_CONTROL\t"

// lastObject finds the answer in a script's output as Cline does: the last line
// marked as the answer, the whole output, or the last JSON object that begins a
// line. It is nil where there is none.
func lastObject(out []byte) []byte {
	var marked []byte
	for line := range bytes.Lines(out) {
		if obj, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte(controlPrefix)); ok && json.Valid(obj) {
			marked = obj
		}
	}
	if marked != nil {
		return marked
	}
	for end := len(out); end > 0; {
		i := bytes.LastIndexByte(out[:end], '\n') + 1
		rest := bytes.TrimSpace(out[i:])
		if obj := firstObject(rest); obj != nil {
			return obj
		}
		end = i - 1
	}
	return nil
}

// firstObject is the JSON object that text begins with, unless what follows
// shows that it is a part of a larger one.
func firstObject(text []byte) []byte {
	if len(text) == 0 || text[0] != '{' {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	var obj json.RawMessage
	if dec.Decode(&obj) != nil {
		return nil
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 && bytes.IndexByte([]byte(",]}"), rest[0]) >= 0 {
		return nil
	}
	return obj
}
