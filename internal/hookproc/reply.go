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
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/regular"
)

// chainVariable is the environment variable in which a shim names the user's hook
// script that it has replaced.
const chainVariable = "HOOKSPAN_CHAIN"

// reply is the answer to the agent; the zero value is the neutral one.
type reply struct {
	// raw is the answer of the user's hooks, in a form that the host accepts.
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
	// The agent may have stopped listening, which is no error.
	_, _ = p.Stdout.Write(append(out, '\n'))
}

// chained returns the user's hook script that the shim names, or nothing, and the
// environment to run it with.
func (p *Process) chained() (script string, environ []string) {
	if p.Host.Reply == nil {
		return "", nil
	}
	return takeVariable(p.Environ, chainVariable)
}

// chain runs the user's hook script, if the shim names one, and returns its
// answer. The script gets the same payload, and the whole of one that is stored
// cut. The event is stored already, whatever the script does.
func (p *Process) chain(in payload, over *spill, log logfile.Log) reply {
	script, environ := p.chained()
	if script == "" {
		return reply{}
	}
	if p.RestoreSignals != nil {
		p.RestoreSignals()
	}
	run := func(argv ...string) ([]byte, error) {
		cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // The user's own hook; the host limits its time.
		cmd.Env, cmd.Dir = environ, p.Dir
		stdin, err := over.stdin(in.data)
		if err != nil {
			log.Line(fmt.Sprintf("%s: chained hook %s: %v", p.Event, script, err))
		}
		cmd.Stdin = stdin
		// The script's messages to the user go where they went without hookspan.
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
	if err == nil {
		out, err = merge(p.Host.Reply(hook.Reply{}), out)
	}
	if err != nil {
		log.Line(fmt.Sprintf("%s: chained hook %s: %v", p.Event, script, err))
		return reply{}
	}
	return reply{raw: out}
}

// interpreter returns the command for a script that the system does not start,
// because it is not executable or has no "#!" line: the program of that line, or
// bash, as in Cline's SDK.
func interpreter(script string) []string {
	if f, _, err := regular.Open(script, regular.Options{}); err == nil {
		defer func() { _ = f.Close() }()
		line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
		rest, ok := bytes.CutPrefix(line, []byte("#!"))
		if words := strings.Fields(string(rest)); ok && len(words) > 0 {
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

// merge lays the script's answer over the neutral one. A member that is null, as
// scripts print it, or not of the right type keeps the neutral value: Cline drops
// a whole answer that holds one. If nothing is printed there is no answer.
func merge(neutral, script []byte) ([]byte, error) {
	var out, answer map[string]any
	if err := json.Unmarshal(neutral, &out); err != nil {
		return nil, err
	}
	obj := lastObject(script)
	if obj == nil {
		if len(bytes.TrimSpace(script)) == 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("its output holds no JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(obj))
	dec.UseNumber()
	if err := dec.Decode(&answer); err != nil {
		return nil, err
	}
	for k, v := range answer {
		if def, known := out[k]; v == nil || v == "" || known && reflect.TypeOf(v) != reflect.TypeOf(def) {
			continue
		}
		out[k] = v
	}
	return encode(out)
}

// join makes one answer of two, as Cline does with those of two hook files: one
// that cancels is enough, and both texts are kept. Any other member is taken from
// the second, if it is there.
func join(first, second []byte) ([]byte, error) {
	var out, b map[string]any
	if err := errors.Join(json.Unmarshal(first, &out), json.Unmarshal(second, &b)); err != nil {
		return nil, err
	}
	for k, v := range b {
		switch k {
		case "cancel":
			v = out[k] == true || v == true
		case "contextModification":
			v = texts("\n\n", out[k], v)
		case "errorMessage":
			v = texts("\n", out[k], v)
		}
		out[k] = v
	}
	return encode(out)
}

// texts joins the texts that are not blank.
func texts(sep string, values ...any) string {
	var parts []string
	for _, v := range values {
		if s, _ := v.(string); strings.TrimSpace(s) != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, sep)
}

// encode encodes an answer for Cline. A blank context keeps the row in the chat
// from staying at "Running"; but Cline's SDK reads the reason of a cancellation
// from the error message only if there is no context.
func encode(out map[string]any) ([]byte, error) {
	if context, _ := out["contextModification"].(string); strings.TrimSpace(context) == "" {
		delete(out, "contextModification")
		if out["cancel"] != true {
			out["contextModification"] = " "
		}
	}
	return rawjson.Marshal(out)
}

// controlPrefix begins the line with the answer to Cline's SDK.
const controlPrefix = "HOOK_CONTROL\t"

// lastObject finds the answer in a script's output as Cline does: the last line
// with the prefix, the whole output, or the last JSON object that begins a line.
// It is nil if there is none.
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
		if obj := firstObject(bytes.TrimSpace(out[i:])); obj != nil {
			return obj
		}
		end = i - 1
	}
	return nil
}

// firstObject returns the JSON object that text begins with, unless the text after
// it shows that it is a part of a larger value.
func firstObject(text []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(text))
	var obj json.RawMessage
	if !bytes.HasPrefix(text, []byte("{")) || dec.Decode(&obj) != nil {
		return nil
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 && bytes.IndexByte([]byte(",]}"), rest[0]) >= 0 {
		return nil
	}
	return obj
}
