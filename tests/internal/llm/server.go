package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server plays a script. It is safe for concurrent use.
type Server struct {
	script Script
	form   wire

	mu      sync.Mutex
	log     []*Request
	arrived map[int]chan struct{}
	used    map[string]int   // turns of each part
	calls   map[string]*Call // the newest call of a part with an id
	process json.Number      // the newest command that was left running
}

// New returns a server that plays the script.
func New(script Script) *Server {
	return &Server{
		script: script, form: wires[script.Form.API],
		arrived: make(map[int]chan struct{}), used: make(map[string]int), calls: make(map[string]*Call),
	}
}

// Requests is a copy of the log in the order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.log))
	for i, r := range s.log {
		out[i] = *r
		out[i].Calls = slices.Clone(r.Calls)
	}
	return out
}

// Seen returns a channel that is closed once request n, from 1, has arrived.
func (s *Server) Seen(n int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.arrived[n] == nil {
		s.arrived[n] = make(chan struct{})
		if len(s.log) >= n {
			close(s.arrived[n])
		}
	}
	return s.arrived[n]
}

// ServeHTTP answers a request with the next turn, and what asks for no answer of the
// model's with something harmless.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &answer{w: w, r: r, sent: true, headers: s.script.Form.Headers}
	path := s.form.path.FindStringSubmatch(r.URL.Path)
	if r.Method != http.MethodPost || path == nil {
		a.whole(http.StatusOK, s.form.other)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		a.asked, err = s.form.read(path, body)
	}
	if err != nil {
		a.whole(http.StatusUnprocessableEntity, s.form.refusal(http.StatusUnprocessableEntity, "request is not JSON: "+err.Error(), ""))
		return
	}
	entry := s.next(a)
	if t := a.turn; t.HTTPError != 0 {
		a.whole(t.HTTPError, s.form.refusal(t.HTTPError, cmp.Or(t.Message, "scripted refusal"), t.Code))
	} else {
		s.form.answer(a)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	entry.End, entry.Complete = time.Now(), a.complete
}

var leftRunning = regexp.MustCompile(`session ID (\d+)`)

// next logs a request and picks its turn. The request in the answer is its own.
func (s *Server) next(a *answer) *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	part, q, n := s.script.Form.part(&a.asked), &a.asked, len(s.log)+1
	for id, result := range q.results {
		id, _, _ = strings.Cut(id, "__qwen_dup_") // as which Qwen Code writes an id that comes again
		if c := s.calls[part+"/"+id]; c != nil {
			c.Result = &result
		}
	}
	if found := leftRunning.FindAllStringSubmatch(q.text, -1); len(found) > 0 {
		s.process = json.Number(found[len(found)-1][1])
	}
	turns := map[string][]Turn{PartMain: s.script.Main, PartSub: s.script.Sub}[part]
	req := &Request{N: n, Start: time.Now(), Model: q.model, Heard: q.heard, ID: fmt.Sprintf(s.form.id, n), Status: http.StatusOK}
	a.turn = &Turn{Text: s.form.aside}
	if len(turns) > 0 {
		req.Part, req.Turn = part, min(s.used[part], len(turns)-1)
		s.used[part]++
		a.turn = &turns[req.Turn]
	}
	t := a.turn
	if t.Sub {
		req.Part = PartSub
	}
	req.Text = t.Text
	if t.HTTPError != 0 {
		req.Status = t.HTTPError
	} else if t.Failed == "" {
		req.Usage = t.usage(n, s.script.Form.API)
	}
	for i := range t.Calls {
		c := &t.Calls[i]
		id := fmt.Sprintf(s.form.call, n, i)
		if t.Anew {
			id = fmt.Sprintf("call_%d", i)
		}
		a.ids = append(a.ids, id)
		for name, value := range c.Args {
			if value == Process {
				c.Args[name] = s.process
			}
		}
		req.Calls = append(req.Calls, c.logged(s.script.Form.API, id)...)
	}
	if s.script.Form.API == Messages {
		req.RequestID = fmt.Sprintf("req_mock_%d", n)
		req.Finish = map[bool]string{false: "end_turn", true: "tool_use"}[len(t.Calls) > 0]
		if t.HTTPError != 0 {
			req.Finish = ""
		}
	}
	for i := range req.Calls {
		s.calls[part+"/"+req.Calls[i].ID] = &req.Calls[i]
	}
	s.log = append(s.log, req)
	if ch, ok := s.arrived[n]; ok {
		close(ch)
	}
	a.req = *req
	return req
}

// logged are the calls that spans have of the call.
func (c *Call) logged(api API, id string) (out []Call) {
	switch {
	case len(c.Nested) > 0:
		for _, nested := range c.Nested {
			out = append(out, nested.logged(api, "")...)
		}
		return out
	case c.Span != "":
		return []Call{{ID: id, Name: c.Span, Args: c.SpanArgs}}
	case api == Gemini: // the Gemini CLI puts the tool's name before the model's id
		id = c.Name + "__" + id
	}
	return []Call{{ID: id, Name: c.Namespace + c.Name, Args: c.Args}}
}
