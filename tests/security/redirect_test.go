package security_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/faultserver"
	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// redirectRows have a destination lead the sender, with its credentials, to
// another server. Which answers could is tested in internal/outbound, which all
// programs connect with.
var redirectRows = []proof.Row{
	{
		Waits: true,
		Name: "destinations that answer with a redirect to another host name, port or scheme, with every kind of credential: " +
			"OTLP protobuf and JSON, Infinium",
		Rule:  "the other server sees no connection at all; the trace waits",
		Short: 12, Rest: true, Run: redirects,
	},
	{
		Waits: true,
		Name:  "http hooks of the user that are answered so",
		Rule:  "as above; the hook fails and the agent continues",
		Short: 2, Run: hookRedirects,
	},
	{
		Waits: true,
		Name:  "answers that set cookies, and name other services, pages and proxies to use",
		Rule:  "no later request carries a cookie or goes elsewhere",
		Short: 8, Rest: true, Run: cookies,
	},
	{
		Name:  "proxy variables beside addresses of this machine, in every way to write them",
		Rule:  "the proxy sees no connection",
		Short: 16, Run: proxiedLoopback,
	},
}

// moved are two answers that lead a client on: with a GET, and with what it sent.
var moved = []int{302, 307}

// elsewhere are the ways to name a trap on a port of this machine as seen from a
// server on 127.0.0.1.
func elsewhere(port int) []string {
	return []string{
		fmt.Sprintf("http://localhost:%d/v1/traces", port),  // another port and name
		fmt.Sprintf("https://127.0.0.1:%d/v1/traces", port), // and another scheme
	}
}

// credentials are the settings with which the OTLP destination identifies
// itself, and what must be in the requests of each.
var credentials = map[string]struct {
	headers, user, query, protocol string
	want                           map[string]string
}{
	"headers, protobuf": {
		headers: "authorization=Bearer%20canary-token,api-key=canary-key,x-honeycomb-team=canary-team,x-api-key=canary-x,cookie=sid%3Dcanary",
		want:    map[string]string{"Authorization": "Bearer canary-token", "Api-Key": "canary-key", "X-Honeycomb-Team": "canary-team", "X-Api-Key": "canary-x", "Cookie": "sid=canary"},
	},
	"headers as Langfuse has them, JSON": {
		headers: "Authorization=Basic%20" + base64.StdEncoding.EncodeToString([]byte("pk-lf-canary:sk-lf-canary")), protocol: "http/json",
		want: map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("pk-lf-canary:sk-lf-canary"))},
	},
	"user and query in the address": {
		user: "canary:s3cret-canary", query: "?api_key=canary-in-query",
		want: map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("canary:s3cret-canary"))},
	},
}

// finished is a machine with one task that is delivered to the local store alone:
// its other destinations answer with a redirect to begin with.
func finished(t *testing.T, p *trap, settings ...string) *lab.World {
	t.Helper()
	w := lab.New(t, settings...)
	to := elsewhere(p.Port)[0]
	w.OTLP.Always(otlptest.Redirect(307, to))
	w.Infinium.Always(infiniumtest.Redirect(307, to))
	w.Play(task(t, "redirected", "prompt", "read_file", "a.go", "done"))
	endSweeps(t, w)
	return w
}

// endSweeps ends deliveries that would keep trying a destination that refuses.
func endSweeps(t *testing.T, w *lab.World) {
	t.Helper()
	if err := lab.EndDeliveries(w.Home); err != nil {
		t.Fatal(err)
	}
}

func redirects(t *testing.T, r *proof.Result) {
	p := newTrap(t)
	sent := 0
	for name, c := range credentials {
		w := finished(t, p, "OTEL_EXPORTER_OTLP_HEADERS="+c.headers, "OTEL_EXPORTER_OTLP_PROTOCOL="+c.protocol)
		endpoint := strings.Replace(w.OTLP.URL(), "http://", "http://"+at(c.user), 1) + c.query
		w.Set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + endpoint)
		for _, code := range moved {
			for _, to := range elsewhere(p.Port) {
				w.OTLP.Always(otlptest.Redirect(code, to))
				w.Infinium.Always(infiniumtest.Redirect(code, to))
				before := len(w.OTLP.Requests()) + len(w.Infinium.Requests())
				out, errs, _ := w.Hookspan("flush", "--other-settings")
				if got := len(w.OTLP.Requests()) + len(w.Infinium.Requests()) - before; got == 0 {
					r.Break("%s: %d to %s: nothing was sent to the first server: %s%s", name, code, to, out, errs)
				}
				for _, said := range p.Visits() {
					r.Break("%s: %d to %s was followed: %.300q", name, code, to, said)
				}
				r.Trial(1)
			}
		}
		for _, req := range w.OTLP.Requests() {
			if !has(req.Header, c.want) && !strings.HasPrefix(name, "user") {
				r.Break("%s: a request without its credentials: %v", name, req.Header)
			}
			sent++
		}
		for _, req := range w.Infinium.Requests() {
			if req.Header.Get("X-Agent-Key") != infiniumtest.AgentSecret {
				r.Break("%s: a request to Infinium without its key: %v", name, req.Header)
			}
			sent++
		}
	}
	r.Note("%d requests with credentials at the first servers", sent)
}

func at(user string) string {
	if user == "" {
		return ""
	}
	return user + "@"
}

func has(h http.Header, want map[string]string) bool {
	for k, v := range want {
		if h.Get(k) != v {
			return false
		}
	}
	return true
}

func hookRedirects(t *testing.T, r *proof.Result) {
	w, p := lab.New(t), newTrap(t)
	seen := 0
	answer := faultserver.Answer{}
	s, err := faultserver.Start(faultserver.Options[faultserver.Answer, faultserver.Incoming]{
		Name: "hook", MaxRead: 1 << 20,
		Read: func(in faultserver.Incoming) *faultserver.Incoming { return &in },
		Choose: func(in *faultserver.Incoming, _ func() (faultserver.Answer, bool)) faultserver.Answer {
			seen++
			if in.Header.Get("Authorization") != "Bearer canary-token" || in.Header.Get("X-Api-Key") != "canary-x" {
				r.Break("the hook was asked without its credentials: %v", in.Header)
			}
			return answer
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w.Write(filepath.Join(".cline", "hooks.json"), fmt.Sprintf(`{"hooks":{"PreToolUse":[{"hooks":[
		{"type":"http","url":%q,"headers":{"Authorization":"Bearer $HOOK_TOKEN","X-Api-Key":"canary-x"},"allowedEnvVars":["HOOK_TOKEN"]}]}]}}`, s.Base()+"/hook"))
	targets := elsewhere(p.Port)
	for i := range r.N {
		code, to := moved[i], targets[i]
		s.Locked(func() { answer = faultserver.Answer{Status: code, Header: faultserver.Location(to)} })
		call := clineEvent(t, "hooked", "PreToolUse", object{"preToolUse": object{"toolName": "read_file", "parameters": object{"path": fmt.Sprint(i)}}})
		if err := w.TryHook("PreToolUse", call.Payload, "HOOK_TOKEN=canary-token"); err != nil {
			r.Break("%d to %s: %v", code, to, err)
		}
		for _, said := range p.Visits() {
			r.Break("%d to %s was followed: %.300q", code, to, said)
		}
		r.Trial(1)
	}
	s.Locked(func() {
		if seen != r.N {
			r.Break("the hook was asked %d times, want %d", seen, r.N)
		}
	})
}

func cookies(t *testing.T, r *proof.Result) {
	p := newTrap(t)
	w := finished(t, p, "OTEL_EXPORTER_OTLP_HEADERS=api-key=canary-key")
	to := elsewhere(p.Port)[0]
	header := http.Header{
		"Set-Cookie": {"sid=tracked; Path=/; Max-Age=99999", "sid2=tracked; Domain=localhost", "__Host-x=tracked; Secure; Path=/"},
		"Location":   {to}, "Refresh": {"0; url=" + to}, "Alt-Svc": {fmt.Sprintf(`h2="localhost:%d"; ma=86400, h3=":%d"`, p.Port, p.Port)},
		"Content-Location": {to}, "Link": {"<" + to + ">; rel=preconnect"}, "Proxy-Authenticate": {"Basic"}, "Www-Authenticate": {`Basic realm="x"`},
		"Strict-Transport-Security": {"max-age=1"}, "Clear-Site-Data": {`"*"`}, "Report-To": {`{"endpoints":[{"url":"` + to + `"}]}`},
	}
	for _, code := range []int{503, 307, 401, 200} {
		// Two in a row of one process, then another process.
		w.OTLP.Always(otlptest.Answer{Status: code, Header: header, Refuse: true})
		w.Infinium.Always(infiniumtest.Response{Status: code, Header: header, Body: "{}"})
		for range 2 {
			w.Play(task(t, fmt.Sprintf("cookies-%d", code), "prompt", "read_file", "a.go", "done"))
			endSweeps(t, w)
			w.Hookspan("flush")
			r.Trial(1)
		}
	}
	for _, said := range p.Visits() {
		r.Break("led elsewhere: %.300q", said)
	}
	n := 0
	for _, req := range w.OTLP.Requests() {
		if c := req.Header["Cookie"]; c != nil {
			r.Break("a request with a cookie: %q", c)
		}
		n++
	}
	for _, req := range w.Infinium.Requests() {
		if c := req.Header["Cookie"]; c != nil {
			r.Break("a request with a cookie: %q", c)
		}
		n++
	}
	r.Note("%d requests", n)
}

func proxiedLoopback(t *testing.T, r *proof.Result) {
	p := newTrap(t)
	w := finished(t, p, "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20canary-token")
	w.OTLP.Always(otlptest.Status(503, "later"))
	w.Infinium.Always(infiniumtest.Status(503, "later"))
	proxy := fmt.Sprintf("http://127.0.0.1:%d", p.Port)
	env := w.Environ
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "LocalHost", "127.0.0.2", "127.255.255.254", "[::ffff:127.0.0.1]", "[::1]", "localhost."} {
		otlp := strings.Replace(w.OTLP.URL(), "127.0.0.1", host, 1)
		inf := strings.Replace(w.Infinium.URL(), "127.0.0.1", host, 1)
		w.Set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+otlp, "INFINIUM_BASE_URL="+inf)
		w.Environ = append(slices.Clone(env),
			"HTTP_PROXY="+proxy, "HTTPS_PROXY="+proxy, "http_proxy="+proxy, "https_proxy="+proxy, "ALL_PROXY="+proxy, "all_proxy="+proxy)
		w.Hookspan("flush", "--other-settings")
		for _, said := range p.Visits() {
			r.Break("%s went through the proxy: %.300q", host, said)
		}
		r.Trial(2)
	}
	for _, host := range []string{"127.0.0.1", "LOCALHOST", "[::ffff:127.0.0.1]"} {
		w.Write(filepath.Join(".cline", "hooks.json"), fmt.Sprintf(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"http","url":"http://%s:9/hook"}]}]}}`, host))
		call := clineEvent(t, "hooked", "PreToolUse", object{"preToolUse": object{"toolName": "read_file", "parameters": object{"path": host}}})
		if err := w.TryHook("PreToolUse", call.Payload); err != nil {
			r.Break("http hook on %s: %v", host, err)
		}
		for _, said := range p.Visits() {
			r.Break("a hook's event for %s went through the proxy: %.300q", host, said)
		}
		r.Trial(1)
	}
	// The row's own measure: what is not on this machine does go through it.
	w.Set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://collector.example/v1/traces", "HOOKSPAN_ALLOW_INSECURE=true")
	w.Environ = append(slices.Clone(env), "HTTP_PROXY="+proxy)
	out, errs, _ := w.Hookspan("flush", "--other-settings")
	if len(p.Visits()) == 0 {
		r.Break("the proxy was not asked for another machine's address, so it would not have been for this one: %s%s", out, errs)
	}
}
