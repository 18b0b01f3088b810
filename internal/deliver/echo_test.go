package deliver

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestEchoedCredentialsAreRemoved(t *testing.T) {
	const key, password, token = "hcaikAbCdEf12GhIjKl34", "pass+w/rd", "q1w2 e3r4t5"
	headers := map[string]string{"x-honeycomb-team": key, "x-tenant": "Bearer bear-1234567", "x-n": "1"}
	echoes := map[string]func(r *http.Request) string{
		"a header":           func(r *http.Request) string { return r.Header.Get("X-Honeycomb-Team") },
		"a header's token":   func(*http.Request) string { return "bear-1234567" },
		"the URL":            func(r *http.Request) string { return r.RequestURI },
		"a query value":      func(r *http.Request) string { return r.URL.Query().Get("api_token") },
		"the password":       func(r *http.Request) string { _, p, _ := r.BasicAuth(); return p },
		"the basic header":   func(r *http.Request) string { return r.Header.Get("Authorization") },
		"one that gets cut":  func(*http.Request) string { return strings.Repeat("x", 380) + key },
		"two in one another": func(*http.Request) string { return "Bearer bear-1234567 " + key + key },
	}
	answers := map[string]func(w http.ResponseWriter, text string){
		"refusal": func(w http.ResponseWriter, text string) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(text))
		},
		"failure": func(w http.ResponseWriter, text string) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(text))
		},
		"redirect": func(w http.ResponseWriter, text string) {
			w.Header().Set("Location", "/"+url.PathEscape(text))
			w.WriteHeader(http.StatusFound)
		},
		"partial success": func(w http.ResponseWriter, text string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"partialSuccess":{"rejectedSpans":1,"errorMessage":%q}}`, text)
		},
	}
	secrets := []string{
		key[:12], password, url.QueryEscape(password), token, "q1w2+", "q1w2%20", "bear-1234567",
		base64.StdEncoding.EncodeToString([]byte("user:" + password)),
	}
	for what, echo := range echoes {
		for kind, answer := range answers {
			t.Run(what+", "+kind, func(t *testing.T) {
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					answer(w, "bad 1: "+echo(r))
				}))
				defer s.Close()
				u, err := url.Parse(s.URL)
				if err != nil {
					t.Fatal(err)
				}
				u.User, u.Path, u.RawQuery = url.UserPassword("user", password), "/v1/traces", url.Values{"api_token": {token}}.Encode()
				d := otlpDestination(t, "otlp", OTLP{Endpoint: u.String(), Headers: headers})
				err = d.Client.UploadTraces(t.Context(), message(sample()))
				if err == nil {
					t.Fatal("no error")
				}
				for _, secret := range secrets {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("error %v shows %q", err, secret)
					}
				}
				if what != "one that gets cut" && !strings.Contains(err.Error(), "1: ") && kind != "redirect" {
					t.Errorf("error %v lost what the server said", err)
				}
			})
		}
	}
}
