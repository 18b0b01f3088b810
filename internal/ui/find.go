package ui

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/ui/hooks"
)

// find returns the rows with a text.
func (s *Server) find(r *http.Request, l *loaded) (any, error) {
	if v := r.URL.Query().Get("version"); v != "" && v != strconv.FormatInt(l.version, 10) {
		return nil, &hooks.Error{Reason: hooks.Stale, Text: "the rows are of version " + strconv.FormatInt(l.version, 10)}
	}
	text := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("text")))
	if text == "" {
		return nil, wrong("text: want what to find")
	}
	// Only the spans that may have it are decoded.
	places, err := l.choose(r.Context(), folding(asItIs(text)))
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

// asItIs returns the longest part of a text that JSON has as it is, whatever it escapes.
func asItIs(text string) (longest string) {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return (r < 'a' || 'z' < r) && (r < '0' || '9' < r) }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// folding returns a function that reports whether a message has a text, which is in
// lower case and ASCII, in whichever case.
func folding(text string) func([]byte) bool {
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

// contains reports whether a row has a text, as people read it.
func contains(row *view.Row, text string) bool {
	has := func(in string) bool { return strings.Contains(strings.ToLower(store.Plain(in)), text) }
	_, message := row.Problem()
	return has(row.Label) || has(message) || slices.ContainsFunc(row.Attributes(), func(kv *commonpb.KeyValue) bool { return has(kv.GetValue().GetStringValue()) })
}
