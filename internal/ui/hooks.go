package ui

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/otelmap"
)

// hooks answers with the configured hooks and their runs in the last day. tool and
// input ask which of them a call starts.
func (s *Server) hooks(r *http.Request) (any, error) {
	var out struct {
		*hooks.Listing
		Runs []store.HookRun `json:"runs"`
		// Ends says how each of the runs ended.
		Ends []otelmap.End `json:"ends"`
		// Edit reports that the page can change hooks.
		Edit bool `json:"edit"`
		// Asked is the call that was asked about. UnknownTool reports that its tool is in no
		// list of tools.
		Asked       *askedCall          `json:"asked,omitempty"`
		UnknownTool bool                `json:"unknownTool,omitempty"`
		Tests       map[string][]string `json:"tests,omitempty"`
	}
	out.Runs, out.Ends, out.Edit = []store.HookRun{}, []otelmap.End{}, s.opts.Edit != nil
	if s.opts.Hooks == nil {
		out.Listing = &hooks.Listing{Files: []hooks.File{}, Folders: []hooks.Folder{}, Notes: []hooks.Note{}}
		return out, nil
	}
	var err error
	if out.Listing, err = s.opts.Hooks.List(r.Context()); err != nil {
		return nil, err
	}
	q := r.URL.Query()
	if out.Asked, err = s.askedOf(r.Context(), q); err != nil {
		return nil, err
	}
	if c := out.Asked; c != nil {
		input := c.Input
		if !c.Whole {
			input = ""
		}
		if err := s.opts.Hooks.Fit(out.Listing, c.Tool, input); err != nil {
			return nil, err
		}
		out.UnknownTool = !hooks.Known(c.Tool)
	}
	if out.Edit {
		out.Tests = hooks.TestEvents
	}
	runs, err := s.opts.Hooks.Recent(r.Context())
	out.Runs = append(out.Runs, runs...)
	for i := range runs {
		out.Ends = append(out.Ends, runs[i].End())
	}
	return out, err
}

// recordedCall is a call in the store that hooks can be asked about.
type recordedCall struct {
	Trace   string    `json:"traceId"`
	Span    string    `json:"spanId"`
	Tool    string    `json:"tool"`
	Detail  string    `json:"detail,omitempty"`
	Started time.Time `json:"started,omitzero"`
}

// Limits of the recorded calls that are offered.
const (
	maxRecorded       = 30
	maxRecordedTraces = 8
	maxRecordedSpans  = 5000
)

// calls answers with the latest calls of an agent, or of one of its tools.
func (s *Server) calls(r *http.Request) (any, error) {
	q := r.URL.Query()
	tool := q.Get("tool")
	traces, err := s.opts.Store.List(r.Context(), store.Filter{Host: q.Get("agent"), Tool: tool, Limit: maxRecordedTraces})
	if err != nil {
		return nil, err
	}
	out := []recordedCall{}
	for _, sum := range traces {
		if sum.Spans > maxRecordedSpans || len(out) >= maxRecorded {
			continue
		}
		t, err := s.opts.Store.Trace(r.Context(), sum.TraceID)
		if err != nil {
			return nil, err
		}
		rows := view.Rows(t)
		for i := range slices.Backward(rows) {
			row := &rows[i]
			if row.Kind != view.KindTool || tool != "" && row.Label != tool || len(out) >= maxRecorded {
				continue
			}
			c := recordedCall{Trace: t.TraceID, Span: row.SpanID(), Tool: row.Label, Started: row.Start}
			if details := row.Details(); len(details) > 0 {
				c.Detail = details[0]
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// askedCall is a call of a tool. Whole reports that its input is the one that the tool
// had, not a part of it.
type askedCall struct {
	Tool   string `json:"tool"`
	Input  string `json:"input,omitempty"`
	Whole  bool   `json:"whole"`
	Result string `json:"result,omitempty"`
}

// askedOf is the call that a query is about, nil if it is about none.
func (s *Server) askedOf(ctx context.Context, q url.Values) (*askedCall, error) {
	if trace, span, ok := strings.Cut(q.Get("call"), "."); ok {
		return s.recorded(ctx, trace, span)
	}
	if tool := q.Get("tool"); tool != "" {
		return &askedCall{Tool: tool, Input: q.Get("input"), Whole: true}, nil
	}
	return nil, nil
}

// call answers with a recorded call.
func (s *Server) call(r *http.Request) (any, error) {
	return s.recorded(r.Context(), r.PathValue("id"), r.PathValue("span"))
}

// recorded reads a call, whole if its agent still has it.
func (s *Server) recorded(ctx context.Context, trace, span string) (*askedCall, error) {
	t, err := s.opts.Store.Trace(ctx, trace)
	if err != nil {
		return nil, err
	}
	rows := view.Rows(t)
	i := slices.IndexFunc(rows, func(row view.Row) bool { return row.Kind == view.KindTool && row.SpanID() == span })
	if i < 0 {
		return nil, store.ErrNotFound
	}
	text := rows[i].Texts()
	if s.opts.Whole != nil {
		if whole, err := s.opts.Whole(ctx, t, &rows[i]); err == nil && whole[0].Arguments != "" {
			text = whole[0]
		}
	}
	var object map[string]json.RawMessage
	whole := json.Unmarshal([]byte(text.Arguments), &object) == nil && object != nil &&
		(text.Place != view.PlacePreview || !view.NewArguments(rows[i].Label, text.Arguments).Cut())
	return &askedCall{
		rows[i].Label, text.Arguments, whole, termtext.HeadBytes(text.Result, maxBody/4),
	}, nil
}

// Limits of requests that change something.
const (
	maxBody = 256 << 10
	// applyTime is how long the hooks of a test may take together.
	applyTime = 3 * time.Minute
)

// editRoutes adds what changes hooks. Without --edit these paths do not exist.
func (s *Server) editRoutes() {
	if s.opts.Edit == nil {
		return
	}
	edit(s, "hooks/preview", func(ctx context.Context, r hooks.Request) (any, error) { return s.opts.Edit.Preview(ctx, r) })
	edit(s, "hooks/apply", func(ctx context.Context, r hooks.Confirmation) (any, error) { return s.opts.Edit.Apply(ctx, r) })
}

// edit adds a path that takes a JSON object.
func edit[T any](s *Server, name string, answer func(context.Context, T) (any, error)) {
	path := "/api/v1/" + name
	s.writes[path] = true
	s.guard(path, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			s.fail(w, &refusal{http.StatusMethodNotAllowed, "want POST", ""})
			return
		}
		var request T
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
		d.DisallowUnknownFields()
		if err := d.Decode(&request); err != nil || d.Decode(new(any)) != io.EOF {
			s.fail(w, &refusal{http.StatusBadRequest, "the request is not the JSON object that the page sends", "reload the page"})
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(applyTime))
		v, err := answer(r.Context(), request)
		if err != nil {
			s.fail(w, refusalOf(err))
			return
		}
		s.write(w, http.StatusOK, v)
	})
}

// checkBody refuses a body that the page does not send. Before another page can send this
// type, its browser asks the server, which refuses.
func checkBody(r *http.Request) *refusal {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil || kind != "application/json" || len(r.Header.Values("Content-Type")) != 1 || r.Header.Get("Content-Encoding") != "":
		return &refusal{http.StatusUnsupportedMediaType, "want a body of the type application/json", ""}
	case r.ContentLength < 0:
		return &refusal{http.StatusLengthRequired, "want a body of known length", ""}
	case r.ContentLength > maxBody:
		return &refusal{http.StatusRequestEntityTooLarge, "the body is too large", ""}
	}
	return nil
}
