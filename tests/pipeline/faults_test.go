package pipeline_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/lab"
)

// TestOutage has two destinations down when the task ends. The others are not
// held up, and later the two get what they missed, under the same ids.
func TestOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.OTLP.Always(otlptest.Status(503, "down"))
	w.Infinium.Always(infiniumtest.CloseBefore())
	s := sessions[0]
	s.install(w)
	w.Play(lab.Recording(t, payloads, s.dir))
	// The hook's own delivery has met the outage and lingers to try again.
	if err := w.OTLP.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := w.Infinium.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := lab.EndDeliveries(w.Home); err != nil {
		t.Fatal(err)
	}
	for name, r := range w.Flush() {
		down := name == "otlp" || name == "infinium"
		if down != (r.Waiting > 0) || down != (len(r.Errors) > 0) || r.Parked != 0 {
			t.Errorf("while two are down: %s: %+v", name, r)
		}
	}
	want := rows(s.golden(t, true))
	if diff := gocmp.Diff(want, rows(w.Stored())); diff != "" {
		t.Errorf("the store was held up (-golden +got):\n%s", diff)
	}
	if n := len(w.OTLP.Spans()) + len(w.Infinium.Traces()); n != 0 {
		t.Fatalf("%d spans and traces were taken during the outage", n)
	}

	w.OTLP.Reset()
	w.Infinium.Reset()
	for name, r := range w.Flush() {
		if r.Waiting != 0 || r.Parked != 0 {
			t.Errorf("after the outage: %s: %+v", name, r)
		}
	}
	if diff := gocmp.Diff(want, rows(w.OTLP.Spans())); diff != "" {
		t.Errorf("after the outage: otlp differs (-golden +got):\n%s", diff)
	}
	if n := len(w.Infinium.Traces()); n != 4 {
		t.Errorf("after the outage: infinium has %d traces, want 4", n)
	}
}

// TestKilledHooks kills hooks: one in the middle of each payload, which is not
// acknowledged, and the one that stores the event in the moment it has answered,
// before it could start a delivery. Nothing that was answered is lost.
func TestKilledHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := sessions[0]
	s.install(w)
	for _, e := range lab.Recording(t, payloads, s.dir) {
		w.killInPayload(e)
		w.killAfterAnswer(e)
	}
	w.Settle()
	w.Flush()
	w.holds(t, "after every hook was killed", rows(s.golden(t, true)))
	w.adds(t, "a second flush", 0)
	w.quiet(t)
}

// killInPayload kills a hook that has got half of its payload.
func (w *world) killInPayload(e lab.Event) {
	w.T.Helper()
	cmd := w.Program("cline-hook", e.Name)
	in, err := cmd.StdinPipe()
	if err != nil {
		w.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	if _, err := in.Write(e.Payload[:len(e.Payload)/2]); err != nil {
		w.T.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		w.T.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		w.T.Fatal("the hook was not killed")
	}
}

// killAfterAnswer kills a hook as soon as its answer has been read.
func (w *world) killAfterAnswer(e lab.Event) {
	w.T.Helper()
	cmd := w.Program("cline-hook", e.Name)
	cmd.Stdin = bytes.NewReader(e.Payload)
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	answer, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || answer != neutral {
		w.T.Fatalf("%s: answered %q, %v", e.Name, answer, err)
	}
	// It may have ended by itself by now.
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// TestTraceparent makes the runs children of the context in the environment.
func TestTraceparent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, e := range lab.Recording(t, payloads, "e2e-cli2/ok") {
		w.Hook(e.Name, e.Payload, "HOOKSPAN_TRACEPARENT=00-"+trace+"-"+parent+"-01")
	}
	w.Settle()
	roots := 0
	for _, s := range w.OTLP.Spans() {
		if s.Trace != trace {
			t.Errorf("span %q is of trace %s, want %s", s.Name, s.Trace, trace)
		}
		if s.Parent == parent {
			roots++
		}
	}
	if roots != 1 {
		t.Errorf("%d spans below the parent, want the root", roots)
	}
}

// TestHooksDoNotCareForOTLPVariables sets what another program in the same
// environment may want: the hook answers as always, and the env file's wrong
// line is named without harm to the rest.
func TestHooksDoNotCareForOTLPVariables(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "HOOKSPAN_RETENTION=for ever")
	w.Environ = append(w.Environ, "OTEL_TRACES_EXPORTER=console", "OTEL_EXPORTER_OTLP_INSECURE=maybe",
		"OTEL_BSP_SCHEDULE_DELAY=x", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=1", "OTEL_SERVICE_NAME=mine",
		"OTEL_RESOURCE_ATTRIBUTES=team=a%20b")
	s := sessions[3]
	s.install(w)
	w.Play(lab.Recording(t, payloads, s.dir))
	w.Settle()
	w.holds(t, "with other programs' variables", rows(s.golden(t, true)))
	for _, span := range w.OTLP.Spans() {
		got := map[string]string{}
		for _, a := range span.Resource.GetAttributes() {
			got[a.GetKey()] = a.GetValue().GetStringValue()
		}
		if got["service.name"] != "mine" || got["team"] != "a b" {
			t.Fatalf("resource %v, want service.name and team from the environment", got)
		}
	}
	if _, said, code := w.Hookspan("config"); code != 1 || !strings.Contains(said, "HOOKSPAN_RETENTION") {
		t.Errorf("hookspan config said %q with code %d", said, code)
	}
}

// TestPrivateFiles looks at who may read what hookspan has written.
func TestPrivateFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Play(lab.Recording(t, payloads, "e2e-cli2/ok"))
	w.Settle()
	n := 0
	err := filepath.Walk(filepath.Join(w.Home, ".local"), func(path string, info os.FileInfo, err error) error {
		if err == nil && strings.HasPrefix(path, w.State()) {
			n++
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v: others can read it", path, info.Mode())
			}
		}
		return err
	})
	if err != nil || n < 5 {
		t.Errorf("%d files looked at: %v", n, err)
	}
	if info, err := os.Stat(w.File()); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file destination has mode %v (%v)", info.Mode(), err)
	}
}

// TestCaptureNone marks every text of prompts, tools and answers and finds none
// of it anywhere. Where the user works, the model's name and the host's ids are
// no such texts.
func TestCaptureNone(t *testing.T) {
	const mark = "xyzzymark"
	places := func(capture string) map[string]string {
		w := newWorld(t, "HOOKSPAN_CAPTURE="+capture)
		w.playPlanted(func(field string) string {
			switch field {
			case "workspaceRoots", "rootPath", "hint", "userId", "provider", "slug", "model", "modelId", "cwd", "workspace_root",
				"providerId", "modelProviderId", "host_name", "host_version", "version", "cancelReason",
				"permission_mode", "agent_type", "agentType", "gitBranch":
				return "" // where and with what, not what was said
			}
			return mark + strings.ToLower(field)
		})
		out := map[string]string{}
		for place, text := range w.Outputs() {
			if i := strings.Index(text, mark); i >= 0 {
				out[place] = text[max(0, i-100):min(len(text), i+60)]
			}
		}
		return out
	}
	if len(places("preview")) < 20 {
		t.Error("the marks cannot be found even where texts are captured")
	}
	for place, text := range places("none") {
		b, _ := json.Marshal(text)
		t.Errorf("%s holds %s", place, b)
	}
}
