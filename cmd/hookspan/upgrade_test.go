package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestUpgradeCheck(t *testing.T) {
	requests := 0
	newest := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Location", "/releases/tag/"+newest)
		w.WriteHeader(http.StatusFound)
	}))
	defer server.Close()
	from := "--from=" + server.URL + "/releases"
	for name, tc := range map[string]struct {
		version, newest string
		args            []string
		code, requests  int
		want            string
	}{
		"newer":             {"v0.1.0", "v0.2.0", []string{"--check", from}, 0, 1, "hookspan v0.2.0 is out, this is v0.1.0: " + server.URL + "/releases/tag/v0.2.0\n"},
		"the same":          {"v0.2.0", "v0.2.0", []string{"--check", from}, 0, 1, "hookspan v0.2.0 is up to date, the newest release is v0.2.0\n"},
		"older":             {"v1.0.0", "v0.2.0", []string{"--check", from}, 0, 1, "hookspan v1.0.0 is up to date"},
		"between releases":  {"v0.1.0-5-gabcdef0", "v0.1.0", []string{"--check", from}, 0, 1, "hookspan v0.1.0-5-gabcdef0 is up to date"},
		"without a number":  {"devel", "v0.1.0", []string{"--check", from}, 0, 1, "this is devel, which has no release number; the newest release is v0.1.0\n"},
		"as JSON":           {"v0.1.0", "v0.2.0", []string{"--check", from, "--json"}, 0, 1, `"newer": true`},
		"a hostile answer":  {"v0.1.0", "%1b[31m", []string{"--check", from}, 1, 1, "hookspan: " + server.URL + "/releases/latest: redirects to "},
		"no --check":        {"v0.1.0", "v0.2.0", []string{from}, 64, 0, "hookspan: upgrade: without --check there is nothing to do"},
		"--check=false":     {"v0.1.0", "v0.2.0", []string{"--check=false", from}, 64, 0, "without --check there is nothing to do"},
		"--check=x":         {"v0.1.0", "v0.2.0", []string{"--check=x", from}, 64, 0, "want true or false"},
		"a word":            {"v0.1.0", "v0.2.0", []string{"--check", "now"}, 64, 0, `unexpected "now"`},
		"an unknown flag":   {"v0.1.0", "v0.2.0", []string{"--force"}, 64, 0, "unknown flag: --force"},
		"no address":        {"v0.1.0", "v0.2.0", []string{"--check", "--from="}, 1, 0, "want one such as https://"},
		"cleartext address": {"v0.1.0", "v0.2.0", []string{"--check", "--from=http://example.com"}, 1, 0, "with https except on this machine"},
		"a closed port":     {"v0.1.0", "v0.2.0", []string{"--check", "--from=http://127.0.0.1:1"}, 1, 0, "ask http://127.0.0.1:1/latest for the newest release"},
	} {
		t.Run(name, func(t *testing.T) {
			before := version
			defer func() { version = before }()
			version, newest, requests = tc.version, tc.newest, 0
			var out bytes.Buffer
			a := newApp(append([]string{"upgrade"}, tc.args...), strings.NewReader(""), &out, &out, []string{"HOME=" + t.TempDir()})
			a.home = t.TempDir()
			if code := run(t.Context(), a); code != tc.code || requests != tc.requests || !strings.Contains(out.String(), tc.want) {
				t.Errorf("exit code %d, %d requests, said %q; want %d, %d, %q", code, requests, out.String(), tc.code, tc.requests, tc.want)
			}
			if strings.ContainsRune(out.String(), 0x1b) {
				t.Errorf("escape characters: %q", out.String())
			}
		})
	}
}
