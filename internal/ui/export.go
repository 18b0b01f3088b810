package ui

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/hookspan/hookspan/internal/traces/export"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// export answers with the file that hookspan export writes of a stored trace. No browser takes
// it for a page.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	b, err := s.exported(r)
	if err != nil {
		s.fail(w, refusalOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment")
	_, _ = w.Write(b) //nolint:gosec // It is no page.
}

// exported is the file of a trace.
func (s *Server) exported(r *http.Request) ([]byte, error) {
	format := export.Format(r.URL.Query().Get("format"))
	if s.opts.Redactor == nil || !slices.Contains(export.Formats, format) {
		return nil, wrong("format %q: want one of %v", format, export.Formats)
	}
	clean, err := s.opts.Redactor()
	if err != nil {
		return nil, err
	}
	t, err := s.opts.Store.Trace(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = export.Write(&b, format, []store.Summary{t.Summary}, func(string) (*store.Trace, error) { return t, nil }, export.Options{Redact: clean})
	return b.Bytes(), err
}
