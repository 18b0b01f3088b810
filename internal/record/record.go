package record

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/logfile"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/spool"
)

const (
	// stdinDeadline is how long the agent may take to write the payload.
	stdinDeadline = 5 * time.Second
	// sweepEvery is how often a hook starts a delivery of all sessions: for runs
	// whose end was never reported and for destinations that were down.
	sweepEvery = time.Minute
)

// Agent describes the agent that starts the process.
type Agent struct {
	// Facts are the agent's names and program.
	Facts hook.Agent
	// ProjectVariable is the environment variable with the project's folder, for an
	// agent that may run hooks in another folder. If empty, there is none.
	ProjectVariable string
	// Peek finds the session and the kind of an event; it never fails. An event
	// of another agent is not stored.
	Peek func(payload []byte, event string) hook.Head
	// Guests are programs that run this agent's hooks and are recorded under their own names.
	Guests []Agent
	// Silence returns the answer to another agent that runs this agent's hook. If
	// nil, such an agent gets none.
	Silence func(agent string) []byte
	// StreamEnded returns the payload of the end of a session. If it is not nil, the
	// agent starts one process for all its events and writes each as a line of JSON,
	// and the payload counts for a session whose lines end in the middle of a run. Such
	// an agent expects no answer.
	StreamEnded func(session string) []byte
	// Reply encodes an answer. If nil, the agent expects none.
	Reply func(hook.Reply) []byte
	// Answers returns what answers a call in place of the neutral reply, before the
	// payload is read. If nil, the neutral reply is the only one, and the program leaves
	// an event alone for which hookspan itself has started it as a hook.
	Answers func(*Call) Answerer
}

// Answerer answers one call. Its methods are called by one goroutine.
type Answerer interface {
	// Write gets the whole of a payload that is stored cut, and nothing of any other. It
	// never fails.
	io.Writer
	// Answer returns the answer, nil for the neutral one, and the name of what gave it.
	// The event is stored by then, if it can be. A panic means the neutral reply.
	Answer() (answer []byte, by string)
	// Unasked returns the answer if why keeps everything else from being done: it opens
	// no file.
	Unasked(why error) []byte
	// Close is called at the end.
	Close()
}

// Process is one hook call, with everything that it touches.
type Process struct {
	Agent   Agent
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
	// RestoreSignals makes programs that are started afterwards begin with the
	// default for the signals that this one ignores. If nil, it ignores none.
	RestoreSignals func()
	// ShowLog is where the log lines of a call go as well; nil for nowhere.
	ShowLog io.Writer
	// Exit is the code that the program ends with: 0 unless an Answerer has set that of
	// the user's own hook, which the host then shows as failed.
	Exit int

	stateDir string // known once a call has begun; may be empty
}

// Call is one event that a process handles.
type Call struct {
	Process *Process
	Config  *config.Config
	Log     logfile.Log
	// Began is when the process began to handle it.
	Began time.Time
	// Head and Payload are set once standard input is read.
	Head    hook.Head
	Payload Payload
	// Err is why the payload ended early; nil if it did not.
	Err error
	// Spool holds the event, Kept is its payload there. Spool is nil if it is not stored.
	Spool *spool.Spool
	Kept  []byte

	// installedFor is the agent that a guest's hook was installed for.
	installedFor hook.Agent
	// nowhere reports that a guest's event names no folder, while some are private.
	nowhere   bool
	configErr error
	answered  bool
	logged    int64 // the size of the log when the call began, for ShowLog
}

// Run reads the event, stores it, answers it and starts a delivery. It never
// fails: errors are logged.
func (p *Process) Run() {
	c := &Call{Process: p}
	defer c.end()
	c.begin(ReadSettings)
	var asks Answerer
	if p.Agent.Answers != nil {
		asks = p.Agent.Answers(c)
		defer asks.Close()
	}
	c.read(asks)
	switch {
	case p.Agent.Answers == nil && c.Head.Session != "" && p.hookedSession() == c.Head.Session:
		// The agent that has the hook records it.
	case c.Head.Agent != "":
		c.leaveAlone()
	case p.off(c.Config) || c.private():
		c.answer(asks)
	default:
		c.record(asks)
	}
}

// record stores the event, answers it and starts a delivery.
func (c *Call) record(asks Answerer) {
	if c.configErr != nil {
		c.Log.Line("configuration: " + strings.ReplaceAll(c.configErr.Error(), "\n", "; "))
	}
	sp, err := c.store()
	if err != nil {
		c.Log.Line(fmt.Sprintf("%s: event not stored: %v", c.Process.Event, err))
	} else {
		defer func() { _ = sp.Close() }()
		c.Spool = sp
	}
	c.answer(asks)
	if c.Spool != nil {
		c.deliver(sp)
	}
}

// end answers a call that has no answer yet, also after a panic.
func (c *Call) end() {
	defer c.showLog()
	if e := recover(); e != nil {
		c.Log.Line(fmt.Sprintf("%s: panic: %v", c.Process.Event, e))
	}
	// If the encoder panics, there is no answer to give.
	defer func() { _ = recover() }()
	c.reply(nil)
}

// answer has the call answered.
func (c *Call) answer(asks Answerer) {
	var out []byte
	by := ""
	if asks != nil {
		out, by = asks.Answer()
	}
	if c.Config.HooksDebug {
		decision := "no objection"
		if bytes.Contains(out, []byte(`"cancel":true`)) {
			decision = "denied"
		}
		c.Log.Line(fmt.Sprintf("%s: session %s: stored %t, hooks by %s, %s, after %v",
			c.Name(), c.Head.Session, c.Spool != nil, cmp.Or(by, "none"), decision, c.Process.Now().Sub(c.Began).Round(time.Microsecond)))
	}
	c.reply(out)
}

// reply writes an answer, nil for the neutral one, unless there was one.
func (c *Call) reply(out []byte) {
	if c.answered || c.Process.Agent.Reply == nil {
		return
	}
	if out == nil {
		out = c.Process.Agent.Reply(hook.Reply{})
	}
	c.answered = true
	// The agent may have stopped listening, which is no error.
	_, _ = c.Process.Stdout.Write(append(out, '\n'))
}

// hookRun is the variable by which hookspan marks the user's hooks that it runs: a mark, the
// event and the session, with spaces between them.
const hookRun = "HOOKSPAN_HOOK_RUN"

// hookedSession is the session for one of whose events hookspan runs this program as a
// hook, for one that was installed for Claude Code and copied. An agent that a hook starts
// has another session.
func (p *Process) hookedSession() string {
	value, _ := Variable(p.Environ, hookRun)
	_, rest, _ := strings.Cut(value, " ")
	_, session, _ := strings.Cut(rest, " ")
	return session
}

// Record stores one event as Run does and starts a delivery if one is needed, for
// an event that did not arrive on a hook's standard input. It gives no answer. It
// reports false, without an error, if the user has switched recording off and for
// an event of another agent.
func (p *Process) Record() (stored bool, err error) {
	c := &Call{Process: p}
	c.begin(ReadSettings)
	if p.off(c.Config) {
		return false, nil
	}
	if c.Payload, err = readPayload(p.Stdin, int(c.Config.MaxEventBytes), io.Discard); err != nil {
		return false, fmt.Errorf("read event: %w", err)
	}
	c.peek()
	if c.Head.Agent != "" {
		c.leaveAlone()
		return false, nil
	}
	if c.private() {
		return false, nil
	}
	sp, err := c.store()
	if err != nil {
		return false, err
	}
	defer func() { _ = sp.Close() }()
	c.deliver(sp)
	return true, nil
}

// begin loads the configuration, which nothing else does in a hook's life, and opens
// the log. read reads the files of settings; if nil, none counts.
func (c *Call) begin(read func(path string) ([]byte, error)) {
	p := c.Process
	in := config.Input{Environ: p.Environ, Home: p.Home, GOOS: p.GOOS, ReadFile: read, Salt: spool.Salt}
	if read != nil {
		in.MachineFile, in.ReadMachine = p.MachineFile, ReadMachine
	}
	c.Config, c.configErr = config.Load(in)
	c.Log = logfile.Log{Path: c.Config.LogPath(), Who: p.Agent.Facts.Program, Now: p.Now}
	c.Began = p.Now()
	p.stateDir = c.Config.StateDir
	if p.ShowLog != nil {
		if info, err := os.Stat(c.Log.Path); err == nil {
			c.logged = info.Size()
		}
	}
}

// read reads standard input, and its whole into the writer if it is cut.
func (c *Call) read(whole io.Writer) {
	if whole == nil {
		whole = io.Discard
	}
	var err error
	if c.Payload, err = readPayload(c.Process.Stdin, int(c.Config.MaxEventBytes), whole); err != nil {
		c.Err = fmt.Errorf("standard input broke off after %d bytes: %w", len(c.Payload.Data), err)
		c.Log.Line(fmt.Sprintf("%s: %v", c.Process.Event, c.Err))
	}
	c.peek()
}

// peek finds the head of the payload. The call of a guest is handled as that program's.
func (c *Call) peek() {
	p := c.Process
	c.Head = p.Agent.Peek(c.Payload.Data, p.Event)
	if c.Head.Agent == "" {
		return
	}
	i := slices.IndexFunc(p.Agent.Guests, func(g Agent) bool { return g.Facts.Word == c.Head.Agent })
	if i < 0 {
		return
	}
	c.installedFor, p.Agent.Facts = p.Agent.Facts, p.Agent.Guests[i].Facts
	c.Head = p.Agent.Guests[i].Peek(c.Payload.Data, p.Event)
	c.Head.Agent = "" // of some events the rule names two hosts, but not of a hook of Copilot's
}

// off reports that events are not to be stored: switched off, paused, or
// switched off by the project.
func (p *Process) off(cfg *config.Config) bool {
	if _, err := os.Lstat(cfg.PausePath()); err == nil || cfg.Disabled || cfg.SDKDisabled || ProjectOff(p.Dir) {
		return true
	}
	if p.Agent.ProjectVariable == "" {
		return false
	}
	project, _ := Variable(p.Environ, p.Agent.ProjectVariable)
	return project != p.Dir && ProjectOff(project)
}

// private reports that the event is of a private folder, by any folder that is known of it. The
// hooks of a guest run in another folder than its project's: what that says counts, too, and where
// it is not known and some are private, the event is counted and not stored.
func (c *Call) private() bool {
	folders, guest := c.Config.PrivateFolders(), c.installedFor.Host != ""
	if len(folders) == 0 && !guest {
		return false
	}
	o, _ := rawjson.OpenRaw(c.Payload.Data)
	named := slices.DeleteFunc(append([]string{o.Text("cwd")}, c.Head.Dirs...), func(dir string) bool { return !filepath.IsAbs(dir) })
	c.nowhere = guest && len(named) == 0 && len(folders) > 0
	if c.nowhere {
		c.note(c.Process.Agent.Facts.Word)
		return true
	}
	if guest && slices.ContainsFunc(named, ProjectOff) {
		return true
	}
	project, _ := Variable(c.Process.Environ, c.Process.Agent.ProjectVariable)
	dirs := append(named, c.Process.Dir, project)
	slices.Sort(dirs)
	return slices.ContainsFunc(slices.Compact(dirs), func(dir string) bool { return PrivateBy(folders, dir) != "" })
}

// store appends the event to the spool. Without an error the caller closes the
// spool.
func (c *Call) store() (*spool.Spool, error) {
	cfg, p, in := c.Config, c.Process, c.Payload
	sp, err := spool.Open(cfg.SpoolDir(), spool.Options{Sync: cfg.SpoolSync == "always"})
	if err != nil {
		return nil, err
	}
	terms, rules := cfg.Terms()
	c.note(p.Agent.Facts.Word)
	if rules != "" {
		terms.Rules = config.UnreadRules
		if b, err := regular.Read(rules, regular.Options{Max: maxRules}); err == nil {
			terms.Rules, _ = sp.KeepRules(b)
			terms.Rules = cmp.Or(terms.Rules, config.UnreadRules)
		}
	}
	if cfg.Textless() {
		// A payload that is not JSON is nothing but text.
		in.Data = withoutTexts(in.Data)
		if !in.JSON {
			in.Data = nil
		}
	}
	c.Kept = in.Data
	err = sp.Append(&spool.Record{
		Host: p.Agent.Facts.Host, Session: c.Head.Session, Event: c.Name(), At: p.Now(),
		Cwd: p.Dir, TraceParent: cfg.Traceparent, Resource: p.resource(cfg), PPID: p.PPID,
		Settings: terms.String(), To: cfg.Meant(),
		Payload: in.Data, Raw: !in.JSON, Cut: in.Cut,
	})
	if errors.Is(err, spool.ErrNotSynced) {
		c.Log.Line(fmt.Sprintf("%s: event may not survive a power cut: %v", p.Event, err))
	} else if err != nil {
		return nil, errors.Join(err, sp.Close())
	}
	return sp, nil
}

// RunVariable is the environment variable with the id of a `hookspan run`.
const RunVariable = "HOOKSPAN_RUN"

// resource returns what the environment's CI names and the `hookspan run`, as a URL's query. The
// package net/url would cost every hook more than that.
func (p *Process) resource(cfg *config.Config) string {
	id, _ := Variable(p.Environ, RunVariable)
	out := map[string]string{hook.KeyRun: hook.RunID(id)}
	maps.Copy(out, cfg.CI())
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(out)) {
		value := out[key]
		if strings.HasSuffix(key, "url.full") || strings.Contains(value, "://") {
			value = withoutUser(value)
		}
		value = hook.PlainWord(value)
		if value != "" {
			pairs = append(pairs, key+"="+strings.NewReplacer("%", "%25", "&", "%26", "+", "%2B", ";", "%3B").Replace(value))
		}
	}
	return strings.Join(pairs, "&")
}

// withoutUser takes the user and the password off an address, also one as in
// user@host:owner/name. An address whose password has a slash is none, and returned empty.
func withoutUser(address string) string {
	scheme, rest, ok := strings.Cut(address, "//")
	if ok {
		scheme += "//"
	} else {
		scheme, rest = "", address
	}
	host, path, _ := strings.Cut(rest, "/")
	user := strings.LastIndexByte(host, '@') + 1
	name, port, _ := strings.Cut(host[user:], ":")
	if strings.Contains(path, "@") && (name == "" || strings.Trim(port, "0123456789") != "") {
		return ""
	}
	return scheme + rest[user:]
}

// Name is the event's name for the record: the one that the hook was started with,
// since a payload that cannot be read has none.
func (c *Call) Name() string { return cmp.Or(c.Process.Event, c.Head.Name) }

// deliver starts a delivery after the end of a run, and at least every
// sweepEvery.
func (c *Call) deliver(sp *spool.Spool) {
	var err error
	switch p := c.Process; {
	case c.Head.RunEnds && c.Head.Session != "":
		k := spool.SessionKey(p.Agent.Facts.Host, c.Head.Session)
		err = p.Spawn("flush", "--detached", "--session", k.Host+"/"+k.Name)
	case c.Head.RunEnds || sp.ClaimSweep(p.Now(), sweepEvery):
		err = p.Spawn("flush", "--detached")
	}
	if err != nil {
		c.Log.Line(fmt.Sprintf("%s: delivery not started, the event waits in the spool: %v", c.Process.Event, err))
	}
}

// Variable returns the value of an environment variable, empty if there is none, and the
// environment without it.
func Variable(environ []string, name string) (value string, rest []string) {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
			continue
		}
		rest = append(rest, kv)
	}
	return value, rest
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
