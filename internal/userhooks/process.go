package userhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/hooksession"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
	"github.com/hookspan/hookspan/spool"
)

// MaxPayload is the largest payload that hooks are run for, in bytes: it is held in
// memory several times over.
const MaxPayload = 32 << 20

// Process is what hooks get from the process that runs them.
type Process struct {
	Config *config.Config
	// Spool holds the events. If nil, it is opened when it is needed.
	Spool   *spool.Spool
	Environ []string
	// Home is the home folder.
	Home, GOOS string
	Now        func() time.Time
	// Clean removes the secrets from a text of the user's hooks: their commands, their
	// addresses, and what they print.
	Clean func(string) string
	// Log writes a line without secrets to the log.
	Log func(line string)
	Parts
}

// Parts are what programs that run hooks link in a different measure. The zero value runs
// plain hooks.
type Parts struct {
	// Conditions, Faults and Spellings are those of Setup.
	Conditions hookrun.Conditions
	Faults     func(*hookfile.File, hookfile.Place) []hookfile.Problem
	Spellings  func(path string) []string
	// Find finds an event's span where that is uncertain. If nil, such an event is not
	// answered.
	Find Finder
	// Post sends the requests of http hooks. If nil, no event is answered that has any.
	Post hookrun.Post
	// Host reads the hosts of addresses, as in plain.Scope. It is set where Post is.
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
		Path: p.variable("PATH"), Clean: p.Clean, Conditions: p.Conditions, Faults: p.Faults, Host: p.Host, Spellings: p.Spellings,
		Trust: hookfile.TrustIn(p.Config.ConfigDir),
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
			Answer: translate.Options{SoftDeny: p.Config.HooksSoftDeny, AskDenies: p.Config.HooksAsk == "deny"},
		},
	}
	if p.Config.HooksDebug {
		h.Trace = func(format string, args ...any) { p.log(fmt.Sprintf(format, args...)) }
	}
	return h
}

func (p *Process) log(text string) { p.Log("hooks: " + p.Clean(text)) }

// Request is an event that the hook process hands over.
type Request struct {
	// Host is the agent.
	Host string
	// Event is the name that the hook was started with.
	Event string
	// Began is when the agent started the hook, in ms since 1970; if 0, now.
	Began int64
	// About is the stored event's hash; if empty, no record is stored.
	About string
	// Report reports that standard input has, in place of the event, the Report of hooks
	// that the hook process ran itself, as JSON. It links nothing that finds secrets.
	Report bool
}

// The reasons for which nothing was done.
var (
	// ErrOther is that an event's hooks take more than this program has.
	ErrOther = errors.New("this program sends no requests of http hooks and reads no addresses")
	// ErrSpelling is that a call may read a file of another spelling, and there is nothing that finds it.
	ErrSpelling = errors.New("the call names a file that does not exist")
	// ErrSpan is that the event's span is uncertain, and there is no Finder.
	ErrSpan = errors.New("the event's span takes the whole mapping")
)

// Answer runs the hooks for the event on standard input and writes the answer for Cline.
// If it fails, nothing is written.
func (p *Process) Answer(ctx context.Context, r Request, stdin io.Reader, stdout io.Writer) error {
	if r.Host != hook.HostCline {
		return fmt.Errorf("--host %q: want %s", r.Host, hook.HostCline)
	}
	payload, err := io.ReadAll(io.LimitReader(stdin, MaxPayload+1))
	if err == nil && len(payload) > MaxPayload {
		_, _ = io.Copy(io.Discard, stdin)
		err = fmt.Errorf("the payload has more than %d bytes", MaxPayload)
	}
	if err != nil {
		return fmt.Errorf("%s: read the payload: %w", r.Event, err)
	}
	if r.Report {
		var report Report
		if err := json.Unmarshal(payload, &report); err != nil {
			return fmt.Errorf("%s: report of hooks: %w", r.Event, err)
		}
		p.write(report)
		return nil
	}
	dir, _ := filepath.Abs(".")
	answer, report, err := p.Ask(ctx, r, payload, dir)
	p.write(report)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Event, err)
	}
	_, err = fmt.Fprintf(stdout, "%s\n", answer)
	return err
}

// Ask runs the hooks for an event that was reported in a folder and returns the answer for
// Cline, and what went wrong, which may hold secrets.
func (p *Process) Ask(ctx context.Context, r Request, payload []byte, dir string) (answer []byte, report Report, err error) {
	raw := hook.Raw{Payload: payload, Event: r.Event, StoredAt: p.Now(), Cwd: dir, TraceParent: p.Config.Traceparent}
	event := cline.Read(raw)
	h := p.Hooks()
	if r.Began > 0 {
		h.Began = time.UnixMilli(r.Began)
	}
	stored := &storedEvent{config: p.Config, spool: p.Spool}
	log := func(what string, err error) {
		report.Lines = append(report.Lines, fmt.Sprintf("%s: %s: %v", r.Event, what, err))
	}
	notFound := stored.find(r.About)
	if p.Spool == nil && stored.spool != nil {
		defer func() { _ = stored.spool.Close() }()
	}
	if r.About != "" && notFound == nil {
		h.Parent = func(session string) string {
			parent, err := stored.parent(p.Find, h.Dir, session)
			if err != nil {
				log("no TRACEPARENT", err)
			}
			return parent
		}
		if p.Find == nil {
			// Before anything is done, since another program may have to find it.
			parent, err := stored.parent(nil, h.Dir, event.Head().Session)
			if errors.Is(err, ErrSpan) {
				return nil, Report{}, err
			} else if err != nil {
				log("no TRACEPARENT", err)
			}
			h.Parent = func(string) string { return parent }
		}
	}
	out := h.run(ctx, raw, event)
	switch {
	case out.respelled:
		return nil, Report{}, ErrSpelling
	case out.Unanswered:
		return nil, Report{}, ErrOther
	}
	report.Problems = out.Problems
	if r.About != "" {
		err := notFound
		if err == nil {
			err = stored.record(raw, &out, p.Now())
		}
		if err != nil { // the verdict counts all the same
			log("what they did is not in the trace", err)
		}
	}
	return cline.EncodeReply(out.Answer.Reply), report, nil
}

// Report is what an event's hooks leave for the user. It may hold secrets.
type Report struct {
	// Problems go into the file of problems, and into the log once an hour.
	Problems []string
	// Lines go into the log.
	Lines []string
}

// Empty reports that there is nothing to write.
func (r *Report) Empty() bool { return len(r.Problems)+len(r.Lines) == 0 }

// write removes the secrets from a report and writes it.
func (p *Process) write(r Report) {
	for i, text := range r.Problems {
		r.Problems[i] = p.Clean(text)
	}
	for _, text := range slices.Concat(p.Problems().Note(p.Now(), r.Problems...), r.Lines) {
		p.log(text)
	}
}

// Sweep removes what is remembered for sessions long past.
func (p *Process) Sweep() error {
	const kept = 7 * 24 * time.Hour
	return hooksession.Sweep(p.Dir(), p.Now().Add(-kept))
}
