package loopback

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestPolicies tries each request on both servers: the one for programs, and the page's
// at p.localhost:3044.
func TestPolicies(t *testing.T) {
	programs := Programs()
	page := Page([]string{"p.localhost:3044"}, func(r *http.Request) bool { return r.URL.Path == "/open" })
	for name, tc := range map[string]struct {
		host, path string
		header     []string // names and values
		programs   error
		page       error
	}{
		"a program, by address":               {host: "127.0.0.1:3043", page: ErrHost},
		"a program, without a port":           {host: "127.0.0.1", page: ErrHost},
		"a program, IPv6":                     {host: "[::1]:3043", page: ErrHost},
		"a program, IPv6 without a port":      {host: "[::1]", page: ErrHost},
		"a program, by name":                  {host: "LocalHost:3043", page: ErrHost},
		"a name that was rebound":             {host: "evil.example:3044", programs: ErrHost, page: ErrHost},
		"a name that begins like an address":  {host: "127.0.0.1.evil.example", programs: ErrHost, page: ErrHost},
		"another address of this machine":     {host: "127.0.0.2", programs: ErrHost, page: ErrHost},
		"no host":                             {programs: ErrHost, page: ErrHost},
		"a page on a name of this machine":    {host: "localhost:3043", header: []string{"Origin", "http://localhost:3043"}, programs: ErrOrigin, page: ErrHost},
		"an image on a page":                  {host: "localhost:3043", header: []string{"Sec-Fetch-Site", "cross-site"}, programs: ErrSite, page: ErrHost},
		"an address typed into a browser":     {host: "localhost:3043", header: []string{"Sec-Fetch-Site", "none"}, programs: ErrSite, page: ErrHost},
		"the page itself":                     {host: "p.localhost:3044", header: []string{"Origin", "http://p.localhost:3044", "Sec-Fetch-Site", "same-origin"}, programs: ErrHost},
		"the page's address, typed":           {host: "p.localhost:3044", header: []string{"Sec-Fetch-Site", "none"}, programs: ErrHost},
		"the page's name on another port":     {host: "p.localhost:3045", programs: ErrHost, page: ErrHost},
		"another page asks the page's server": {host: "p.localhost:3044", header: []string{"Origin", "http://p.localhost:3000"}, programs: ErrHost, page: ErrOrigin},
		"one of two origins is another page":  {host: "p.localhost:3044", header: []string{"Origin", "http://p.localhost:3044", "Origin", "null"}, programs: ErrHost, page: ErrOrigin},
		"a link on another page":              {host: "p.localhost:3044", header: []string{"Sec-Fetch-Site", "same-site"}, programs: ErrHost, page: ErrSite},
		"the file that opens the page":        {host: "p.localhost:3044", path: "/open", header: []string{"Sec-Fetch-Site", "cross-site"}, programs: ErrHost},
		"another page that opens the page":    {host: "p.localhost:3044", path: "/open", header: []string{"Origin", "http://evil.example"}, programs: ErrHost, page: ErrOrigin},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Host = tc.host
			if tc.path != "" {
				r.URL.Path = tc.path
			}
			for i := 0; i < len(tc.header); i += 2 {
				r.Header.Add(tc.header[i], tc.header[i+1])
			}
			if err := programs.Check(r); !errors.Is(err, tc.programs) {
				t.Errorf("the server for programs: %v, want %v", err, tc.programs)
			}
			if err := page.Check(r); !errors.Is(err, tc.page) {
				t.Errorf("the page's server: %v, want %v", err, tc.page)
			}
		})
	}
}
