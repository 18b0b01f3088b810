package hookrun

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookhttp"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// operations are the events of one call, each with a different input.
func operations(n int) []Event {
	var out []Event
	for i := range n {
		input := fmt.Sprintf(`{"command":"op-%d-"}`, i)
		e := toolCall(fmt.Sprintf(`{"tool_input":%s}`, input))
		e.Input = []byte(input)
		out = append(out, e)
	}
	return out
}

func TestParallelHandlersAreLimited(t *testing.T) {
	w := newWorld(t)
	const n = 60
	res := w.Run(t.Context(), []hookfile.Handler{shell("echo + >> log; cat >/dev/null; echo - >> log")}, operations(n))
	log, err := os.ReadFile(w.path("log"))
	if err != nil {
		t.Fatal(err)
	}
	running, most := 0, 0
	for line := range strings.Lines(string(log)) {
		if line == "+\n" {
			running++
		} else {
			running--
		}
		most = max(most, running)
	}
	if limit := w.newBatch(nil).width; most > limit || len(res.Runs) != n || strings.Count(string(log), "+") != n {
		t.Errorf("%d of %d hooks ran, %d at a time; want all, %d at a time", len(res.Runs), n, most, limit)
	}
}

func TestDenialStopsFurtherOperations(t *testing.T) {
	w := newWorld(t)
	goOn := w.fifo(t, "go")
	const n = 200
	w.Trace = func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); strings.Contains(line, "end after") && strings.Contains(line, `verdict "deny"`) {
			_, _ = goOn.WriteString(strings.Repeat("\n", n))
		}
	}
	guard := shell(`case $(cat) in *op-0-*) echo no >&2; exit 2;; esac; read x < go; echo finished`)
	second := shell(`cat >/dev/null; echo second`)
	res := w.Run(t.Context(), []hookfile.Handler{guard, second}, operations(n))
	if v := res.Verdicts[0]; v.Decision != verdict.Deny || v.Reason != "no" {
		t.Errorf("%+v, want the first operation denied", v)
	}
	perEvent := map[int]int{}
	for _, run := range res.Runs {
		perEvent[run.Event]++
		if run.Event > 0 && run.Output.Stdout != "finished\n" && run.Output.Stdout != "second\n" {
			t.Errorf("a hook of operation %d did not run to its end: %+v", run.Event, run.Output)
		}
	}
	if len(perEvent) > n/2 {
		t.Errorf("hooks ran for %d of %d operations, want no more once one is denied", len(perEvent), n)
	}
	for event, runs := range perEvent {
		if runs != 2 {
			t.Errorf("%d hooks ran for operation %d, want all or none", runs, event)
		}
	}
	w.gone(t)
}

func TestEqualOperationsRunOnce(t *testing.T) {
	w := newWorld(t)
	h := shell(`case $(cat) in *op-1-*) echo no >&2; exit 2;; esac`)
	ops := operations(2)
	events := []Event{ops[0], ops[0], ops[1], ops[0], ops[1]}
	other := ops[1]
	other.Subjects = []string{"Edit"}
	res := w.Run(t.Context(), []hookfile.Handler{h}, append(events, other))
	if len(res.Runs) > 3 {
		t.Errorf("%d hooks ran, want one for each of 3 different operations at most", len(res.Runs))
	}
	for i, want := range []verdict.Decision{"", "", verdict.Deny, "", verdict.Deny} {
		if got := res.Verdicts[i].Decision; got != want {
			t.Errorf("verdict %d: %q, want %q", i, got, want)
		}
	}
	for i := range events {
		events[i].Name = "PostToolUse"
	}
	h.Event = "PostToolUse"
	if res := w.Run(t.Context(), []hookfile.Handler{h}, events); len(res.Runs) != len(events) {
		t.Errorf("after the calls %d hooks ran, want %d: their results may differ", len(res.Runs), len(events))
	}
}

// TestOperationsWithoutTimeAreDenied has a guard that never runs for the last.
func TestOperationsWithoutTimeAreDenied(t *testing.T) {
	for policy, denied := range map[OnError]bool{"": true, OnErrorAllow: false, OnErrorDeny: true} {
		t.Run("on error "+string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.OnError, w.Budget = policy, 150*time.Millisecond
			res := w.Run(t.Context(), []hookfile.Handler{shell("cat >/dev/null; exec sleep 1000")}, operations(40))
			w.gone(t)
			if got := slices.ContainsFunc(res.Verdicts, func(v verdict.Verdict) bool { return v.Decision == verdict.Deny }); got != denied {
				t.Errorf("the call is denied: %t, want %t: %+v", got, denied, res.Verdicts)
			}
			if most := w.newBatch(nil).width + 1; denied && len(res.Runs) > most {
				t.Errorf("%d runs, want at most %d: those that were stopped, and the first that came too late", len(res.Runs), most)
			}
			other := operations(40)
			for i := range other {
				other[i].Subjects = []string{"Read"}
			}
			w.Budget = -1
			if got := w.Run(t.Context(), []hookfile.Handler{on(preToolUse, "Bash", "x")}, other).Verdicts[39]; got.Decision != verdict.NoDecision {
				t.Errorf("an operation that no hook is for: %+v", got)
			}
		})
	}
}

// TestOnceHandlerWithoutTimeRunsNextTime has no time for a hook that runs once.
func TestOnceHandlerWithoutTimeRunsNextTime(t *testing.T) {
	w := newWorld(t)
	claimed := 0
	w.Claim = func(context.Context, string) (func(bool), bool) { claimed++; return func(bool) {}, claimed == 1 }
	once := shell("echo no >&2; exit 2")
	once.Once = true
	for _, budget := range []time.Duration{-1, time.Hour} {
		w.Budget = budget
		res := w.Run(t.Context(), []hookfile.Handler{once}, operations(1))
		if v := res.Verdicts[0]; v.Decision != verdict.Deny || len(res.Runs) != 1 {
			t.Errorf("with %v: %+v after %d runs, want a denial after one", budget, v, len(res.Runs))
		}
	}
}

func TestFailuresThatDeny(t *testing.T) {
	missing := hookfile.Handler{Event: preToolUse, Type: hookfile.TypeCommand, Command: "no-such-program-here", Args: []string{}, File: "hooks.json", Line: 1}
	for name, hook := range map[string]hookfile.Handler{
		"exit code 1": shell("echo why >&2; exit 1"), "a signal": shell("kill -9 $$"), "no program": missing,
		"no command": shell("no-such-program-here"), "not JSON": shell(`echo '{"a":}'`),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for policy, denied := range map[OnError]bool{"": false, OnErrorLimits: false, OnErrorAllow: false, OnErrorDeny: true} {
				w.OnError = policy
				run := w.one(t.Context(), t, hook, "{}")
				if v := run.Verdict; (v.Decision == verdict.Deny) != denied || len(v.Errors) == 0 || denied && !strings.Contains(v.Reason, v.Errors[0]) {
					t.Errorf("on error %q: %+v, want denied %t with the reason", policy, v, denied)
				}
			}
			hook.Event = "PostToolUse"
			e := toolCall("{}")
			e.Name = "PostToolUse"
			if v := w.Run(t.Context(), []hookfile.Handler{hook}, []Event{e}).Verdicts[0]; v.Decision != verdict.NoDecision {
				t.Errorf("after the call: %+v", v)
			}
		})
	}
}

// transport is a function that sends a request.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func request(url string) hookfile.Handler {
	return hookfile.Handler{Event: preToolUse, Type: hookfile.TypeHTTP, URL: url, File: "hooks.json", Line: 1}
}

var errNoDescriptor = &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, Err: os.NewSyscallError("socket", syscall.EMFILE)}

func TestExhaustionDenies(t *testing.T) {
	needsUnix(t)
	// The resolver keeps only the text of what it failed with.
	resolver := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errNoDescriptor }}
	_, lookup := resolver.LookupHost(t.Context(), "hooks.example")
	for name, tc := range map[string]struct {
		err     error
		headers map[string]string
	}{
		"of a connection":                     {err: errNoDescriptor},
		"of a look-up":                        {err: lookup},
		"in a text that a header is cut from": {err: errNoDescriptor, headers: map[string]string{"X-For": "127.0.0.1"}},
	} {
		for policy, denied := range map[OnError]bool{"": true, OnErrorLimits: true, OnErrorAllow: false, OnErrorDeny: true} {
			r := &Runner{OnError: policy, Post: hookhttp.Client{Base: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) { return nil, tc.err })}}.Post}
			hooks := []hookfile.Handler{request("http://127.0.0.1:1/a"), request("http://127.0.0.1:1/b")}
			for i := range hooks {
				hooks[i].Headers = tc.headers
			}
			v := r.Run(t.Context(), hooks, []Event{toolCall("{}")}).Verdicts[0]
			if (v.Decision == verdict.Deny) != denied || denied && !strings.Contains(v.Reason, "too many open files") {
				t.Errorf("%s, on error %q: %+v, want denied %t with the reason", name, policy, v, denied)
			}
		}
	}
}

// TestExhaustedHookIsRetried has one of two hooks find no descriptor while
// the other one runs.
func TestExhaustedHookIsRetried(t *testing.T) {
	needsUnix(t)
	for name, refusedPath := range map[string]string{"the first": "/first", "the second": "/second"} {
		for _, async := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, async %t", name, async), func(t *testing.T) {
				var tries atomic.Int32
				began, refused := make(chan struct{}), make(chan struct{})
				r := &Runner{Post: hookhttp.Client{Base: &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
					if req.URL.Path != refusedPath {
						close(began)
						<-refused
					} else if tries.Add(1) == 1 {
						<-began
						defer close(refused)
						return nil, errNoDescriptor
					}
					return &http.Response{StatusCode: http.StatusNoContent, Body: io.NopCloser(strings.NewReader(""))}, nil
				})}}.Post}
				hooks := []hookfile.Handler{request("http://127.0.0.1:1/first"), request("http://127.0.0.1:1/second")}
				for i := range hooks {
					hooks[i].Async = async
				}
				res := r.Run(t.Context(), hooks, []Event{toolCall("{}")})
				if v := res.Verdicts[0]; v.Decision != verdict.NoDecision || len(v.Errors) > 0 || tries.Load() != 2 {
					t.Errorf("%+v after %d tries, want no objection after 2", v, tries.Load())
				}
			})
		}
	}
}

// TestAbandonedHandlerKeepsOtherVerdicts has a request that never ends.
func TestAbandonedHandlerKeepsOtherVerdicts(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	w.Budget, w.OnError = 200*time.Millisecond, OnErrorAllow
	w.Post = hookhttp.Client{Base: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
		<-release
		return nil, errNoDescriptor
	})}}.Post
	own, ofCall := request("http://127.0.0.1:1/own"), request("http://127.0.0.1:1/call")
	own.Timeout = 50 * time.Millisecond
	res := w.Run(t.Context(), []hookfile.Handler{own, ofCall, shell("echo no >&2; exit 2")}, []Event{toolCall("{}")})
	if v := res.Verdicts[0]; v.Decision != verdict.Deny || v.Reason != "no" {
		t.Errorf("%+v, want the other hook's denial", v)
	}
	for i, limit := range []string{"its own limit", "the limit of the call"} {
		if run := res.Runs[i]; !run.Output.TimedOut || !strings.Contains(run.Err, "abandoned") {
			t.Errorf("at %s: %+v, want it timed out and left behind", limit, run)
		}
	}
}

// TestPanicDeniesACall: a fault of this program is no answer of a guard.
func TestPanicDeniesACall(t *testing.T) {
	r := &Runner{Post: func(context.Context, string, map[string]string, []byte, int64) (int, []byte, error) { panic("boom") }}
	h := hookfile.Handler{Event: preToolUse, Type: hookfile.TypeHTTP, URL: "http://127.0.0.1:1"}
	run := runOne(t.Context(), t, r, h, "{}")
	if run.Verdict.Decision != verdict.Deny || !strings.Contains(run.Verdict.Reason, "panic: boom") {
		t.Errorf("%+v, want a denial with the reason", run.Verdict)
	}
}
