package collector_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// The paths by which the archive distinguishes pipelines.
const (
	everything = "/everything/v1/traces"
	sampled    = "/sampled/v1/traces"
)

// settle is how long nothing may move before what is missing counts as lost.
const settle = 90 * time.Second

// fleet is a team: machines with hookspan and an agent Collector each, a gateway
// for each, and a backend that keeps everything. All are processes.
type fleet struct {
	t        *testing.T
	machines []*machine
	// agents, gateways and backend are what is killed.
	agents, gateways []*process
	backend          *process
	archive          *archive
	port             func() string
}

// process is a program of the fleet with its name.
type process struct {
	*otelcol.Collector
	name string
	o    otelcol.Options
}

// start starts it for the first time, or once more.
func (p *process) start(t *testing.T) {
	t.Helper()
	var err error
	if p.Collector == nil {
		p.Collector, err = otelcol.Start(t.Context(), p.o)
	} else {
		err = p.Restart(t.Context())
	}
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
}

// knobs are what a row sets otherwise.
type knobs struct {
	machines int
	// agent and gateway are configurations merged into theirs.
	agent, gateway string
}

// quick makes a queue try again soon: a test does not wait for minutes. All else
// is as shipped.
const quick = `{initial_interval: 100ms, max_interval: 1s}`

// often makes a queue's file smaller whenever there is something to gain, so that
// kills meet that, too.
const often = `{on_rebound: true, directory: "%[1]s", rebound_needed_threshold_mib: 1, rebound_trigger_threshold_mib: 1, check_interval: 200ms, cleanup_on_start: true}`

const agentOverlay = `yaml:
receivers: {otlp: {protocols: {http: {endpoint: "%[2]s"}}}}
exporters: {otlp_http: {retry_on_failure: ` + quick + `}}
extensions: {file_storage: {compaction: ` + often + `}}
`

// gatewayOverlay adds a pipeline that keeps every span, whatever is sampled.
const gatewayOverlay = `yaml:
extensions: {file_storage: {directory: "%[1]s", create_directory: true, directory_permissions: "0700", fsync: true, compaction: ` + often + `}}
processors: {tail_sampling: {decision_wait: 2s}}
exporters:
  otlp_http: {retry_on_failure: ` + quick + `}
  otlp_http/everything:
    endpoint: "%[2]s/everything"
    sending_queue: {storage: file_storage, queue_size: 10000}
    retry_on_failure: {initial_interval: 100ms, max_interval: 1s, max_elapsed_time: 0s}
service:
  extensions: [health_check, file_storage, refusals]
  telemetry: {metrics: {level: none}}
  pipelines:
    traces/everything: {receivers: [otlp/peers], processors: [memory_limiter], exporters: [otlp_http/everything]}
`

// newFleet makes all of it and starts nothing but the hooks of each machine's
// first sessions, so that rows choose the order.
func newFleet(t *testing.T, k knobs) *fleet {
	t.Helper()
	binary, err := collector()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, port: addresses(t)}

	address := f.port()
	dir := t.TempDir()
	f.archive = &archive{file: filepath.Join(dir, "archive")}
	f.backend = f.process("backend", otelcol.Options{
		Binary: self, Dir: dir, Args: []string{archiveWord, address, f.archive.file}, Ready: []string{"http://" + address},
	})
	backend := "http://" + address

	var listens, peers []string
	for range max(k.machines, 2) {
		listens, peers = append(listens, f.port()), append(peers, f.port())
	}
	for i := range peers {
		health, dir := f.port(), t.TempDir()
		f.gateways = append(f.gateways, f.process(fmt.Sprintf("gateway %d", i), otelcol.Options{
			Binary: binary, Dir: dir,
			Configs: configs(shipped(t, "gateway.yaml"), fmt.Sprintf(gatewayOverlay, filepath.Join(dir, "queue"), backend), k.gateway),
			Env: []string{
				"GATEWAY_HEALTH=" + health, "GATEWAY_LISTEN=" + listens[i], "GATEWAY_PEER_LISTEN=" + peers[i],
				"GATEWAY_PEERS=[" + strings.Join(peers, ",") + "]", "GATEWAY_METRICS=" + f.port(),
				"BACKEND_ENDPOINT=" + backend + "/sampled", "QUEUE_DIRECTORY=" + filepath.Join(dir, "queue"),
			},
			Ready: []string{"http://" + health, listens[i], peers[i]},
		}))
	}
	for i := range k.machines {
		listen, dir := f.port(), t.TempDir()
		f.agents = append(f.agents, f.process(fmt.Sprintf("agent %d", i), otelcol.Options{
			Binary: binary, Dir: dir,
			Configs: configs(shipped(t, "agent.yaml"), fmt.Sprintf(agentOverlay, filepath.Join(dir, "queue"), listen), k.agent),
			Env: []string{
				"BACKEND_ENDPOINT=http://" + listens[i%len(listens)], "QUEUE_DIRECTORY=" + filepath.Join(dir, "queue"),
			},
			Ready: []string{listen},
		}))
		f.machines = append(f.machines, newMachine(t, fmt.Sprint(i+1), listen))
	}
	return f
}

func configs(all ...string) []string {
	var out []string
	for _, c := range all {
		if c != "" {
			out = append(out, c)
		}
	}
	return out
}

func shipped(t *testing.T, name string) string {
	t.Helper()
	path, err := otelcol.Config(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (f *fleet) process(name string, o otelcol.Options) *process {
	p := &process{name: name, o: o}
	f.t.Cleanup(func() {
		if p.Collector == nil {
			return
		}
		if err := p.Kill(); err != nil {
			f.t.Error(err)
		}
		if f.t.Failed() {
			f.t.Logf("the log of %s ends with:\n%s", p.name, end(p.Log()))
		}
	})
	return p
}

func end(s string) string { return s[max(0, len(s)-3000):] }

// all are the processes, from the backend to the agents.
func (f *fleet) all() []*process {
	out := []*process{f.backend}
	return append(append(out, f.gateways...), f.agents...)
}

func (f *fleet) startAll() {
	f.t.Helper()
	for _, p := range f.all() {
		if p.Collector == nil || !p.Running() {
			p.start(f.t)
		}
	}
}

// firstSessions come to each machine through real hooks, one of each recording.
func (f *fleet) firstSessions() {
	f.t.Helper()
	for _, m := range f.machines {
		for range recordings {
			m.hooks()
		}
		if err := m.open(); err != nil {
			f.t.Fatal(err)
		}
	}
}

// verdict is what the end of a row has found.
type verdict struct {
	want, again int
	// lost are spans that never came.
	lost []otlptest.Span
}

// settled delivers what is left, waits until every stored span has arrived or
// nothing moves any more, and holds what came against what was stored.
func (f *fleet) settled(r *proof.Result) verdict {
	f.t.Helper()
	for _, m := range f.machines {
		m.Settle()
		// An agent whose queue is full refuses until it has sent some.
		left, waiting := m.undelivered()
		for last := waiting + 1; left != "" && waiting < last; {
			last = waiting
			until(f.t.Context(), settle, func() bool { left, waiting = m.undelivered(); return left == "" || waiting < last })
		}
		if left != "" {
			r.Break("machine %s: the last delivery: %s", m.name, left)
		}
	}
	want := make(map[otlptest.ID]otlptest.Span)
	for _, m := range f.machines {
		for id, s := range m.stored() {
			want[id] = s
		}
	}
	missing := func() (out []otlptest.Span) {
		came := f.archive.at(f.t, everything)
		for id, s := range want {
			if came[id] == nil {
				out = append(out, s)
			}
		}
		return out
	}
	v := verdict{want: len(want)}
	for {
		last := f.archive.total(f.t)
		v.lost = missing()
		if len(v.lost) == 0 || !until(f.t.Context(), settle, func() bool { return f.archive.total(f.t) > last }) {
			break
		}
	}
	v.lost = missing()
	for id, a := range f.archive.at(f.t, everything) {
		s, known := want[id]
		switch {
		case !known:
			r.Break("span %v %q came that no hook has stored", id, a.Name)
		case a.changed:
			r.Break("span %v %q came with another content", id, a.Name)
		case !same(&s, a.Span):
			r.Break("span %v %q came with another content than it is stored with", id, a.Name)
		}
		v.again += a.count - 1
	}
	return v
}

// check breaks the rule for what is lost.
func (v *verdict) check(r *proof.Result) {
	for i, s := range v.lost {
		if i == 3 {
			r.Break("and %d more of %d spans are lost", len(v.lost)-i, v.want)
			return
		}
		r.Break("span %v %q is lost", s.ID, s.Name)
	}
}

// figures are what a row's note reports.
func (f *fleet) figures(v verdict) string {
	sessions := 0
	for _, m := range f.machines {
		sessions += m.sessions
	}
	return fmt.Sprintf("%d spans of %d sessions, of which %d came once more", v.want, sessions, v.again)
}
