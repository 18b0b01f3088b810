package security_test

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/faultserver"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// tlsRows have servers prove who they are in ways that do not hold. Which certificates do not is
// tested in internal/outbound, which all programs connect with.
var tlsRows = []proof.Row{
	{
		Name: "https servers with a certificate of no known authority and with TLS 1.1, beside every switch that other programs have for that: " +
			"OTLP, Infinium, http hooks",
		Rule:  "no request reaches the server; a right certificate is taken",
		Short: 24, Rest: true, Run: impostors,
	},
}

// switches are what people set to make other programs take any certificate.
var switches = []string{
	"NODE_TLS_REJECT_UNAUTHORIZED=0", "OTEL_EXPORTER_OTLP_INSECURE=true", "OTEL_EXPORTER_OTLP_TRACES_INSECURE=true", "OTEL_EXPORTER_OTLP_INSECURE_SKIP_VERIFY=true",
	"HOOKSPAN_ALLOW_INSECURE=true", "HOOKSPAN_INSECURE_SKIP_VERIFY=true", "GIT_SSL_NO_VERIFY=1", "PYTHONHTTPSVERIFY=0", "GOINSECURE=*", "CURL_INSECURE=1",
	"GODEBUG=tls10server=1,tls3des=1,tlsrsakex=1,x509sha1=1,x509ignoreCN=0,x509negativeserial=1,tlsmaxrsasize=99999,tls10client=1",
}

func impostors(t *testing.T, r *proof.Result) {
	known := httptest.NewTLSServer(nil)
	t.Cleanup(known.Close)
	w := lab.New(t)
	w.Write("known.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate().Raw})))
	w.Write(filepath.Join(".config", "hookspan", "hookspan.env"), "HOOKSPAN_IDLE_TIMEOUT=8760h\n")
	w.Play(task(t, "tls", "prompt", "read_file", "a.go", "done"))
	w.Settle()
	base := append(slices.Clone(w.Environ), "SSL_CERT_DIR=/nowhere", "OTEL_EXPORTER_OTLP_HEADERS=api-key=canary",
		"INFINIUM_AGENT_ID=agent-1", "INFINIUM_AGENT_SECRET=canary-secret")
	roots := filepath.Join(w.Home, "known.pem")
	trusting := []string{"SSL_CERT_FILE=" + roots, "OTEL_EXPORTER_OTLP_CERTIFICATE=" + roots}
	for _, s := range []struct {
		name     string
		settings []string
		newest   uint16
		good     bool
	}{
		{"a right certificate", trusting, tls.VersionTLS13, true},
		{"a certificate of no known authority", []string{"SSL_CERT_FILE=/nowhere"}, tls.VersionTLS13, false},
		{"TLS 1.1", trusting, tls.VersionTLS11, false},
	} {
		asked := 0
		server, err := faultserver.Start(faultserver.Options[faultserver.Answer, faultserver.Incoming]{
			Name: s.name, MaxRead: 1 << 20,
			TLS:  &tls.Config{Certificates: known.TLS.Certificates, MinVersion: tls.VersionTLS10, MaxVersion: s.newest}, //nolint:gosec // That is the point.
			Read: func(in faultserver.Incoming) *faultserver.Incoming { return &in },
			// The trace stays waiting for the next server.
			Choose: func(*faultserver.Incoming, func() (faultserver.Answer, bool)) faultserver.Answer {
				asked++
				return faultserver.Answer{Status: 503}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ended := func(program, kind, said string) {
			var n int
			server.Locked(func() { n, asked = asked, 0 })
			if s.good != (n > 0) {
				r.Break("%s, %s, %.60s: %d requests reached the server: %s", s.name, program, kind, n, said)
			}
			r.Trial(1)
		}
		for _, kind := range []string{"NONE=1", strings.Join(switches, "\n")} {
			// The last GODEBUG is the one that counts.
			env := append(append(slices.Clone(base), s.settings...), strings.Split(kind, "\n")...)
			for destination, settings := range map[string][]string{
				"otlp": {"HOOKSPAN_EXPORTERS=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT=" + server.Base()},
				"otlp, as JSON": {
					"HOOKSPAN_EXPORTERS=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json",
					"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.Base(),
				},
				"infinium": {"HOOKSPAN_EXPORTERS=infinium", "INFINIUM_BASE_URL=" + server.Base()},
			} {
				w.Environ = append(slices.Clone(env), settings...)
				out, errs, _ := w.Hookspan("flush", "--other-settings")
				ended(destination, kind, out+errs)
			}
			w.Environ = env
			w.Write(filepath.Join(".cline", "hooks.json"), fmt.Sprintf(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"http","url":%q,"headers":{"x":"canary"}}]}]}}`, server.Base()))
			call := clineEvent(t, "hooked", "PreToolUse", object{"preToolUse": object{"toolName": "read_file", "parameters": object{"path": s.name + kind}}})
			if err := w.TryHook("PreToolUse", call.Payload); err != nil {
				r.Break("%s: %v", s.name, err)
			}
			ended("http hook", kind, "")
		}
		server.Close()
	}
}
