package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// object is a JSON object.
type object = map[string]any

// asked is what is read of a request.
type asked struct {
	model   string
	stream  bool
	tools   []string
	text    string // that in which the texts of a Form are looked for
	heard   []string
	results map[string]Result // by the ids of calls
}

// answer is an answer on its way.
type answer struct {
	w     http.ResponseWriter
	r     *http.Request
	asked asked
	turn  *Turn
	req   Request
	ids   []string // those of the turn's calls
	// headers are those of the Form.
	headers map[string]string

	// sent reports that all so far went out, complete that the usage did.
	sent, complete bool
}

// whole answers with a document; nil is what the server does not have.
func (a *answer) whole(status int, v any) {
	if v == nil {
		http.NotFound(a.w, a.r)
		return
	}
	a.w.Header().Set("Content-Type", "application/json")
	a.w.Header().Set("Request-Id", a.req.RequestID)
	a.w.WriteHeader(status)
	a.complete = a.r.Context().Err() == nil && json.NewEncoder(a.w).Encode(v) == nil
}

// send writes an event of a stream, which has a name in some forms.
func (a *answer) send(name string, v object) {
	data, err := json.Marshal(v)
	if name != "" {
		name = "event: " + name + "\n"
	}
	if a.sent = a.sent && err == nil && a.r.Context().Err() == nil; !a.sent {
		return
	}
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Request-Id", a.req.RequestID)
	for name, value := range a.headers {
		a.w.Header().Set(name, value)
	}
	_, err = fmt.Fprintf(a.w, "%sdata: %s\n\n", name, data)
	a.sent = err == nil && http.NewResponseController(a.w).Flush() == nil
}

// sendUsage writes the event with which an answer is complete.
func (a *answer) sendUsage(name string, v object) {
	a.send(name, v)
	a.complete = a.sent
}

// breakOff ends the connection.
func (a *answer) breakOff() {
	a.w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(a.w)
	_ = rc.Flush()
	if conn, _, err := rc.Hijack(); err == nil {
		_ = conn.Close()
	}
}

// pause waits, or ends with the client.
func (a *answer) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.r.Context().Done():
	}
}

// pieces cuts a text as streams do, so that a call in XML is cut in its middle.
func pieces(text string) (out []string) {
	for piece := range slices.Chunk([]rune(text), 40) {
		out = append(out, string(piece))
	}
	return out
}

// args are the arguments of a call as text.
func (c *Call) args() string {
	text, _ := json.Marshal(c.Args) // They come from JSON.
	return string(text)
}
