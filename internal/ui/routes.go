package ui

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha512"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/ui/hooks"
)

// assets is the page, as web/bundle made it.
//
//go:embed assets
var assets embed.FS

// views are the paths at which the shell is served: it draws what the path names.
var views = []string{"/{$}", Opening, "/s/{id}", "/t/{id}", "/search", "/calls", "/changes", "/cost", "/compare", "/hooks", "/status"}

// routes fills the table of what the server answers.
func (s *Server) routes() {
	s.files = pageFiles("/assets/" + NewToken()[:32] + "/")
	for _, v := range views {
		s.mux.HandleFunc(v, func(w http.ResponseWriter, _ *http.Request) { s.file(w, "index.html") })
	}
	s.mux.HandleFunc("/assets/", func(w http.ResponseWriter, r *http.Request) { s.file(w, r.URL.Path) })
	s.mux.HandleFunc(Here, func(w http.ResponseWriter, r *http.Request) {
		s.write(w, http.StatusOK, Proof(s.opts.Token, r.URL.Query().Get("nonce")))
	})
	for p, answer := range map[string]func(*http.Request) (any, error){
		"about":                    s.about,
		"agents":                   func(*http.Request) (any, error) { return s.opts.Agents, nil },
		"sessions":                 s.selecting(s.sessions),
		"facets":                   s.facets,
		"session/{id}":             s.session,
		"traces/{id}":              s.ofTrace(s.trace),
		"traces/{id}/rows":         s.ofTrace(s.rows),
		"traces/{id}/lines":        s.ofTrace(s.lines),
		"traces/{id}/row/{row}":    s.ofTrace(s.row),
		"traces/{id}/find":         s.ofTrace(s.find),
		"traces/{id}/conversation": s.conversation,
		"traces/{id}/changes":      s.changes,
		"search":                   s.selecting(s.search),
		"traces/{id}/cost":         s.ofTrace(s.cost),
		"calls":                    s.toolCalls,
		"work":                     s.selecting(s.work),
		"waiting":                  s.waiting,
		"usage":                    s.selecting(s.usage),
		"compare":                  s.compare,
		"sides":                    s.sides,
		"hooks":                    s.hooks,
		"hooks/calls":              s.calls,
		"hooks/call/{id}/{span}":   s.call,
		"status":                   s.status,
	} {
		s.guard("/api/v1/"+p, func(w http.ResponseWriter, r *http.Request) {
			_, err := url.ParseQuery(r.URL.RawQuery)
			if err != nil {
				s.fail(w, refusalOf(wrong("the address's parameters: %w", err)))
				return
			}
			v, err := answer(r)
			if err != nil {
				s.fail(w, refusalOf(err))
				return
			}
			if early, ok := v.(older); ok {
				w.Header().Set(OlderHeader, strconv.FormatInt(early.wait.Milliseconds()+1, 10))
				v = early.value
			}
			s.write(w, http.StatusOK, v)
		})
	}
	s.guard("/api/v1/traces/{id}/export", s.export)
	s.guard("/api/v1/events", s.events)
	s.editRoutes()
	s.mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		s.fail(w, &refusal{http.StatusNotFound, "there is no such page", "the sessions are at /"})
	})
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { s.fileAs(w, http.StatusNotFound, "index.html") }) // which says so
}

// guard adds a path that answers requests with the token.
func (s *Server) guard(path string, answer http.HandlerFunc) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if !s.allowed(r) {
			s.fail(w, noToken)
			return
		}
		answer(w, r)
	})
}

// selecting answers about what the filter in a query selects.
func (s *Server) selecting(answer func(*http.Request, store.Filter) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		f, err := s.filter(r.Context(), r.URL.Query())
		if err != nil {
			return nil, err
		}
		return answer(r, f)
	}
}

// ofTrace answers about the trace that the path names.
func (s *Server) ofTrace(answer func(*http.Request, *loaded) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		l, err := s.loaded(r)
		if err != nil {
			return nil, err
		}
		return answer(r, l)
	}
}

var noToken = &refusal{http.StatusUnauthorized, "the token is missing or wrong", "in a terminal, hookspan ui opens the page that runs already"}

// refusalOf says what went wrong with a request.
func refusalOf(err error) *refusal {
	var wrong wrongRequest
	var several *store.AmbiguousError
	var refused *hooks.Error
	switch {
	case errors.As(err, &refused):
		code := map[hooks.Reason]int{
			hooks.Unknown: http.StatusNotFound, hooks.Stale: http.StatusConflict, hooks.NoCode: http.StatusForbidden,
		}[refused.Reason]
		return &refusal{cmp.Or(code, http.StatusBadRequest), err.Error(), refused.Hint}
	case errors.As(err, &wrong):
		return &refusal{http.StatusBadRequest, err.Error(), ""}
	case errors.Is(err, store.ErrIndexing):
		return &refusal{http.StatusServiceUnavailable, "the texts of new tasks are still being prepared for the search", "this page asks again by itself"}
	case errors.Is(err, store.ErrNotFound):
		return &refusal{http.StatusNotFound, "there is no such trace", "it may have been deleted, or it is in another store"}
	case errors.Is(err, store.ErrPrefix), errors.As(err, &several), errors.Is(err, store.ErrText):
		return &refusal{http.StatusBadRequest, err.Error(), ""}
	case errors.Is(err, store.ErrDamaged):
		return &refusal{http.StatusInternalServerError, err.Error(), "hookspan doctor says what to do"}
	}
	return &refusal{http.StatusInternalServerError, err.Error(), ""}
}

// wrongRequest is a parameter that has no meaning.
type wrongRequest struct{ error }

func wrong(format string, args ...any) error { return wrongRequest{fmt.Errorf(format, args...)} }

func (s *Server) fail(w http.ResponseWriter, r *refusal) {
	s.write(w, r.code, struct {
		Error string `json:"error"`
		Hint  string `json:"hint,omitempty"`
	}{r.text, r.hint})
}

// write answers with JSON. All texts pass through here.
func (s *Server) write(w http.ResponseWriter, code int, v any) {
	b, err := rawjson.Marshal(v)
	if err != nil {
		code, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(visible(b))
}

// visible replaces characters that reorder or hide text by their number, such as
// ⟨U+202E⟩, so that a browser shows what is there.
func visible(text []byte) []byte {
	hidden := func(r rune) bool {
		return r >= utf8.RuneSelf && r != utf8.RuneError && termtext.Value(string(r)) != string(r)
	}
	if !bytes.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) || !bytes.ContainsFunc(text, hidden) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if hidden(r) {
			fmt.Fprintf(&out, "⟨U+%04X⟩", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes()
}

// types are the media types of the assets, by the ends of their names.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// pageFiles are the page's files by path: the shell, and the others below a folder of this
// start, of which no cache can have any. Their digests are in the shell.
func pageFiles(folder string) map[string][]byte {
	files := make(map[string][]byte)
	shell, _ := assets.ReadFile("assets/index.html") // Embedded.
	all, _ := assets.ReadDir("assets")
	for _, f := range all {
		b, _ := assets.ReadFile("assets/" + f.Name())
		sum := sha512.Sum384(b)
		link := []byte(`"/assets/` + f.Name() + `"`)
		with := fmt.Sprintf(`"%s%s" integrity="sha384-%s"`, folder, f.Name(), base64.StdEncoding.EncodeToString(sum[:]))
		shell = bytes.Replace(shell, link, []byte(with), 1)
		files[folder+f.Name()] = b
	}
	delete(files, folder+"index.html")
	files["index.html"] = shell
	return files
}

// file answers with a file of the page.
func (s *Server) file(w http.ResponseWriter, name string) { s.fileAs(w, http.StatusOK, name) }

func (s *Server) fileAs(w http.ResponseWriter, code int, name string) {
	b, kind := s.files[name], types[path.Ext(name)]
	if b == nil || kind == "" {
		s.fail(w, &refusal{http.StatusNotFound, "there is no such file", ""})
		return
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(code)
	_, _ = w.Write(b) //nolint:gosec // An embedded file.
}

// filterOf returns the filter in a query; parameters have the names of the options
// of hookspan list.
func filterOf(q url.Values) (f store.Filter, err error) {
	f = store.Filter{
		Host: q.Get("agent"), Model: q.Get("model"), Tool: q.Get("tool"), Outcome: q.Get("outcome"),
		Directory: q.Get("project"), Session: q.Get("session"), Trace: q.Get("trace"), Text: q.Get("text"),
		Failed: q.Has("failed"), Denied: q.Has("denied"), Limit: 100,
	}
	for name, to := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if v := q.Get(name); v != "" {
			if *to, err = time.Parse(time.RFC3339, v); err != nil {
				return f, wrong("%s %q: want a time such as 2026-01-31T00:00:00Z", name, v)
			}
		}
	}
	if f.MinCost, err = dollars(q, "min-cost"); err != nil {
		return f, err
	}
	if f.Limit, err = number(q, "limit", f.Limit, 1, 5000); err != nil {
		return f, err
	}
	return f, nil
}

// filter is filterOf with the tasks of a pull request, which the store has to be asked for.
func (s *Server) filter(ctx context.Context, q url.Values) (store.Filter, error) {
	f, err := filterOf(q)
	if err != nil || q.Get("pr") == "" {
		return f, err
	}
	tasks, err := view.TasksOf(ctx, s.opts.Store, q.Get("pr"))
	f.Among = cmp.Or(tasks, "[]")
	return f, err
}

// dollars returns a cost of a query, 0 if it has none.
func dollars(q url.Values, name string) (float64, error) {
	v := q.Get(name)
	usd, err := strconv.ParseFloat(v, 64)
	if v != "" && (err != nil || !(usd > 0) || math.IsInf(usd, 0)) {
		return 0, wrong("%s %q: want a number of dollars above 0", name, v)
	}
	return usd, nil
}

// number returns a whole number of a query, or the default if it has none.
func number(q url.Values, name string, otherwise, least, most int) (int, error) {
	v := q.Get(name)
	if v == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return 0, wrong("%s %q: want a number from %d to %d", name, v, least, most)
	}
	return n, nil
}
