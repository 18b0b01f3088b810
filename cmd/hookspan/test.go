package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
)

// trial is what one destination answered to the test trace.
type trial struct {
	Destination string  `json:"destination"`
	Target      string  `json:"target"`
	OK          bool    `json:"ok"`
	Answer      string  `json:"answer"`
	Seconds     float64 `json:"seconds"`
}

func (a *app) testCmd() *cobra.Command {
	var verbose, asJSON bool
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Send a test trace to each destination and show what it answers",
		Long: `Send a small test trace to each destination, once, and show what it answers. It
bears the agent's name "hookspan"; from the local store it is removed again. With
-v the payload is printed first, exactly as it goes out; no secret is in it. The
exit code is 1 when a destination did not take it, or a setting is wrong.`,
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.test(cmd.Context(), verbose, asJSON) },
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print the payloads")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) test(ctx context.Context, verbose, asJSON bool) error {
	a.configProblems()
	p, err := a.pipeline(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	run, id := a.testTrace(p)
	spans := otlp.Count(run)
	if len(p.Destinations) == 0 {
		return noDestination()
	}
	if !asJSON {
		a.printf("test trace %s, %s\n", id, termtext.Plural(spans, "span"))
	}
	trials := []trial{}
	// A destination that a wrong setting keeps from being set up is not tried.
	failed := a.cfgErr != nil
	for _, d := range p.Destinations {
		if verbose {
			if err := a.printPayload(d.Name, run, asJSON); err != nil {
				return err
			}
		}
		t := a.try(ctx, p, d, run)
		if t.OK && d.Name == config.ExporterStore {
			t.readBack(ctx, p.store, id, spans)
		}
		trials = append(trials, t)
		failed = failed || !t.OK
		if !asJSON {
			mark := "ok"
			if !t.OK {
				mark = "FAILED"
			}
			a.printf("%-9s %-6s %s: %s (%.0f ms)\n", t.Destination, mark, t.Target, termtext.Value(t.Answer), t.Seconds*1000)
		}
	}
	if asJSON {
		if err := a.printJSON(trials); err != nil {
			return err
		}
	}
	if failed {
		if !asJSON {
			a.hint("hookspan config shows the settings in force and where each came from")
		}
		return exitError(1)
	}
	return nil
}

func noDestination() error {
	return hinted{errors.New("no destination is set up"), "hookspan config shows the settings"}
}

func (a *app) try(ctx context.Context, p *pipeline, d deliver.Destination, run []*tracepb.ResourceSpans) trial {
	t := trial{Destination: d.Name, Target: a.target(d.Name)}
	start := a.now()
	within, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	answer, err := a.sendTest(within, d.Client, run)
	t.Seconds = a.now().Sub(start).Seconds()
	// What the client says around an error of ours names the endpoint twice.
	if e := (*deliver.Error)(nil); errors.As(err, &e) {
		err = e
	}
	if err == nil || ctx.Err() == nil {
		p.Answered(d.Name, err)
	}
	if err != nil {
		t.Answer = strings.TrimPrefix(withoutName(message(err), d.Name), t.Target+": ")
		return t
	}
	t.OK, t.Answer = true, answer
	return t
}

// sendTest sends the test trace and returns what the destination made of it.
func (a *app) sendTest(ctx context.Context, c deliver.Client, run []*tracepb.ResourceSpans) (answer string, err error) {
	answer = "taken"
	to, ok := c.(*infinium.Client)
	if !ok {
		return answer, c.UploadTraces(ctx, run)
	}
	for _, t := range infinium.Traces(run, a.infiniumForms()) {
		r, err := to.Send(ctx, &t)
		if err != nil {
			return "", err
		}
		if r.InfiniumID != "" {
			answer = "taken as " + r.InfiniumID
		}
	}
	return answer, nil
}

// readBack reads the test trace from the local store and removes it, also after an
// interruption, so that no list shows it as a task.
func (t *trial) readBack(ctx context.Context, s *store.Store, id string, spans int) {
	got, err := s.Trace(ctx, id)
	if err == nil && got.Spans != spans {
		err = fmt.Errorf("%d of %d spans can be read back", got.Spans, spans)
	}
	if err = errors.Join(err, s.Remove(context.WithoutCancel(ctx), id)); err != nil {
		t.OK, t.Answer = false, message(err)
		return
	}
	t.Answer = "taken, read back and removed again"
}

func (a *app) target(name string) string {
	switch name {
	case config.ExporterStore:
		return a.cfg.StorePath()
	case config.ExporterOTLP:
		return place(a.cfg.OTLP().Endpoint)
	case config.ExporterInfinium:
		return a.cfg.InfiniumBaseURL
	case config.ExporterFile:
		return a.cfg.FilePath
	}
	return ""
}

// place is an endpoint without what may be a credential in it.
func place(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "an endpoint that is no URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func (a *app) printPayload(name string, run []*tracepb.ResourceSpans, asJSON bool) error {
	var body []byte
	var err error
	if name == config.ExporterInfinium {
		for _, t := range infinium.Traces(run, a.infiniumForms()) {
			body, err = t.Encode()
		}
	} else {
		body, err = otlp.JSON(run)
	}
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, body, "", "  "); err != nil {
		return err
	}
	to := a.stdout
	if asJSON {
		to = a.stderr // the answers alone are for the other program
	}
	_, err = fmt.Fprintf(to, "--- payload for %s\n%s\n", name, termtext.JSON(out.Bytes()))
	return err
}

// testHost is the agent of a test trace, so that no one takes it for a task of a
// real one.
const testHost = "hookspan"

// testTrace maps a little made-up task as a real one would be mapped.
func (a *app) testTrace(p *pipeline) ([]*tracepb.ResourceSpans, string) {
	now := a.now()
	session := "hookspan-test-" + strconv.FormatInt(now.UnixNano(), 36)
	at := func(ms int) time.Time { return now.Add(time.Duration(ms-1000) * time.Millisecond) }
	event := func(ms int, k hook.Kind, name string) hook.Event {
		return hook.Event{
			Host: testHost, Dialect: "classic", Kind: k, Name: name, Session: session,
			Time: at(ms), StoredAt: at(ms), Hash: uint64(ms), //nolint:gosec // A small number.
		}
	}
	begin := event(0, hook.KindRunStart, "TaskStart")
	begin.Prompt = "hookspan test"
	tool := event(600, hook.KindToolEnd, "PostToolUse")
	tool.Tool = &hook.Tool{
		Name: "execute_command", Input: `{"command":"echo hello"}`, Output: "hello",
		Duration: 400 * time.Millisecond,
	}
	end := event(900, hook.KindRunComplete, "TaskComplete")
	end.Result = "This trace was sent by `hookspan test`."

	b := otelmap.NewBuilder(testHost, session, p.Map, otelmap.Carry{})
	for _, e := range []hook.Event{begin, tool, end} {
		b.Add(e)
	}
	run := b.Runs(now)[0]
	trace, _ := b.Root(run)
	return []*tracepb.ResourceSpans{p.clean(b.Spans(run, nil))}, trace
}
