package collector_test

import (
	"os"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

var sampledRows = []proof.Row{{
	Name:  "SIGKILL of both gateways with traces sampled and not yet sent, and with traces not yet decided on",
	Rule:  "failed traces that were decided on reach the backend whole; every span reaches a pipeline that is not sampled",
	Short: 16, Long: 300,
	Run: killSampling,
}}

// killSampling counts sessions, half of which meet each of the two kills.
func killSampling(t *testing.T, r *proof.Result) {
	needsLab(r)
	// What the shipped policies keep is for other tests: here it is what holds a
	// failed span, because the recordings have no failed run. With as many
	// consumers as there are requests, everything that was decided on is offered
	// to a backend that refuses it.
	f := newFleet(t, knobs{machines: 2, gateway: `yaml:
processors:
  tail_sampling:
    decision_wait: 4s
    decision_wait_after_root_received: 4s
    policies: [{name: failed, type: status_code, status_code: {status_codes: [ERROR]}}]
exporters: {otlp_http: {sending_queue: {storage: file_storage, num_consumers: 1000}, retry_on_failure: {max_elapsed_time: 0s}}}
`})
	refuse := f.archive.file + refuseSuffix
	if err := os.WriteFile(refuse, []byte(sampled), 0o600); err != nil {
		t.Fatal(err)
	}
	f.startAll()
	f.firstSessions()
	f.some(r, r.N/2)
	failed := f.failed()
	if len(failed) == 0 {
		t.Fatal("no trace of these sessions has failed")
	}
	came := func(path string) (missing int) {
		have := f.archive.at(t, path)
		for id := range failed {
			if have[id] == nil {
				missing++
			}
		}
		return missing
	}
	if !until(t.Context(), settle, func() bool { return came(offered+sampled) == 0 }) {
		t.Fatalf("%d of %d spans of failed traces have not been offered to the backend", came(offered+sampled), len(failed))
	}
	f.killGateways()
	if err := os.Remove(refuse); err != nil {
		t.Fatal(err)
	}
	f.startAll()
	if !until(t.Context(), settle, func() bool { return came(sampled) == 0 }) {
		r.Break("%d of %d spans of failed traces that were decided on are lost", came(sampled), len(failed))
	}

	decided := failed
	f.some(r, r.N-r.N/2)
	failed = f.failed()
	for id := range decided {
		delete(failed, id)
	}
	if !until(t.Context(), settle, func() bool { return came(everything) == 0 }) {
		r.Break("%d of %d spans never came to the pipeline that is not sampled", came(everything), len(failed))
	}
	f.killGateways()
	f.startAll()
	v := f.settled(r)
	v.check(r)
	// What was decided on before the kill may be on its way still.
	for last := -1; last != f.archive.total(t); {
		last = f.archive.total(t)
		until(t.Context(), 10*time.Second, func() bool { return f.archive.total(t) > last })
	}
	r.Note("all %d spans of failed traces that were decided on came; of %d that were not, %d were lost to the sample; %s",
		len(decided), len(failed), came(sampled), f.figures(v))
}

// some stores sessions on all machines and delivers them.
func (f *fleet) some(r *proof.Result, sessions int) {
	f.t.Helper()
	for n := range sessions {
		if err := f.machines[n%len(f.machines)].store(); err != nil {
			f.t.Fatal(err)
		}
		r.Trial(1)
	}
	for _, m := range f.machines {
		if res := m.Flush()["otlp"]; len(res.Errors) > 0 || res.Waiting > 0 {
			f.t.Fatalf("machine %s: %+v", m.name, res)
		}
	}
}

// failed are the spans of all stored traces in which a span has failed.
func (f *fleet) failed() map[otlptest.ID]bool {
	f.t.Helper()
	out := make(map[otlptest.ID]bool)
	for _, m := range f.machines {
		all, bad := m.stored(), make(map[string]bool)
		for id, s := range all {
			if s.Proto.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
				bad[id.Trace] = true
			}
		}
		for id := range all {
			if bad[id.Trace] {
				out[id] = true
			}
		}
	}
	return out
}

func (f *fleet) killGateways() {
	f.t.Helper()
	for _, p := range f.gateways {
		if err := p.Kill(); err != nil {
			f.t.Fatal(err)
		}
	}
}
