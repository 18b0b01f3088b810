package security_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// environRows give a process an environment that another than the user set.
var environRows = []proof.Row{
	{
		Waits: true,
		Name:  "an environment that names addresses for headers, a client key and an agent's secret of the env file, other certificates to check its server by, cleartext for it, or an env file that does so",
		Rule:  "no server of the environment's sees a connection, the destination is off, and the variable is named; with its own credentials the environment reaches its own address",
		Short: 30, Rest: true, Run: redirectedByEnvironment,
	},
	{
		Waits: true,
		Name:  "an environment, or an env file that it names, that switches redaction off, replaces the user's rules, or asks for more of the texts than the env file",
		Rule:  "no secret and no more text than the env file allows arrives anywhere, and the variable is named; the same settings in the env file count",
		Short: 24, Rest: true, Run: loosenedByEnvironment,
	},
}

// lured are the ways of an environment to have a credential of the env file sent
// to the address in %s: what the env file says, what the environment says.
var lured = map[string]struct{ own, environ []string }{
	"headers":                 {[]string{"OTEL_EXPORTER_OTLP_HEADERS=api-key=canary"}, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=%s"}},
	"headers, base address":   {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=", "OTEL_EXPORTER_OTLP_ENDPOINT=https://right.example", "OTEL_EXPORTER_OTLP_HEADERS=api-key=canary"}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=%s"}},
	"headers for traces":      {[]string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=Bearer%%20canary"}, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=%s", "OTEL_EXPORTER_OTLP_HEADERS=x=y"}},
	"headers, no address":     {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=", "OTEL_EXPORTER_OTLP_HEADERS=api-key=canary"}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=%s"}},
	"headers, in JSON":        {[]string{"OTEL_EXPORTER_OTLP_HEADERS=api-key=canary"}, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=%s", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}},
	"a client key":            {[]string{"OTEL_EXPORTER_OTLP_CLIENT_KEY=/canary.pem", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=/canary.pem"}, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=%s", "OTEL_EXPORTER_OTLP_HEADERS=x=y"}},
	"a secret":                {nil, []string{"INFINIUM_BASE_URL=%s"}},
	"a secret, another agent": {nil, []string{"INFINIUM_BASE_URL=%s", "INFINIUM_AGENT_ID=evil"}},
	"a secret, cleartext":     {nil, []string{"INFINIUM_BASE_URL=%s", "HOOKSPAN_ALLOW_INSECURE=true"}},
	"cleartext for headers":   {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://right.example/v1/traces", "OTEL_EXPORTER_OTLP_HEADERS=api-key=canary"}, []string{"HOOKSPAN_ALLOW_INSECURE=true", "HTTP_PROXY=%s"}},
	"cleartext for a query":   {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://right.example/v1/traces?key=canary"}, []string{"HOOKSPAN_ALLOW_INSECURE=true", "HTTP_PROXY=%s"}},
	"cleartext for a secret":  {[]string{"INFINIUM_BASE_URL=http://right.example"}, []string{"HOOKSPAN_ALLOW_INSECURE=true", "HTTP_PROXY=%s"}},
	"other certificates":      {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://right.example", "OTEL_EXPORTER_OTLP_HEADERS=api-key=canary"}, []string{"OTEL_EXPORTER_OTLP_CERTIFICATE=/evil.pem", "HTTPS_PROXY=%s"}},
}

func redirectedByEnvironment(t *testing.T, r *proof.Result) {
	p := newTrap(t)
	at := fmt.Sprintf("http://127.0.0.1:%d", p.Port)
	fill := func(in []string) []string {
		var out []string
		for _, s := range in {
			if strings.Contains(s, "%") {
				s = strings.ReplaceAll(strings.ReplaceAll(s, "%s", at), "%%", "%")
			}
			out = append(out, s)
		}
		return out
	}
	reached := 0
	for how, l := range lured {
		w := lab.New(t, append(fill(l.own), "HOOKSPAN_FILE_PATH=")...)
		w.OTLP.Always(otlptest.Status(503, "later"))
		w.Infinium.Always(infiniumtest.Status(503, "later"))
		w.Play(task(t, "lured", "prompt", "read_file", "a.go", "done"))
		endSweeps(t, w)
		w.Environ = append(w.Environ, fill(l.environ)...)
		for _, command := range [][]string{{"flush", "--other-settings"}, {"test"}, {"doctor"}, {"config"}} {
			out, errs, _ := w.Hookspan(command...)
			for _, v := range p.Visits() {
				r.Break("%s: %s went to the environment's address: %.300q", how, command[0], v)
			}
			name, _, _ := strings.Cut(l.environ[0], "=")
			if strings.HasPrefix(name, "HOOKSPAN_ALLOW") {
				name = "cleartext" // what it would allow is named, not what does not count
			}
			if !strings.Contains(out+errs, name) {
				r.Break("%s: %s does not say %s: %s%s", how, command[0], name, out, errs)
			}
			r.Trial(1)
		}
		// A check of the row: with the user's credentials the request arrives.
		w.Environ = append(w.Environ, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+at, "OTEL_EXPORTER_OTLP_TRACES_HEADERS=x=y", "HTTP_PROXY=",
			"INFINIUM_BASE_URL="+at, "INFINIUM_AGENT_ID=own", "INFINIUM_AGENT_SECRET=own-secret-of-it")
		if slices.Contains([]string{"headers", "a secret"}, how) {
			w.Hookspan("flush", "--other-settings")
			reached += len(p.Visits())
		}
	}
	if reached == 0 {
		r.Break("the trap is reached by no environment, so it would not have been")
	}
}

func loosenedByEnvironment(t *testing.T, r *proof.Result) {
	long := strings.Repeat("word ", 400) + "END-OF-TEXT"
	ways := map[string]struct{ own, environ []string }{
		"redaction off":              {nil, []string{"HOOKSPAN_REDACT=false"}},
		"redaction off, in capitals": {nil, []string{"HOOKSPAN_REDACT=OFF"}},
		"whole texts over previews":  {[]string{"HOOKSPAN_CAPTURE=preview"}, []string{"HOOKSPAN_CAPTURE=full"}},
		"whole texts over none":      {[]string{"HOOKSPAN_CAPTURE=none"}, []string{"HOOKSPAN_CAPTURE=full"}},
		"endless previews":           {[]string{"HOOKSPAN_CAPTURE=preview"}, []string{"CONNECTOR_MAX_OUTPUT_PREVIEW=1000000", "CONNECTOR_MAX_INPUT_PREVIEW=1000000"}},
		"other rules":                {[]string{"HOOKSPAN_CAPTURE=full"}, []string{"HOOKSPAN_REDACT_FILE=%s/none.rules"}},
		"an env file":                {[]string{"HOOKSPAN_CAPTURE=preview"}, []string{"HOOKSPAN_CONFIG_FILE=%s/evil.env"}},
	}
	for how, l := range ways {
		for _, allowed := range []bool{false, true} {
			w := lab.New(t, l.own...)
			w.Write("none.rules", "nothing NOTHING\n")
			w.Write(filepath.Join(".config", "hookspan", "redact.rules"), "word OUR-SECRET-WORD\n")
			var environ []string
			for _, s := range l.environ {
				environ = append(environ, strings.ReplaceAll(s, "%s", w.Home))
			}
			w.Write("evil.env", "HOOKSPAN_REDACT=false\nHOOKSPAN_CAPTURE=full\nCONNECTOR_MAX_OUTPUT_PREVIEW=1000000\n"+
				"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+w.OTLP.URL()+"\n")
			name, _, _ := strings.Cut(l.environ[0], "=")
			switch {
			case !allowed:
				w.Environ = append(w.Environ, environ...)
			case name == "HOOKSPAN_CONFIG_FILE":
				w.Set("HOOKSPAN_REDACT=false", "HOOKSPAN_CAPTURE=full")
			default:
				w.Set(environ...)
			}
			w.Play(task(t, "loosened", "prompt "+secret+" OUR-SECRET-WORD", "read_file", "a "+secret, "OUR-SECRET-WORD "+long))
			endSweeps(t, w)
			w.Hookspan("flush", "--other-settings")
			all := ""
			for place, text := range w.Outputs() {
				all += place + text
			}
			spans, whole := w.OTLP.Spans(), false
			for _, s := range spans {
				text := fmt.Sprint(s)
				all += text
				whole = whole || strings.HasPrefix(s.Name, "execute_tool") && strings.Contains(text, "END-OF-TEXT")
			}
			if len(spans) == 0 {
				r.Break("%s: nothing arrived", how)
			}
			loose := strings.Contains(all, secret) || strings.Contains(all, "OUR-SECRET-WORD") || how != "other rules" && !strings.HasPrefix(how, "redaction") && whole
			if loose != allowed {
				r.Break("%s: in the env file %t: a secret or a whole text came out: %t", how, allowed, loose)
			}
			out, errs, _ := w.Hookspan("config")
			if said := strings.Contains(errs, "keeps more of the texts") || strings.Contains(errs, "counts in the env file alone"); said == (allowed || how == "other rules") {
				r.Break("%s: in the env file %t: config says %s%s", how, allowed, out, errs)
			}
			r.Trial(2)
		}
	}
}
