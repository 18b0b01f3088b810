package ui

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/internal/ui"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// asset is the path of a file of the page as JavaScript.
func (s *site) asset(t *testing.T, name string) string {
	t.Helper()
	u, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+u.Port()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = u.Host
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	shell, err := io.ReadAll(res.Body)
	found := regexp.MustCompile(`"/assets/[0-9a-f]{32}/` + regexp.QuoteMeta(name) + `" integrity="sha384-`).Find(shell)
	if err != nil || found == nil {
		t.Fatalf("%s is not in %s, %v", name, shell, err)
	}
	path, _, _ := strings.Cut(string(found), " ")
	return path
}

// devServer is what an attacker's development server serves: pages and scripts that any
// cache keeps, and a worker that answers everything in its origin.
func devServer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	switch {
	case r.URL.Path == "/sw.js":
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, `addEventListener("install", () => skipWaiting());
			addEventListener("activate", (e) => e.waitUntil(clients.claim()));
			addEventListener("fetch", (e) => e.respondWith(e.request.url.endsWith(".js") ? fetch(e.request) : new Response("<!doctype html><title>worker</title><p id=worker></p><script src=/assets/app.js></script>", { headers: { "Content-Type": "text/html" } })));`)
	case strings.HasSuffix(r.URL.Path, ".js"):
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, `window.stolen = location.hash || sessionStorage.getItem("hookspan-token") || "nothing"`)
	default:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>development</title><link rel=preload as=script href=/assets/app.js>`)
	}
}

// listenIn is an attacker's page: it asks on the channel and has a worker.
const listenIn = `(async () => {
	window.heard = [];
	const c = new BroadcastChannel("hookspan");
	c.onmessage = (e) => heard.push(JSON.stringify(e.data));
	setInterval(() => c.postMessage("ask"), 50);
	await fetch("/assets/app.js", { cache: "force-cache" });
	WORKER
	return true;
})()`

// formerServer opens the page at the port of a server that has left what it can in the
// browser.
func formerServer(t *testing.T, r *proof.Result) {
	for _, name := range []string{"127.0.0.1", "localhost"} {
		if got := afterDevServer(t, name, ui.NewHost()); got != "" {
			r.Break("after a server at %s: %s", name, got)
		}
		r.Trial(1)
	}
	// The same attack where the page has the former server's origin.
	if afterDevServer(t, "127.0.0.1", "") == "" {
		t.Error("under 127.0.0.1 the attack fails, too: the row shows nothing")
	}
}

// afterDevServer serves the page under a name at the port of a server that was reached
// under another one, and returns what the server's remains get.
func afterDevServer(t *testing.T, former, host string) (got string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_, port, _ := net.SplitHostPort(at)
	dev := &http.Server{Handler: http.HandlerFunc(devServer)} //nolint:gosec // A test.
	go func() { _ = dev.Serve(l) }()
	tab := open(t)
	tab.run(chromedp.Navigate("http://" + former + ":" + port + "/"))
	eval[bool](tab, strings.Replace(listenIn, "WORKER", `await navigator.serviceWorker.register("/sw.js"); await navigator.serviceWorker.ready;`, 1))
	if err := dev.Close(); err != nil {
		t.Fatal(err)
	}
	s := serveAt(t, at, sample.Tasks(), nil, func(o *ui.Options) { o.Host = host })
	b := open(t)
	b.run(chromedp.Navigate(s.address))
	b.wait(`document.body && (document.querySelector("#worker") && window.stolen || document.body.innerText.includes("39 tasks"))`)
	if eval[bool](b, `!!document.querySelector("#worker")`) {
		got += "its worker answers and reads " + eval[string](b, `String(window.stolen)`) + "; "
	}
	if eval[bool](b, `"stolen" in window`) {
		got += "its script runs; "
	}
	// The tab has asked meanwhile: a page with the channel would have answered.
	eval[bool](tab, `new Promise((done) => setTimeout(() => done(true), 200))`)
	if heard := eval[string](tab, `String(heard)`); heard != "" {
		got += "its tab hears " + heard
	}
	return got
}

// otherAddresses opens what leads nowhere.
func otherAddresses(t *testing.T, r *proof.Result) {
	tasks := sample.Tasks()
	s, b := serve(t, tasks), open(t)
	u, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	forwarded := forward(t, "127.0.0.1:0", "127.0.0.1:"+u.Port())
	for what, address := range map[string]string{
		"the bare address": "http://127.0.0.1:" + u.Port() + "/", "the bare name": "http://localhost:" + u.Port(), "a view at it": "http://localhost:" + u.Port() + "/t/" + tasks[0].ID(),
		"an earlier start": "http://" + ui.NewHost() + ":" + u.Port() + "/open#token=" + ui.NewToken(), "a pasted link": s.base + "/t/" + tasks[0].ID(),
		"another number": "http://" + u.Hostname() + ":" + forwarded + "/open" + s.address[strings.Index(s.address, "#"):],
	} {
		b.run(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
		b.wait(`/terminal/i.test(document.body.innerText)`)
		b.shows("hookspan ui")
		if eval[bool](b, `!!document.querySelector("input, textarea, form") || document.documentElement.outerHTML.includes("Checkout")`) {
			r.Break("%s: the page has data or a field", what)
		}
		r.Trial(1)
	}
}

// honestWays are those that must go on working.
func honestWays(t *testing.T, r *proof.Result) {
	s, b := serve(t, sample.Tasks()), open(t)
	b.enter(s)
	b.shows("39 tasks")
	var at struct{ X, Y float64 }
	b.run(chromedp.Evaluate(`(() => { const r = document.querySelector('nav a[href="/cost"]').getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; })()`, &at))
	for _, kind := range []input.MouseType{input.MousePressed, input.MouseReleased} {
		if err := input.DispatchMouseEvent(kind, at.X, at.Y).WithButton(input.Left).WithClickCount(1).WithModifiers(input.ModifierCtrl).Do(withExecutor(b)); err != nil {
			t.Fatal(err)
		}
	}
	opened := target.ID("")
	for opened == "" && b.ctx.Err() == nil {
		all, err := target.GetTargets().Do(withExecutor(b))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range all {
			if i.URL == s.base+"/cost" {
				opened = i.TargetID
			}
		}
	}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithTargetID(opened))
	defer cancel()
	second := &browser{t: t, ctx: ctx}
	second.shows("claude-sonnet-4-6")
	r.Trial(1)

	// Another address of this machine takes the place of the remote one.
	far := serveAt(t, "127.0.0.2:0", sample.Tasks(), nil, func(*ui.Options) {})
	u, err := url.Parse(far.base)
	if err != nil {
		t.Fatal(err)
	}
	forward(t, "127.0.0.1:"+u.Port(), "127.0.0.2:"+u.Port())
	third := open(t)
	third.enter(far)
	third.shows("39 tasks")
	third.faultless(far)
	r.Trial(1)
}

// forward leads connections from one address to another, and returns the port.
func forward(t *testing.T, from, to string) (port string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", from)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() { cancel(); _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).DialContext(ctx, "tcp4", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}
