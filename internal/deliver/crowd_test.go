package deliver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/testkit/ramdir"
	"github.com/hookspan/hookspan/spool"
)

// crowdForms are how agents report that a call begins, and an end that one of the user's hooks may
// refuse: %[1]d is the event's number, %[2]d its time.
var crowdForms = []struct{ host, call, callForm, end, endForm string }{
	{
		hook.HostCline, "PreToolUse", `{"clineVersion":"3.38.0","hookName":"PreToolUse","timestamp":"%[2]d","taskId":"s","workspaceRoots":["/w"],"userId":"u","preToolUse":{"toolName":"read_file","parameters":{"path":"src/%[1]d.go"}}}`,
		"TaskComplete", `{"clineVersion":"3.38.0","hookName":"TaskComplete","timestamp":"%[2]d","taskId":"s","workspaceRoots":["/w"],"userId":"u","taskComplete":{"taskMetadata":{"taskId":"s","ulid":"01K5","result":"src/%[1]d.go","command":""}}}`,
	},
	{
		hook.HostClaude, "PreToolUse", `{"session_id":"s","prompt_id":"p1","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"src/%[1]d.go"},"tool_use_id":"toolu_%[1]d"}`,
		"Stop", `{"session_id":"s","prompt_id":"p1","cwd":"/w","hook_event_name":"Stop","stop_hook_active":true,"last_assistant_message":"src/%[1]d.go"}`,
	},
	{
		hook.HostQwen, "PreToolUse", `{"session_id":"s","prompt_id":"p########1","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"read_file","tool_input":{"file_path":"src/%[1]d.go"},"tool_use_id":"toolu_%[1]d","tool_call_id":"call_%[1]d"}`,
		"Stop", `{"session_id":"s","prompt_id":"p########1","cwd":"/w","hook_event_name":"Stop","stop_hook_active":true,"last_assistant_message":"src/%[1]d.go"}`,
	},
	{
		hook.HostCopilot, "preToolUse", `{"sessionId":"s","cwd":"/w","toolName":"view","toolArgs":{"path":"src/%[1]d.go"}}`,
		"agentStop", `{"sessionId":"s","cwd":"/w","stop_hook_active":true,"stopReason":"src/%[1]d.go"}`,
	},
	{
		hook.HostGemini, "BeforeTool", `{"session_id":"s","transcript_path":"/x/session-1-s.jsonl","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"read_file","tool_input":{"file_path":"src/%[1]d.go"}}`,
		"AfterAgent", `{"session_id":"s","transcript_path":"/x/session-1-s.jsonl","cwd":"/w","hook_event_name":"AfterAgent","stop_hook_active":true,"prompt_response":"src/%[1]d.go"}`,
	},
	{
		hook.HostCodex, "PreToolUse", `{"session_id":"s","turn_id":"t1","transcript_path":null,"cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"cat src/%[1]d.go"},"tool_use_id":"call_%[1]d"}`,
		"Stop", `{"session_id":"s","turn_id":"t1","transcript_path":null,"cwd":"/w","hook_event_name":"Stop","stop_hook_active":true,"last_assistant_message":"src/%[1]d.go"}`,
	},
	{
		hook.HostKimi, "PreToolUse", `{"session_id":"s","client_type":"kimi_code_cli","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"path":"src/%[1]d.go"},"tool_call_id":"call_%[1]d"}`,
		"Stop", `{"session_id":"s","client_type":"kimi_code_cli","cwd":"/w","hook_event_name":"Stop","stop_hook_active":false,"session_title":"src/%[1]d.go"}`,
	},
	{
		hook.HostOpencode, "message.part.updated", `{"session":"s","type":"message.part.updated","cwd":"/w","turn":"msg_1","part":{"type":"tool","id":"prt_%[1]d","callID":"call_%[1]d","tool":"read","state":{"status":"running","input":{"filePath":"src/%[1]d.go"}}}}`,
		"session.idle", `{"session":"s","type":"session.idle","cwd":"/w","text":"src/%[1]d.go"}`,
	},
}

var crowdNumber = regexp.MustCompile(`src/(\d+)\.go`)

// crowd is a session whose hooks run at the same time and store their events in any order, while
// deliveries are killed.
type crowd struct {
	*bench
	party
	t     *testing.T
	form  int
	rnd   *rand.Rand
	calls []string
	// events is how many hooks have begun, running are those that have not stored their event.
	events  int
	running []spool.Record
	// pauses are the times between two hooks in milliseconds, slowest is how long one runs.
	pauses  []int
	slowest time.Duration
	trace   []string
}

// begin begins a hook.
func (c *crowd) begin(ends bool, at time.Time) {
	c.events++
	f := crowdForms[c.form]
	event, form := f.call, f.callForm
	if ends {
		event, form = f.end, f.endForm
	} else {
		c.calls = append(c.calls, fmt.Sprint(c.events))
	}
	c.running = append(c.running, spool.Record{
		Host: f.host, Session: "s", Event: event, Cwd: "/w", At: at, Payload: fmt.Appendf(nil, form, c.events, at.UnixMilli()),
	})
}

// store lets a hook end.
func (c *crowd) store(i int) {
	r := c.running[i]
	if err := c.spool.Append(&r); err != nil {
		c.t.Fatal(err)
	}
	c.tracef("%s %s of %v is stored", r.Event, crowdNumber.Find(r.Payload), r.At.Sub(began))
	c.running = slices.Delete(c.running, i, i+1)
}

func (c *crowd) tracef(format string, args ...any) {
	c.trace = append(c.trace, fmt.Sprintf("%v: ", c.clock.Now().Sub(began))+fmt.Sprintf(format, args...))
}

// step begins a hook, and lets some end.
func (c *crowd) step() {
	if c.events >= 60 {
		return
	}
	c.clock.Advance(time.Duration(pick(c.rnd, c.pauses)) * time.Millisecond)
	ends := c.rnd.IntN(6) == 0
	c.begin(ends, c.clock.Now())
	if ends && crowdForms[c.form].host == hook.HostCline { // a task has one end, for whose hook Cline waits
		c.store(len(c.running) - 1)
	}
	late := func() bool { return c.clock.Now().Sub(c.running[0].At) > c.slowest }
	for len(c.running) > 0 && (late() || c.rnd.IntN(3) > 0) {
		if late() {
			c.store(0)
		} else {
			c.store(c.rnd.IntN(len(c.running)))
		}
	}
}

func (c *crowd) crowdDeliverer() *Deliverer {
	d := c.deliverer(Destination{Name: "otlp", Client: &c.party, Batch: c.batch})
	for _, a := range agents.All() {
		d.Sources[a.Host] = Source{Agent: a.Mapping, Decode: a.Events}
	}
	return d
}

// pass delivers, and may be killed at some place: what the destination took last is then not noted.
func (c *crowd) pass() {
	d := c.crowdDeliverer()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d.Sleep = func(ctx context.Context, by time.Duration) error {
		for range c.rnd.IntN(3) {
			c.step()
		}
		return c.clock.Sleep(ctx, by)
	}
	killed, left, noted := false, 1<<20, saved{}
	if c.rnd.IntN(2) == 0 {
		left = c.rnd.IntN(6)
	}
	c.before = func(_ context.Context, spans []*tracepb.ResourceSpans) (err error) {
		for range c.rnd.IntN(3) {
			c.step()
		}
		if left--; left >= 0 {
			return nil
		}
		if !killed {
			killed = true
			if noted, err = save(c.path(spool.SessionKey(crowdForms[c.form].host, "s"), stateFile("otlp"))); err != nil {
				c.t.Error(err)
			}
			if c.rnd.IntN(2) == 0 {
				c.take(spans)
			}
		}
		cancel()
		return ctx.Err()
	}
	if _, err := d.Run(ctx, Pass{Force: true}); err != nil && !killed {
		c.t.Error(err)
	}
	c.before = nil
	if killed {
		if err := noted.restore(); err != nil {
			c.t.Error(err)
		}
	}
	c.tracef("a delivery ends, killed: %t", killed)
}

// rest lets all hooks end, delivers all and wants one span for each call.
func (c *crowd) rest() {
	c.clock.Advance(time.Millisecond)
	c.begin(true, c.clock.Now())
	for len(c.running) > 0 {
		c.store(0)
	}
	for range 3 {
		c.clock.Advance(time.Minute)
		c.run(c.crowdDeliverer(), Pass{Force: true})
	}
	spans := make(map[string]int)
	for _, s := range c.spans {
		if m := crowdNumber.FindStringSubmatch(s.String()); m != nil && s.GetName() != "" && s.GetName()[:4] == "exec" {
			spans[m[1]]++
		}
	}
	for _, n := range c.calls {
		if spans[n] != 1 {
			c.t.Errorf("call %s has %d spans", n, spans[n])
		}
	}
	if c.t.Failed() {
		for _, line := range c.trace {
			c.t.Log(line)
		}
	}
}

func newCrowd(t *testing.T, form int) *crowd {
	return &crowd{t: t, bench: newBenchIn(t, filepath.Join(ramdir.New(t), "spool")), form: form, party: party{batch: 512}}
}

func TestEachCallOfACrowdHasOneSpan(t *testing.T) {
	for form, f := range crowdForms {
		for seed := range uint64(30) {
			t.Run(fmt.Sprint(f.host, "/", seed), func(t *testing.T) {
				c := newCrowd(t, form)
				c.rnd = rand.New(rand.NewPCG(1, seed)) //nolint:gosec // Tests are to be the same each time.
				c.slowest = time.Duration(pick(c.rnd, []int{0, 500, 3000, 30000})) * time.Millisecond
				c.batch = pick(c.rnd, []int{2, 512})
				c.pauses = pick(c.rnd, [][]int{{1, 1, 20, 1500}, {1, 1, 1, 1, 20, 20, 100, 300, 1500}, {300, 1500, 5000}})
				for range 2 + c.rnd.IntN(40) {
					c.step()
					if c.events > len(c.running) && c.rnd.IntN(3) == 0 {
						c.pass()
					}
				}
				c.rest()
			})
		}
	}
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// A delivery is killed before it notes a later part of a turn, and then an end is stored that is earlier and
// names no turn.
func TestLateEndWithoutATurnBeginsNoRun(t *testing.T) {
	c := newCrowd(t, len(crowdForms)-1)
	put := func(ends bool, at time.Duration) {
		c.begin(ends, began.Add(at))
		c.store(0)
	}
	deliver := func() {
		c.clock.Advance(5 * time.Second)
		c.run(c.crowdDeliverer(), Pass{Force: true})
	}
	put(false, 0)
	put(true, time.Second)
	deliver()
	put(false, 10*time.Second)
	put(false, 11*time.Second)
	put(true, 12*time.Second)
	before, err := save(c.path(spool.SessionKey(hook.HostOpencode, "s"), stateFile("otlp")))
	if err != nil {
		t.Fatal(err)
	}
	c.clock.Advance(10 * time.Second)
	deliver()
	if err := before.restore(); err != nil {
		t.Fatal(err)
	}
	put(true, 9*time.Second)
	deliver()
	c.rest()
}

// Copilot reports an error behind the end of a turn that was delivered, and names no turn.
func TestLateErrorWithoutATurnBeginsNoRun(t *testing.T) {
	c := newCrowd(t, 3)
	put := func(event, payload string) {
		r := spool.Record{Host: hook.HostCopilot, Session: "s", Event: event, Cwd: "/w", At: c.clock.Now(), Payload: []byte(payload)}
		if err := c.spool.Append(&r); err != nil {
			t.Fatal(err)
		}
		c.clock.Advance(5 * time.Second)
	}
	deliver := func() { c.run(c.crowdDeliverer(), Pass{Force: true}) }
	put("userPromptSubmitted", `{"sessionId":"s","cwd":"/w","prompt":"do"}`)
	put("agentStop", `{"sessionId":"s","cwd":"/w","stopReason":"end_turn"}`)
	deliver()
	put("errorOccurred", `{"sessionId":"s","cwd":"/w","error":{"name":"n","message":"m"}}`)
	c.clock.Advance(2000 * time.Hour)
	deliver()
	want := whole(t, c.bench, c.crowdDeliverer(), spool.SessionKey(hook.HostCopilot, "s"))
	if len(c.spans) != len(want) {
		t.Errorf("%d spans are delivered, the whole log gives %d", len(c.spans), len(want))
	}
}

func TestLateEventsOfDeliveredRuns(t *testing.T) {
	const deliver = -1 // instead of a time
	for name, c := range map[string]struct {
		form int
		// events are the times of calls, and of ends where they are negative, in the order of the log.
		events []time.Duration
	}{
		"earlier than the first event of its run": {0, []time.Duration{10 * time.Second, 11 * time.Second, -12 * time.Second, deliver, 9 * time.Second}},
		"of the run before the last one":          {0, []time.Duration{10 * time.Second, -12 * time.Second, deliver, 13 * time.Second, -14 * time.Second, deliver, 11 * time.Second}},
		"an end, with a call of the next run":     {3, []time.Duration{10 * time.Second, -11 * time.Second, deliver, 20 * time.Second, -10500 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			crowd := newCrowd(t, c.form)
			for _, at := range c.events {
				if at == deliver {
					crowd.clock.Advance(30 * time.Second)
					crowd.run(crowd.crowdDeliverer(), Pass{Force: true})
					continue
				}
				crowd.begin(at < 0, began.Add(at.Abs()))
				crowd.store(0)
			}
			crowd.clock.Advance(30 * time.Second)
			crowd.run(crowd.crowdDeliverer(), Pass{Force: true})
			crowd.rest()
		})
	}
}
