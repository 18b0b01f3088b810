package ui

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/ui/hooks"
)

// find returns the rows with a text.
func (s *Server) find(r *http.Request) (any, error) {
	l, err := s.loaded(r)
	if err != nil {
		return nil, err
	}
	if v := r.URL.Query().Get("version"); v != "" && v != strconv.FormatInt(l.version, 10) {
		return nil, &hooks.Error{Reason: hooks.Stale, Text: "the rows are of version " + strconv.FormatInt(l.version, 10)}
	}
	text := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("text")))
	if text == "" {
		return nil, wrong("text: want what to find")
	}
	// Only the spans that may have it are decoded. In a message texts are as they are.
	places, err := l.choose(r.Context(), folding(text))
	if err != nil {
		return nil, err
	}
	chosen := make([]bool, l.Len())
	for _, p := range places {
		chosen[p] = true
	}
	found := []int{}
	labels := make(map[string]bool)
	may := func(row *view.Row) bool {
		named, known := labels[row.Label]
		if !known {
			named = strings.Contains(strings.ToLower(row.Label), text)
			labels[row.Label] = named
		}
		return named || row.Place() >= 0 && chosen[row.Place()]
	}
	err = l.eachFull(r.Context(), 0, may, func(i int, row *view.Row) bool {
		if contains(row, text) {
			found = append(found, i)
		}
		return true
	})
	return found, err
}

// folding returns a function that reports whether a message has a text, which is in
// lower case, in whichever case.
func folding(text string) func([]byte) bool {
	if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return func(message []byte) bool { return bytes.Contains(bytes.ToLower(message), []byte(text)) }
	}
	var lower []byte
	return func(message []byte) bool {
		lower = append(lower[:0], message...)
		for i, c := range lower {
			if 'A' <= c && c <= 'Z' {
				lower[i] = c + 'a' - 'A'
			}
		}
		return bytes.Contains(lower, []byte(text))
	}
}

func contains(row *view.Row, text string) bool {
	if strings.Contains(strings.ToLower(row.Label), text) {
		return true
	}
	for _, kv := range row.Attributes() {
		if strings.Contains(strings.ToLower(kv.GetValue().GetStringValue()), text) {
			return true
		}
	}
	_, message := row.Problem()
	return strings.Contains(strings.ToLower(message), text)
}
