package ui

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// insideVar is set for the part of the row that runs in the namespace.
const insideVar = "HOOKSPAN_TESTS_NO_NETWORK"

// noRequestLeaves runs the real program and the browser where there is no network but
// the loopback addresses, and counts what tried to leave.
func noRequestLeaves(t *testing.T, r *proof.Result) {
	for _, program := range []string{"unshare", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			r.Skip("%v", err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--net", "--map-root-user", "sh", "-c", `ip link set lo up && exec "$0" -test.run '^TestWithoutNetwork$' -test.v`, self)
	cmd.Env = append(os.Environ(), insideVar+"=1")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "unshare:") {
		r.Skip("no network namespace here: %s", strings.TrimSpace(string(out)))
	}
	m := regexp.MustCompile(`(\d+) views, (\d+) tried to leave`).FindStringSubmatch(string(out))
	if err != nil || m == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	views, _ := strconv.Atoi(m[1])
	r.Trial(views)
	if m[2] != "0" {
		r.Break("%s tried to leave:\n%s", m[2], out)
	}
}

// left is how many connections and datagrams of this namespace had no route.
func left(t *testing.T) (n int) {
	t.Helper()
	for file, name := range map[string]string{"/proc/self/net/snmp": "Ip: ", "/proc/self/net/snmp6": "Ip6OutNoRoutes"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			switch {
			case !strings.HasPrefix(line, name):
			case len(f) == 2:
				v, _ := strconv.Atoi(f[1])
				n += v
			case names == nil:
				names = f
			default:
				for i, column := range names {
					if column == "OutNoRoutes" {
						v, _ := strconv.Atoi(f[i])
						n += v
					}
				}
			}
		}
	}
	return n
}

// TestWithoutNetwork is the inner half of the row.
func TestWithoutNetwork(t *testing.T) {
	if os.Getenv(insideVar) == "" {
		skip.Elsewhere(t, "a row of TestAttacks runs it in a network namespace")
	}
	m := newMachine(t)
	before := left(t)
	s := m.page()
	list := m.tasks()
	u, err := url.Parse(s.address)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimPrefix(u.Fragment, "token=")
	for _, path := range []string{
		"about", "sessions", "facets", "session/" + list[0].Session, "traces/" + list[0].TraceID, "traces/" + list[0].TraceID + "/row/1", "traces/" + list[0].TraceID + "/changes",
		"search?text=login", "usage", "compare?a=" + list[0].TraceID + "&b=" + list[1].TraceID, "hooks", "status",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+u.Port()+"/api/v1/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = u.Host
		req.Header.Set("X-Hookspan-Token", token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	after := left(t)
	_ = exec.CommandContext(t.Context(), "bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/9").Run()
	if left(t) == after {
		t.Error("a connection to another host was not counted: the row shows nothing")
	}
	// The browser also asks for what it needs itself; each request of the page is known.
	b := open(t)
	b.enter(s)
	b.run(chromedp.EmulateViewport(1440, 900))
	paths := []string{"/", "/search?text=login", "/cost", "/hooks", "/status", "/s/" + list[0].Session, "/compare?a=" + list[0].TraceID + "&b=" + list[1].TraceID}
	for _, l := range list[:10] {
		paths = append(paths, "/t/"+l.TraceID, "/t/"+l.TraceID+"?tab=conversation", "/t/"+l.TraceID+"?tab=changes")
	}
	for _, path := range paths {
		b.goTo(s, path)
		b.wait(`/live|no hooks/.test(document.querySelector(".live")?.innerText) && !document.querySelector(".wait")`)
	}
	b.faultless(s)
	t.Logf("%d views, %d tried to leave", len(paths), after-before)
}
