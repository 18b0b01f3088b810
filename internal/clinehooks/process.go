package clinehooks

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/clinehooks/hookrun"
	"github.com/hookspan/hookspan/internal/clinehooks/hooksession"
)

// MaxPayload is the largest payload that hooks are run for, in bytes: it is held in
// memory several times over.
const MaxPayload = 32 << 20

// Process is what hooks get from the process that runs them.
type Process struct {
	Config  *config.Config
	Environ []string
	// Home is the home folder.
	Home, GOOS string
	Now        func() time.Time
	// Clean removes the secrets from a text of the user's hooks: their commands, their
	// addresses, and what they print.
	Clean func(string) string
	// Log writes a line without secrets to the log.
	Log func(line string)
	// Post sends the requests of http hooks. If nil, Answer fails where there are any.
	Post hookrun.Post
	// Host reads the hosts of addresses, as in hookmatch.Scope. It is set where Post is.
	Host func(address string) (string, error)
}

// Dir is the folder with what is remembered between runs of hooks.
func (p *Process) Dir() string { return hooksession.Dir(p.Config.StateDir) }

// Problems lists the recent problems of the user's hooks.
func (p *Process) Problems() Problems {
	return Problems{Path: filepath.Join(p.Dir(), "problems.jsonl")}
}

// Setup is where the user's hooks are configured.
func (p *Process) Setup() *Setup {
	return &Setup{
		Home: p.Home, GOOS: p.GOOS, ClineDir: p.variable("CLINE_DIR"), ClaudeDir: p.variable("CLAUDE_CONFIG_DIR"),
		Path: p.variable("PATH"), Clean: p.Clean, Host: p.Host,
		Trust: hookfile.Trust{Path: filepath.Join(p.Config.ConfigDir, "trusted-hooks.json")},
	}
}

func (p *Process) variable(name string) string {
	for _, kv := range p.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// Hooks runs the user's hooks as the settings say.
func (p *Process) Hooks() *Hooks {
	h := &Hooks{
		Setup: *p.Setup(), Dir: p.Dir(), Environ: p.Environ, Now: p.Now, Post: p.Post,
		Settings: Settings{
			OnError: hookrun.OnError(p.Config.HooksOnError), StrictExit: p.Config.HooksStrictExit,
			SoftDeny: p.Config.HooksSoftDeny, AskDenies: p.Config.HooksAsk == "deny",
		},
	}
	if p.Config.HooksDebug {
		h.Trace = func(format string, args ...any) { p.log(fmt.Sprintf(format, args...)) }
	}
	return h
}

func (p *Process) log(text string) { p.Log("hooks: " + p.Clean(text)) }

// Request is an event that the hook process hands over, with its payload on standard
// input. A program takes it as flags.
type Request struct {
	// Host is the agent.
	Host string
	// Event is the name that the hook was started with.
	Event string
	// Began is when the agent started the hook, in ms since 1970; if 0, now.
	Began int64
	// About is the stored event's hash; if empty, no record is stored.
	About string
}

// Flags are the request's flags.
func (r *Request) Flags() *flag.FlagSet {
	f := flag.NewFlagSet("run-hooks", flag.ContinueOnError)
	f.StringVar(&r.Host, "host", cline.Host, "the agent")
	f.StringVar(&r.Event, "event", "", "the name the hook was started with")
	f.Int64Var(&r.Began, "began", 0, "when the agent started the hook, in ms since 1970; without it, now")
	f.StringVar(&r.About, "about", "", "the stored event's hash; without it no record is stored")
	return f
}

// Answer runs the hooks for one event and writes the answer for Cline. If it fails,
// nothing is written.
func (p *Process) Answer(ctx context.Context, r Request, stdin io.Reader, stdout io.Writer) error {
	if r.Host != cline.Host {
		return fmt.Errorf("--host %q: want %s", r.Host, cline.Host)
	}
	payload, err := io.ReadAll(io.LimitReader(stdin, MaxPayload+1))
	if err == nil && len(payload) > MaxPayload {
		_, _ = io.Copy(io.Discard, stdin)
		err = fmt.Errorf("the payload has more than %d bytes", MaxPayload)
	}
	if err != nil {
		return fmt.Errorf("%s: read the payload: %w", r.Event, err)
	}
	dir, _ := filepath.Abs(".")
	raw := hook.Raw{Payload: payload, Event: r.Event, StoredAt: p.Now(), Cwd: dir, TraceParent: p.Config.Traceparent}
	h := p.Hooks()
	if r.Began > 0 {
		h.Began = time.UnixMilli(r.Began)
	}
	stored := &StoredEvent{
		SpoolDir: p.Config.SpoolDir(), Sync: p.Config.SpoolSync == "always",
		Settings: p.Config.Capture + "/" + p.Config.Fingerprint(), IdleTimeout: p.Config.IdleTimeout,
	}
	notFound := stored.Find(r.About)
	if r.About != "" && notFound == nil {
		h.Parent = func(session string) string {
			parent, err := stored.Parent(h.Dir, session)
			if err != nil {
				p.log(fmt.Sprintf("%s: no TRACEPARENT: %v", r.Event, err))
			}
			return parent
		}
	}
	out := h.Run(ctx, raw)
	if out.Unanswered {
		return fmt.Errorf("%s: this program sends no requests of http hooks and reads no addresses", r.Event)
	}
	for i, text := range out.Problems {
		out.Problems[i] = p.Clean(text)
	}
	for _, text := range p.Problems().Note(p.Now(), out.Problems...) {
		p.log(text)
	}
	if r.About != "" {
		err := notFound
		if err == nil {
			err = stored.Record(raw, &out, p.Now())
		}
		if err != nil { // the verdict counts all the same
			p.log(fmt.Sprintf("%s: what they did is not in the trace: %v", r.Event, err))
		}
	}
	_, err = fmt.Fprintf(stdout, "%s\n", cline.EncodeReply(out.Answer.Reply))
	return err
}

// Sweep removes what is remembered for sessions long past.
func (p *Process) Sweep() error {
	const kept = 7 * 24 * time.Hour
	return hooksession.Sweep(p.Dir(), p.Now().Add(-kept))
}
