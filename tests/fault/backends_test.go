package fault_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// backendRows have backends that take little at a time, and environments that share a
// home folder.
var backendRows = []proof.Row{
	{
		Name:  "a run of many spans to a backend that takes one request a minute (429)",
		Rule:  "each delivery brings it further; every span comes once",
		Short: 5_000,
		Rest:  true,
		Run: func(t *testing.T, r *proof.Result) {
			longRun(t, r, func(server *otlptest.Server, _ context.CancelFunc) func(int) {
				server.Script(otlptest.Answer{}, otlptest.Wait(429, "60"))
				return nil
			})
		},
	},
	{
		Name:  "a run of many spans to a backend that is so slow that each delivery ends at its time limit",
		Rule:  "each delivery brings it further; only the request that is under way at the limit comes again",
		Short: 5_000,
		Run: func(t *testing.T, r *proof.Result) {
			longRun(t, r, func(_ *otlptest.Server, end context.CancelFunc) func(int) {
				return func(request int) {
					if request == 3 {
						end()
					}
				}
			})
		},
	},
	{
		Name:  "two environments with their own collectors, tokens and rules in one home folder: sessions continued in the other, refused runs, deliveries by either",
		Rule:  "each run goes where it was recorded for, once, and nowhere else, without what the rules of its environment remove",
		Short: 12, Long: 60,
		Rest: true,
		Run:  twoEnvironments,
	},
}

// longRun sends one run of r.N spans. limit is called before each delivery and may
// return what is called when the backend has taken a request, with its number.
func longRun(t *testing.T, r *proof.Result, limit func(*otlptest.Server, context.CancelFunc) func(int)) {
	h := newHall(t, t.TempDir())
	server := otlptest.New(t)
	client, err := deliver.NewOTLP(t.Context(), deliver.OTLP{Endpoint: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	a := &agents[1]
	h.put(a, a.began, "long", "turn", 0)
	for n := range r.N - 1 {
		h.put(a, "PreToolUse", "long", "turn", n)
	}
	h.put(a, a.ended, "long", "turn", r.N)
	h.advance(time.Hour)
	passes, requests := 0, 0
	var taken func(int)
	out := &endpoint{Client: exporter(func(ctx context.Context, spans []*tracepb.ResourceSpans) error {
		err := client.UploadTraces(ctx, spans)
		if requests++; err == nil && taken != nil {
			taken(requests)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	})}
	d := h.deliverer(deliver.Destination{Name: "otlp", Client: out, Batch: 512})
	for runs := 0; runs == 0 && passes < 100; passes++ {
		ctx, cancel := context.WithCancel(t.Context())
		requests = 0
		taken = limit(server, cancel)
		results, _ := d.Run(ctx, deliver.Pass{})
		cancel()
		runs = results[0].Runs
		h.advance(2 * time.Minute)
	}
	got, doubles := received(server)
	r.Trial(len(got))
	interrupted := 0
	if taken != nil {
		interrupted = 512 * (passes - 1)
	}
	if len(got) != r.N || doubles > interrupted || passes > r.N/512+2 {
		r.Break("%d of %d spans came in %d deliveries, %d doubles", len(got), r.N, passes, doubles)
	}
	r.Note("%d deliveries, %d doubles", passes, doubles)
}

// exporter is a client made of a function.
type exporter func(context.Context, []*tracepb.ResourceSpans) error

func (f exporter) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	return f(ctx, spans)
}

// environment is a project's shell.
type environment struct {
	vars []string
	otlp *otlptest.Server
	// turns are those that were recorded in it.
	turns []string
}

func twoEnvironments(t *testing.T, r *proof.Result) {
	w := lab.New(t)
	w.Write(".config/hookspan/hookspan.env", "HOOKSPAN_IDLE_TIMEOUT=8760h\n")
	w.Write("acme.rules", "acme ACME-[0-9]+\n")
	var envs []*environment
	for _, name := range []string{"a", "b"} {
		s := otlptest.New(t)
		envs = append(envs, &environment{otlp: s, vars: []string{
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + s.URL(), "OTEL_EXPORTER_OTLP_HEADERS=authorization=" + name, "HOOKSPAN_OTLP_ACCOUNT=" + name,
		}})
	}
	private := envs[0]
	private.vars = append(private.vars, "HOOKSPAN_REDACT_FILE="+filepath.Join(w.Home, "acme.rules"), "HOOKSPAN_HOOK_RUN=1")
	// flush delivers by hand in an environment, or in none.
	flush := func(e *environment) map[string]deliver.Result {
		cmd := w.Program("hookspan", "flush", "--json")
		if e != nil {
			cmd.Env = append(slices.Clone(cmd.Env), e.vars...)
		}
		b, err := cmd.Output()
		var list []deliver.Result
		if json.Unmarshal(b, &list) != nil {
			t.Fatalf("hookspan flush: %v, said %q", err, b)
		}
		out := make(map[string]deliver.Result)
		for _, res := range list {
			out[res.Destination] = res
		}
		return out
	}
	hook := func(e *environment, event, session, turn string, n int) {
		if err := w.NoSweep(); err != nil {
			t.Fatal(err)
		}
		cmd := w.Program("claude-hook", event)
		cmd.Env = append(slices.Clone(cmd.Env), e.vars...)
		cmd.Stdin = bytes.NewReader(agents[1].payload(event, session, turn, n))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			r.Break("hook: %v, printed %q", err, out)
		}
	}
	for n := range r.N {
		r.Trial(1)
		e := envs[n%2]
		if n%4 < 2 {
			e.otlp.Script(otlptest.Status(401, ""), otlptest.Status(401, ""))
		}
		// The turns of a session are recorded in both environments.
		turn, session := fmt.Sprintf("ACME-%04d", n), fmt.Sprintf("shared-%d", n/4)
		e.turns = append(e.turns, turn)
		for _, event := range []string{"UserPromptSubmit", "PreToolUse", "Stop"} {
			hook(e, event, session, turn, n)
		}
		w.Settle()
		if n%5 == 4 {
			// A new token for the same collector, of the same account.
			for i, e := range envs {
				e.vars[1] = fmt.Sprintf("OTEL_EXPORTER_OTLP_HEADERS=authorization=%d-%d", i, n)
			}
		}
		flush(append(envs, nil)[n%3])
	}
	for i := range 4 {
		got := flush(envs[i%2])["otlp"]
		if i >= 2 && (got.Runs > 0 || got.Waiting > 0 || got.Parked > 0) {
			r.Break("environment %d, at rest: %+v", i%2, got)
		}
	}
	for i, e := range envs {
		got, doubles := received(e.otlp)
		if len(got) != 2*len(e.turns) || doubles > 0 {
			r.Break("environment %d recorded %d runs of 2 spans, its collector has %d spans, %d doubles", i, len(e.turns), len(got), doubles)
		}
	}
	for where, spans := range map[string][]otlptest.Span{"its collector": private.otlp.Spans(), "the local store": w.Stored()} {
		if len(spans) == 0 {
			r.Break("%s has nothing", where)
		}
		for i := range spans {
			text := spans[i].Proto.String()
			for _, turn := range private.turns {
				if strings.Contains(text, turn) {
					r.Break("%s has what the rules of the environment remove: %.300s", where, text)
				}
			}
		}
	}
}
