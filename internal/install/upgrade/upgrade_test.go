package upgrade_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install/upgrade"
)

func TestNewest(t *testing.T) {
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	}
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
		fault  string
	}{
		"a path":          {redirect("/hookspan/releases/tag/v1.20.3"), "v1.20.3", ""},
		"a relative path": {redirect("tag/v0.1.0"), "v0.1.0", ""},
		"a pre-release":   {redirect("tag/v1.0.0-rc.1"), "v1.0.0-rc.1", ""},
		"a huge body": {func(w http.ResponseWriter, r *http.Request) {
			redirect("tag/v0.1.0")(w, r)
			for range 100 {
				_, _ = w.Write(make([]byte, 1<<16))
			}
		}, "v0.1.0", ""},

		"no release":            {http.NotFound, "", "404 Not Found: no release is published there"},
		"too many requests":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, "", "429 Too Many Requests: want a redirect"},
		"a login page":          {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<!doctype html><p>Sign in")) }, "", "200 OK, a web page: want a redirect"},
		"an unknown status":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(799) }, "", "799: want a redirect"},
		"no address":            {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) }, "", `redirects to ""`},
		"another host":          {redirect("http://example.com/hookspan/releases/tag/v9.0.0"), "", "redirects to"},
		"another scheme":        {redirect("file:///hookspan/releases/tag/v9.0.0"), "", "redirects to"},
		"another path":          {redirect("/evil/releases/tag/v9.0.0"), "", "redirects to"},
		"a path with dots":      {redirect("/hookspan/releases/tag/x/../v9.0.0"), "v9.0.0", ""},
		"no version":            {redirect("tag/latest"), "", "redirects to"},
		"a number without end":  {redirect("tag/v" + strings.Repeat("9", 1000) + ".0.0"), "", "redirects to"},
		"control characters":    {redirect("tag/v1.0.0%1b[31m"), "", "redirects to"},
		"no address at all":     {redirect("http://[::1"), "", "ask http://127.0.0.1"},
		"a closed connection":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", "ask http://127.0.0.1"},
		"switching protocols":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSwitchingProtocols) }, "", "ask http://127.0.0.1"},
		"a header without end":  {redirect(strings.Repeat("x", 1<<20)), "", "ask http://127.0.0.1"},
		"an address that is it": {redirect("http://HOST/hookspan/releases/tag/v2.0.0"), "v2.0.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				if r.URL.Path != "/hookspan/releases/latest" || r.Method != http.MethodGet || len(r.Header) > 3 || r.Header.Get("Accept-Encoding") != "identity" {
					t.Errorf("asked %s %s with %v", r.Method, r.URL, r.Header)
				}
				tc.answer(&hostWriter{ResponseWriter: w, host: r.Host}, r)
			}))
			defer server.Close()
			got, err := upgrade.Newest(t.Context(), server.URL+"/hookspan/releases")
			if got != tc.want || (err == nil) != (tc.fault == "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("got %q, %v; want %q, %q", got, err, tc.want, tc.fault)
			}
			if err != nil && (len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\x1b\n")) {
				t.Errorf("error %q", err)
			}
			if requests != 1 {
				t.Errorf("%d requests, want 1", requests)
			}
		})
	}
}

// hostWriter puts the server's address into the Location header.
type hostWriter struct {
	http.ResponseWriter
	host string
}

func (w *hostWriter) WriteHeader(status int) {
	if to := w.Header().Get("Location"); to != "" {
		w.Header().Set("Location", strings.Replace(to, "HOST", w.host, 1))
	}
	w.ResponseWriter.WriteHeader(status)
}

func TestNewestChecksTheAddress(t *testing.T) {
	for _, address := range []string{
		"", "releases", "http://example.com/releases", "ftp://127.0.0.1/x", "https://user:secret@example.com/x", "https://example.com/x?q", "https://example.com/x#y",
		"http://[::1", "https://", "http://127.0.0.1.evil.example/x", "https:///releases", "file:///etc/passwd", strings.Repeat("x", 1<<20),
	} {
		got, err := upgrade.Newest(t.Context(), address)
		if err == nil || !strings.Contains(err.Error(), "want one such as https://github.com/hookspan/hookspan/releases") || len(err.Error()) > 500 {
			t.Errorf("%.60q: %q, %.600v", address, got, err)
		}
	}
}

func TestNewestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	go func() {
		<-asked
		cancel()
	}()
	if _, err := upgrade.Newest(ctx, server.URL); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestCommand(t *testing.T) {
	for program, want := range map[string]string{
		"/home/dev/.npm/_npx/0a1b/node_modules/@hookspan/linux-x64/hookspan":         "npx hookspan@latest status",
		"/usr/lib/node_modules/hookspan/node_modules/@hookspan/linux-x64/hookspan":   "npm install -g hookspan@latest",
		"/opt/homebrew/Cellar/hookspan/0.1.0/bin/hookspan":                           "brew upgrade hookspan",
		`C:\Users\dev\scoop\apps\hookspan\current\hookspan.exe`:                      "scoop update hookspan",
		`C:\Users\dev\AppData\Local\Microsoft\WinGet\Packages\hookspan\hookspan.exe`: "winget upgrade hookspan.hookspan",
		"/home/dev/.local/bin/hookspan":                                              "curl -fsSL https://github.com/hookspan/hookspan/releases/latest/download/install.sh | sh",
		"/usr/bin/hookspan":                                                          "",
		"/home/dev/go/bin/hookspan":                                                  "",
	} {
		if got := upgrade.Command(program); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}
