package hookproc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/logfile"
	"github.com/hookspan/hookspan/spool"
)

const (
	// stdinDeadline is how long the agent may take to write the payload.
	stdinDeadline = 5 * time.Second
	// sweepEvery is how often a hook starts a delivery of all sessions: for runs
	// whose end was never reported and for destinations that were down.
	sweepEvery = time.Minute
)

// Host describes the agent that starts the process.
type Host struct {
	// Name is the host's name in the spool.
	Name string
	// Program is the hook program's name, for its log lines and its help. If
	// empty, Name and "-hook".
	Program string
	// Word is the first argument with which the host starts a program that it shares
	// with another. If empty, the program is the host's own.
	Word string
	// ProjectVariable is the environment variable with the project's folder, for a
	// host that may run hooks in another folder. If empty, there is none.
	ProjectVariable string
	// Peek finds the session and the kind of an event; it never fails. An event
	// of another agent is not stored.
	Peek func(payload []byte, event string) hook.Head
	// Silence returns the answer to another agent that runs this host's hook. If
	// nil, such an agent gets none.
	Silence func(agent string) []byte
	// StreamEnded returns the payload of the end of a session. If it is not nil, the
	// host starts one process for all its events and writes each as a line of JSON,
	// and the payload counts for a session whose lines end in the middle of a run. Such
	// a host expects no answer and has no HooksFile.
	StreamEnded func(session string) []byte
	// Reply encodes an answer. If nil, the host expects none.
	Reply func(hook.Reply) []byte
	// HooksFile is the file with the user's Claude-format hooks, relative to a
	// project's folder and to the home folder. If empty, there are no such hooks.
	HooksFile string
	// HooksVariable is the environment variable with a folder that holds a HooksFile of the
	// user besides the home folder. If empty, there is none.
	HooksVariable string
	// HookRunner returns the program that runs the hooks of the files for an event: the
	// user's own, and those of projects, which count if the list of
	// trusted files has them. None of them need exist. It is empty if no hook can run and
	// nothing is left to do for them. If nil, and in any doubt, the program is hookspan.
	HookRunner func(raw hook.Raw, stateDir, trusted string, own, projects []string, now func() time.Time) string
}

func (h Host) program() string { return cmp.Or(h.Program, h.Name+"-hook") }

// Process is one hook call, with everything that it touches.
type Process struct {
	Host    Host
	Event   string    // the name the hook was started with; may be empty
	Stdin   io.Reader // if it breaks off, the payload is what was read before
	Stdout  io.Writer
	Environ []string
	Home    string
	GOOS    string
	// MachineFile is the machine-wide settings file. If empty, there is none.
	MachineFile string
	Dir         string // working directory
	PPID        int
	Now         func() time.Time
	// Spawn starts `hookspan args...` detached and does not wait.
	Spawn func(args ...string) error
	// RunHooks runs `program args...`, a program of hookspan's, with that standard
	// input, ends it with ctx, and returns what it prints.
	RunHooks func(ctx context.Context, stdin io.Reader, program string, args ...string) ([]byte, error)
	// RestoreSignals makes programs that are started afterwards begin with the
	// default for the signals that this one ignores. If nil, it ignores none.
	RestoreSignals func()

	began    time.Time // when Run began
	stateDir string    // known from Run on; may be empty
}

// Run reads the event, stores it, answers it and starts a delivery. It never
// fails: errors are logged.
func (p *Process) Run() {
	var out reply
	defer func() {
		// If the encoder panics, there is no answer to give.
		defer func() { _ = recover() }()
		p.answer(out)
	}()
	var log logfile.Log
	defer func() {
		if e := recover(); e != nil {
			log.Line(fmt.Sprintf("%s: panic: %v", p.Event, e))
		}
	}()

	cfg, cfgErr := p.configure(&log)
	p.began = p.Now()
	hooked := cfg.Hooks && (p.hooked() || p.hookedIn(p.Dir))
	var over *spill
	if script, _ := p.chained(); script != "" || hooked {
		over = &spill{dir: cfg.StateDir}
		defer over.close()
	}
	in := p.read(cfg.MaxEventBytes, over, log)
	head := p.Host.Peek(in.data, p.Event)
	if head.Agent != "" {
		p.leaveAlone(head, cfg, log)
		out.sent = true
		return
	}
	if p.Host.HooksFile == "" && head.Session != "" && p.hookedSession() == head.Session {
		return // the agent that has the hook records it
	}
	for _, dir := range head.Dirs {
		hooked = hooked || cfg.Hooks && dir != p.Dir && p.hookedIn(dir)
	}
	answer := func(stored bool) reply {
		runner := ""
		if hooked {
			runner = p.hookRunner(in, head, cfg, log)
		}
		wait := p.startHooks(runner, stored, in, head, over)
		own := p.chain(in, over, log)
		out := p.mergeReplies(own, wait(), head, cfg, log)
		if cfg.HooksDebug {
			decision := "no objection"
			if bytes.Contains(out.raw, []byte(`"cancel":true`)) {
				decision = "denied"
			}
			log.Line(fmt.Sprintf("%s: session %s: stored %t, hooks by %s, %s, after %v",
				p.name(head), head.Session, stored, cmp.Or(runner, "none"), decision, p.Now().Sub(p.began).Round(time.Microsecond)))
		}
		return out
	}
	if p.off(cfg) {
		out = answer(false)
		return
	}
	if cfgErr != nil {
		log.Line("configuration: " + strings.ReplaceAll(cfgErr.Error(), "\n", "; "))
	}
	sp, err := p.store(cfg, head, in, log)
	if err != nil {
		log.Line(fmt.Sprintf("%s: event not stored: %v", p.Event, err))
	} else {
		defer func() { _ = sp.Close() }()
	}
	out = answer(err == nil)
	p.answer(out)
	out = reply{sent: true}
	if err == nil {
		p.deliver(sp, head, log)
	}
}

// hookRun is the variable by which hookspan marks the user's hooks that it runs: a mark, the
// event and the session, with spaces between them.
const hookRun = "HOOKSPAN_HOOK_RUN"

// hookedSession is the session for one of whose events hookspan runs this program as a
// hook, for one that was installed for Claude Code and copied. An agent that a hook starts
// has another session.
func (p *Process) hookedSession() string {
	value, _ := takeVariable(p.Environ, hookRun)
	_, rest, _ := strings.Cut(value, " ")
	_, session, _ := strings.Cut(rest, " ")
	return session
}

// Record stores one event as Run does and starts a delivery if one is needed, for
// an event that did not arrive on a hook's standard input. It gives no answer. It
// reports false, without an error, if the user has switched recording off and for
// an event of another agent.
func (p *Process) Record() (stored bool, err error) {
	var log logfile.Log
	cfg, _ := p.configure(&log)
	if p.off(cfg) {
		return false, nil
	}
	in, err := readPayload(p.Stdin, int(cfg.MaxEventBytes), (*spill)(nil))
	if err != nil {
		return false, fmt.Errorf("read event: %w", err)
	}
	head := p.Host.Peek(in.data, p.Event)
	if head.Agent != "" {
		p.leaveAlone(head, cfg, log)
		return false, nil
	}
	sp, err := p.store(cfg, head, in, log)
	if err != nil {
		return false, err
	}
	defer func() { _ = sp.Close() }()
	p.deliver(sp, head, log)
	return true, nil
}

// settings is what the settings are read from.
func (p *Process) settings() config.Input {
	return config.Input{
		Environ: p.Environ, Home: p.Home, GOOS: p.GOOS, ReadFile: ReadSettings, MachineFile: p.MachineFile, ReadMachine: ReadMachine,
	}
}

// configure reads the settings and opens the log.
func (p *Process) configure(log *logfile.Log) (*config.Config, error) {
	cfg, err := config.Load(p.settings())
	*log = logfile.Log{Path: cfg.LogPath(), Who: p.Host.program(), Now: p.Now}
	p.stateDir = cfg.StateDir
	return cfg, err
}

func (p *Process) read(limit int64, over *spill, log logfile.Log) payload {
	in, err := readPayload(p.Stdin, int(limit), over)
	if err != nil {
		in.err = fmt.Errorf("standard input broke off after %d bytes: %w", len(in.data), err)
		log.Line(fmt.Sprintf("%s: %v", p.Event, in.err))
	}
	return in
}

// off reports that events are not to be stored: switched off, paused, or
// switched off by the project.
func (p *Process) off(cfg *config.Config) bool {
	if cfg.Disabled || cfg.SDKDisabled || exists(cfg.PausePath()) || ProjectOff(p.Dir) {
		return true
	}
	if p.Host.ProjectVariable == "" {
		return false
	}
	project, _ := takeVariable(p.Environ, p.Host.ProjectVariable)
	return project != p.Dir && ProjectOff(project)
}

// ProjectOff reports that the project in dir switches recording off for itself.
func ProjectOff(dir string) bool { return config.ProjectDisabled(readProject, dir) }

// store appends the event to the spool. Without an error the caller closes the
// spool.
func (p *Process) store(cfg *config.Config, head hook.Head, in payload, log logfile.Log) (*spool.Spool, error) {
	sp, err := spool.Open(cfg.SpoolDir(), spool.Options{Sync: cfg.SpoolSync == "always"})
	if err != nil {
		return nil, err
	}
	terms, rules := cfg.Terms()
	if rules != "" {
		terms.Rules = config.UnreadRules
		if b, err := readRules(rules); err == nil {
			terms.Rules, _ = sp.KeepRules(b)
			terms.Rules = cmp.Or(terms.Rules, config.UnreadRules)
		}
	}
	if cfg.Textless() {
		// A payload that is not JSON is nothing but text.
		if in.data = withoutTexts(in.data); !in.json {
			in.data = nil
		}
	}
	err = sp.Append(&spool.Record{
		Host: p.Host.Name, Session: head.Session, Event: p.name(head), At: p.Now(),
		Cwd: p.Dir, TraceParent: cfg.Traceparent, PPID: p.PPID,
		Settings: terms.String(), To: cfg.Meant(),
		Payload: in.data, Raw: !in.json, Cut: in.cut,
	})
	if errors.Is(err, spool.ErrNotSynced) {
		log.Line(fmt.Sprintf("%s: event may not survive a power cut: %v", p.Event, err))
	} else if err != nil {
		return nil, errors.Join(err, sp.Close())
	}
	return sp, nil
}

// name is the event's name for the record: the one that the hook was started with,
// since a payload that cannot be read has none.
func (p *Process) name(head hook.Head) string { return cmp.Or(p.Event, head.Name) }

// deliver starts a delivery after the end of a run, and at least every
// sweepEvery.
func (p *Process) deliver(sp *spool.Spool, head hook.Head, log logfile.Log) {
	var err error
	switch {
	case head.RunEnds && head.Session != "":
		k := spool.SessionKey(p.Host.Name, head.Session)
		err = p.Spawn("flush", "--detached", "--session", k.Host+"/"+k.Name)
	case head.RunEnds || sp.ClaimSweep(p.Now(), sweepEvery):
		err = p.Spawn("flush", "--detached")
	}
	if err != nil {
		log.Line(fmt.Sprintf("%s: delivery not started, the event waits in the spool: %v", p.Event, err))
	}
}

// Sibling is the path of another of hookspan's programs: the one beside this
// program's file.
func Sibling(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program's file: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return filepath.Join(filepath.Dir(self), name), nil
}
