package security_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/testkit/faultserver"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// lateTasks is how many tasks end while their destination does not answer.
const lateTasks = 10

// endlessRows have servers answer in ways that no time limit of net/http ends, or
// with what is no answer at all.
var endlessRows = []proof.Row{
	{
		Waits: true,
		// Which answers have no end is tested in internal/outbound.
		Name: "servers that answer 101 Switching Protocols, with a body without end, or with one that does not follow: " +
			"OTLP, Infinium, hookspan test, http hooks beside a guard that denies, cline-hook --port",
		Rule:  "each program ends by its own limit; the trace waits, the denial counts, the event is in the file",
		Short: 14, Long: 15, Rest: true, Run: endless,
	},
	{
		Waits: true,
		Name:  fmt.Sprintf("the ends of %d tasks beside such a server", lateTasks),
		Rule:  "no delivery is left running; a later one delivers every trace once",
		Short: lateTasks, Run: endlessTasks,
	},
	{
		Waits: true,
		Name:  "SIGTERM and SIGINT to deliveries that wait for an answer, started by hand and by hooks",
		Rule:  "the delivery ends, its locks are free, nothing counts as delivered; the next one delivers every trace once",
		Short: 14, Run: endedDeliveries,
	},
	{
		Waits: true,
		Name:  "a 200 of an OTLP endpoint with a login page, garbage, a text, broken JSON, an error or another protocol's answer",
		Rule:  "the trace waits and status says why; the empty, JSON and one-word answers of real backends count as delivered",
		Short: 20, Rest: true, Run: strangeSuccesses,
	},
}

// listener is a server whose answer can be changed.
type listener struct {
	*faultserver.Server[faultserver.Answer, faultserver.Incoming]
	answer faultserver.Answer
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	s, err := faultserver.Start(faultserver.Options[faultserver.Answer, faultserver.Incoming]{
		Name: "server", MaxRead: 16 << 20,
		Read:   func(in faultserver.Incoming) *faultserver.Incoming { return &in },
		Choose: func(*faultserver.Incoming, func() (faultserver.Answer, bool)) faultserver.Answer { return l.answer },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	l.Server = s
	return l
}

func (l *listener) set(a faultserver.Answer) { l.Locked(func() { l.answer = a }) }

func (l *listener) port() string { return l.Base()[strings.LastIndexByte(l.Base(), ':')+1:] }

// quick is a limit that has passed long before a hung program is given up.
const quick = "OTEL_EXPORTER_OTLP_TIMEOUT=300"

func endless(t *testing.T, r *proof.Result) {
	s := listen(t)
	w := lab.New(t)
	w.Play(task(t, "endless", "prompt", "read_file", "a.go", "done"))
	w.Settle()
	base := w.Environ
	// Address and credential of a destination have to be in one place.
	w.Set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+s.Base()+"/v1/traces", quick, "INFINIUM_BASE_URL="+s.Base())
	requests := 0
	ended := func(name, program string, o lab.Outcome) {
		if o.State == "hung" {
			r.Break("%s: %s did not end: %q %q", name, program, o.Out, o.Err)
		}
		n := len(s.Requests())
		if n == requests {
			r.Break("%s: %s asked nothing of the server: %q %q", name, program, o.Out, o.Err)
		}
		requests = n
		r.Trial(1)
	}
	all := faultserver.EndlessAnswers()
	for i, name := range []string{"101, then silence", "a body that does not follow", "a body without end"} {
		answer := all[name]
		s.set(faultserver.Answer{Fault: faultserver.Fault{Endless: &answer}})
		// A new task for each, so that there is something to deliver.
		w.Environ = append(slices.Clone(base), "HOOKSPAN_EXPORTERS=store")
		w.Play(task(t, fmt.Sprintf("endless-%d", i), "prompt", "read_file", "a.go", "done"))
		w.Settle()
		w.Environ = append(slices.Clone(base), "HOOKSPAN_EXPORTERS=otlp")
		o := w.Call(lab.Call{Program: "hookspan", Args: []string{"flush", "--wait", "--other-settings"}})
		ended(name, "flush", o)
		if !strings.Contains(o.Out, "waiting") || o.Code != 1 {
			r.Break("%s: flush: %s: %q %q, want the trace to wait", name, o.State, o.Out, o.Err)
		}
		o = w.Call(lab.Call{Program: "hookspan", Args: []string{"test"}})
		ended(name, "test of OTLP", o)
		if o.Code != 1 {
			r.Break("%s: test of OTLP: %s: %q %q, want a failure", name, o.State, o.Out, o.Err)
		}
		// Infinium's limit of 30 s can only be waited for.
		if proof.Soak() || !answer.Slow() {
			w.Environ = append(slices.Clone(base), "HOOKSPAN_EXPORTERS=infinium")
			o = w.Call(lab.Call{Program: "hookspan", Args: []string{"test"}})
			ended(name, "test of Infinium", o)
			// Its documents promise nothing of a body: any 201 is a success.
			if success := name == "a body without end"; (o.Code == 0) != success {
				r.Break("%s: test of Infinium: %s: %q %q, want success %t", name, o.State, o.Out, o.Err, success)
			}
		}
		w.Environ = append(slices.Clone(base), "HOOKSPAN_EXPORTERS=store")
		hookBeside(t, w, s, name, func(o lab.Outcome) {
			ended(name, "http hook", o)
			if o.Code != 0 || !strings.Contains(o.Out, `"cancel":true`) || !strings.Contains(o.Out, "the guard says no") {
				r.Break("%s: http hook beside a guard: %s: %q, want the guard's denial", name, o.State, o.Out)
			}
		})
		bridgeEvent(t, r, w, s, name, answer, ended)
	}
}

// hookBeside asks an http hook on the server and a guard that denies.
func hookBeside(t *testing.T, w *lab.World, s *listener, name string, answered func(lab.Outcome)) {
	t.Helper()
	w.Write(filepath.Join(".cline", "hooks.json"), fmt.Sprintf(`{"hooks":{"PreToolUse":[{"hooks":[
		{"type":"http","url":%q,"timeout":1},{"type":"command","command":"echo the guard says no >&2; exit 2"}]}]}}`, s.Base()+"/hook"))
	call := clineEvent(t, "hooked", "PreToolUse", object{"preToolUse": object{"toolName": "read_file", "parameters": object{"path": name}}})
	answered(w.Call(lab.Call{Args: []string{"PreToolUse"}, Stdin: bytes.NewReader(call.Payload)}))
}

// bridgeEvent passes an event on to the server as if it were a bridge.
func bridgeEvent(t *testing.T, r *proof.Result, w *lab.World, s *listener, name string, answer faultserver.Endless, ended func(name, program string, o lab.Outcome)) {
	t.Helper()
	if !proof.Soak() && answer.Slow() && answer.Pace > 0 {
		return // one of the slow ones is enough to wait for the limit of 5 s
	}
	dir := filepath.Join(w.Home, "bridged", strings.ReplaceAll(name, " ", "-"))
	event := clineEvent(t, "bridged", "TaskStart", object{"taskStart": object{"taskMetadata": object{"taskId": "bridged", "initialTask": name}}})
	o := w.Call(lab.Call{Args: []string{"--port", s.port(), "--dir", dir}, Stdin: bytes.NewReader(event.Payload)})
	ended(name, "cline-hook --port", o)
	kept, err := filepath.Glob(filepath.Join(dir, "*-events.json"))
	// Of a bridge the status counts alone, and there is a 200 before some bodies.
	taken := strings.HasPrefix(name, "a body")
	if err != nil || (len(kept) == 0) != taken || o.Code != 0 {
		r.Break("%s: cline-hook --port: %s, kept %v (%v), want it kept: %t", name, o.State, kept, err, !taken)
	}
}

func endlessTasks(t *testing.T, r *proof.Result) {
	s := listen(t)
	answer := faultserver.EndlessAnswers()["101, then silence"]
	s.set(faultserver.Answer{Fault: faultserver.Fault{Endless: &answer}})
	w := lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+s.Base()+"/v1/traces", quick)
	// A sweep would keep trying for a while.
	if err := w.NoSweep(); err != nil {
		t.Fatal(err)
	}
	for i := range r.N {
		w.Play(task(t, fmt.Sprintf("late-%d", i), "prompt", "read_file", "a.go", "done"))
		r.Trial(1)
	}
	if err := bounded(func() error { return lab.AwaitDeliveries(w.Home) }); err != nil {
		r.Break("deliveries: %v", err)
		endSweeps(t, w)
	}
	deliveredOnce(t, r, w, r.N)
}

// bounded gives up what hangs where a program does.
func bounded(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("still running")
	}
}

// deliveredOnce delivers to a receiver that works and holds it to what is stored.
func deliveredOnce(t *testing.T, r *proof.Result, w *lab.World, tasks int) {
	t.Helper()
	env := w.Environ
	defer func() { w.Environ = env }()
	before := len(w.OTLP.Spans())
	w.Environ = append(slices.Clone(env), "HOOKSPAN_EXPORTERS=store,otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+w.OTLP.URL())
	o := w.Call(lab.Call{Program: "hookspan", Args: []string{"flush", "--other-settings"}})
	if o.Code != 0 {
		r.Break("the delivery afterwards: %s: %q %q", o.State, o.Out, o.Err)
	}
	roots := 0
	for _, span := range w.OTLP.Spans()[before:] {
		if span.Count != 1 {
			r.Break("span %v came %d times", span.ID, span.Count)
		}
		if strings.HasPrefix(span.Name, "invoke_agent") {
			roots++
		}
	}
	if roots != tasks {
		r.Break("%d traces came afterwards, want %d: %q", roots, tasks, o.Out)
	}
}

func endedDeliveries(t *testing.T, r *proof.Result) {
	half := faultserver.EndlessAnswers()["a body that does not follow"]
	for name, fault := range map[string]faultserver.Fault{"no answer": {Hang: true}, "half an answer": {Endless: &half}} {
		s := listen(t)
		s.set(faultserver.Answer{Fault: fault})
		w := lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+s.Base()+"/v1/traces", "OTEL_EXPORTER_OTLP_TIMEOUT=86400000")
		w.Play(task(t, "ended", "prompt", "read_file", "a.go", "done"))
		if err := s.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := bounded(func() error { return lab.StopDeliveries(w.Home) }); err != nil {
			r.Break("%s: SIGTERM to a delivery that a hook has started: %v", name, err)
			endSweeps(t, w)
		}
		r.Trial(1)
		notDelivered(t, r, w)
		for _, args := range [][]string{{"flush", "--wait"}, {"flush"}, {"flush", "--detached"}} {
			for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
				before := len(s.Requests())
				o := w.Call(lab.Call{Program: "hookspan", Args: args, Started: func(p *os.Process) error {
					if err := s.Wait(t.Context(), before+1); err != nil {
						return err
					}
					return p.Signal(sig)
				}})
				if o.State == "hung" || o.Code != 130 {
					r.Break("%s: %s to %v: %s: %q %q", name, sig, args, o.State, o.Out, o.Err)
				}
				r.Trial(1)
				notDelivered(t, r, w)
			}
		}
		s.Close()
		deliveredOnce(t, r, w, 1)
	}
}

// notDelivered holds the delivery state to what the silent server gave.
func notDelivered(t *testing.T, r *proof.Result, w *lab.World) {
	t.Helper()
	sp, err := spool.Open(filepath.Join(w.State(), "spool"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sp.Close() }()
	keys, err := sp.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		s, err := sp.Session(k)
		if err != nil {
			t.Fatal(err)
		}
		unlock, ok, err := s.TryLock("otlp")
		if err != nil || !ok {
			r.Break("the lock of %s is taken: %v", k.Name, err)
		} else {
			_ = unlock()
		}
		st, err := deliver.ReadState(s, "otlp")
		_ = s.Close()
		if err != nil || st.Runs > 0 || st.Spans > 0 || len(st.Done) > 0 || len(st.Parked) > 0 {
			r.Break("state after the signal: %+v, %v; want nothing delivered", st, err)
		}
	}
}

func strangeSuccesses(t *testing.T, r *proof.Result) {
	w := lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp")
	n := 0
	try := func(a otlptest.Answer, delivered bool) {
		n++
		a.Refuse = true
		w.OTLP.Always(a)
		w.Play(task(t, fmt.Sprintf("strange-%d", n), "prompt", "read_file", "a.go", "done"))
		endSweeps(t, w)
		out, errs, code := w.Hookspan("flush")
		if (code == 0) != delivered {
			r.Break("%q as %q: flush exits with %d: %s%s", a.Body, a.ContentType, code, out, errs)
		}
		if !delivered {
			if out, errs, _ = w.Hookspan("status"); !strings.Contains(out, "check the endpoint") {
				r.Break("%q as %q: status does not say why: %s%s", a.Body, a.ContentType, out, errs)
			}
		}
		r.Trial(1)
	}
	const page, protobuf, json, plain = "<html><form>Sign in</form></html>", "application/x-protobuf", "application/json", "text/plain"
	for _, a := range []otlptest.Answer{
		{ContentType: "text/html", Body: page},
		{ContentType: plain, Body: page},
		{ContentType: protobuf, Body: page},
		{Body: page, Sniff: true},
		{ContentType: protobuf, Body: strings.Repeat("\xff garbage", 9)},
		{ContentType: json, Body: `{"partialSuccess":`},
		{ContentType: json, Body: `{"error":"no such project"}`},
		{ContentType: plain, Body: "It works!"},
		{ContentType: "application/octet-stream", Body: "SSH-2.0-x"},
		{ContentType: json, Body: strings.Repeat(" ", 5<<20)},
	} {
		try(a, false)
	}
	w.OTLP.Reset()
	if out, errs, code := w.Hookspan("flush"); code != 0 {
		r.Break("once the endpoint is right: %s%s", out, errs)
	}
	for _, a := range []otlptest.Answer{
		{ContentType: json, Body: "{}"},
		{ContentType: protobuf, Body: "{}"},
		{ContentType: json, Body: `{"partialSuccess":{}}`},
		{ContentType: json, Body: `{"message":"Trace received.","partialSuccess":{"rejectedSpans":0}}`},
		{ContentType: json, Body: "null"},
		{ContentType: json, Body: `"OK"`},
		{ContentType: plain, Body: "success"},
		{ContentType: plain, Body: "{}\n"},
		{Status: 202, ContentType: json, Body: `{"ok":1}`},
		{Status: 204, ContentType: "text/html"},
	} {
		try(a, true)
	}
}
