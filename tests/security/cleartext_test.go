package security_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// cleartextRows name other machines by http and give something to steal.
var cleartextRows = []proof.Row{
	{
		Name:  "http addresses that only look like this machine, with headers, users, passwords, queries and agents' secrets",
		Rule:  "refused, and the setting named; the same goes out with HOOKSPAN_ALLOW_INSECURE=true",
		Short: 100, Run: cleartext,
	},
}

// others are addresses of other machines, some of them in disguise.
var others = []string{
	"http://collector.example", "http://localhost.evil.example", "http://127.0.0.1.nip.io", "http://127.0.0.1.evil.example:4318",
	"http://localhost@evil.example", "http://127.0.0.1:4318@evil.example", "http://localhost:4318%40evil.example", "http://evil.example#@localhost",
	"http://evil.example?@localhost", "http://evil.example/?localhost", "http://[::ffff:1.2.3.4]", "http://[::ffff:10.0.0.1]:4318", "http://[64:ff9b::7f00:1]",
	"http://[fe80::1%25eth0]", "http://[2001:db8::1]", "http://16909060", "http://0x01020304", "http://0102.3.4.5", "http://1.2.772", "http://10.0.0.1",
	"http://192.168.0.1", "http://169.254.169.254", "http://0.0.0.0", "http://[::]", "http://0", "http://127.1", "http://2130706433", "http://0x7f000001",
	"http://017700000001", "http://evil.localhost.", "http://localhost..", "http://localhost.evil", "http://loc\u0430lhost", "http://xn--loclhost-2fg", "http://ⓛocalhost",
	"http://localhost\u3002evil.example", "http://127。0。0。1", "http://l\u00f6calhost", "HTTP://EVIL.EXAMPLE", "http://evil.localhost", "http://localhost6",
}

// said are the ways to give a destination something that must not be read on the
// way: settings, with %s for the address.
var said = map[string][]string{
	"headers":             {"OTEL_EXPORTER_OTLP_ENDPOINT=%s", "OTEL_EXPORTER_OTLP_HEADERS=api-key=canary"},
	"headers for traces":  {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=%s", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=Bearer%%20canary"},
	"address for traces":  {"OTEL_EXPORTER_OTLP_ENDPOINT=https://right.example", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=%s", "OTEL_EXPORTER_OTLP_HEADERS=api-key=canary"},
	"headers in JSON":     {"OTEL_EXPORTER_OTLP_ENDPOINT=%s", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "OTEL_EXPORTER_OTLP_HEADERS=x-honeycomb-team=canary"},
	"an agent's secret":   {"INFINIUM_BASE_URL=%s", "INFINIUM_AGENT_ID=agent-1", "INFINIUM_AGENT_SECRET=canary-secret"},
	"a query":             {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=%s?api_key=canary"},
	"a user":              {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://canary:canary@%s"},
	"a wrong switch":      {"OTEL_EXPORTER_OTLP_ENDPOINT=%s", "OTEL_EXPORTER_OTLP_HEADERS=api-key=canary", "HOOKSPAN_ALLOW_INSECURE=maybe"},
	"OTel's own switches": {"OTEL_EXPORTER_OTLP_ENDPOINT=%s", "OTEL_EXPORTER_OTLP_HEADERS=api-key=canary", "OTEL_EXPORTER_OTLP_INSECURE=true", "OTEL_EXPORTER_OTLP_TRACES_INSECURE=true"},
}

func cleartext(t *testing.T, r *proof.Result) {
	p := newTrap(t)
	w := lab.New(t)
	// Whatever would leave this machine in cleartext comes to the trap instead,
	// so that no name has to be looked up.
	base := []string{"HOME=" + w.Home, "PATH=/nowhere", fmt.Sprintf("HTTP_PROXY=http://127.0.0.1:%d", p.Port), fmt.Sprintf("http_proxy=http://127.0.0.1:%d", p.Port)}
	w.Write(".config/hookspan/hookspan.env", "HOOKSPAN_IDLE_TIMEOUT=8760h\n")
	w.Environ = base
	w.Play(task(t, "cleartext", "prompt", "read_file", "a.go", "done"))
	endSweeps(t, w)
	let := 0
	try := func(how, address string, insecure bool) {
		var env []string
		for _, s := range said[how] {
			if strings.Contains(s, "http://canary:canary@%s") {
				_, bare, _ := strings.Cut(address, "://")
				s = fmt.Sprintf(s, bare)
			} else if strings.Contains(s, "%s") {
				s = fmt.Sprintf(s, address)
			}
			env = append(env, strings.ReplaceAll(s, "%%", "%"))
		}
		if insecure {
			env = append(env, "HOOKSPAN_ALLOW_INSECURE=true")
		}
		w.Environ = append(slices.Clone(base), env...)
		out, errs, _ := w.Hookspan("flush", "--other-settings")
		visits := p.Visits()
		switch {
		case insecure:
			if len(visits) > 0 {
				let++
			}
			return
		case len(visits) > 0:
			r.Break("%s to %s: went out in cleartext: %.300q", how, address, visits[0])
		case !strings.Contains(out+errs, "cleartext") && !strings.Contains(out+errs, "allowed an http or https URL") && !strings.Contains(out+errs, "unencrypted"):
			r.Break("%s to %s: nothing was said of it: %q %q", how, address, out, errs)
		}
		if strings.Contains(out+errs, "canary") {
			r.Break("%s to %s: the secret is printed: %q %q", how, address, out, errs)
		}
		r.Trial(1)
	}
	for i, address := range others {
		for j, how := range []string{"headers", "headers for traces", "address for traces", "headers in JSON", "an agent's secret", "a query", "a user", "a wrong switch", "OTel's own switches"} {
			if how == "a query" && strings.Contains(address, "#") {
				continue // it is part of the fragment, which is not sent
			}
			// Each address with a third of the ways in the short run.
			if !proof.Soak() && (i+j)%3 != 0 {
				continue
			}
			try(how, address, false)
		}
	}
	// The row's own measure: with the switch each way would have reached the trap.
	for how := range said {
		if how != "a wrong switch" {
			try(how, "http://collector.example", true)
		}
	}
	if want := len(said) - 1; let != want {
		r.Break("with HOOKSPAN_ALLOW_INSECURE=true %d of %d ways reach the proxy", let, want)
	}
	r.Note("%d ways reach their destination where it is allowed", let)
}
