package store

import "reflect"

// MarshalJSON gives the members of the summary and, beside them,
// "resourceSpans" in the JSON of OTLP: that member alone, as an object, is a
// request that every OTLP/HTTP receiver takes.
func (t Trace) MarshalJSON() ([]byte, error) {
	s, err := encode(struct {
		plainSummary
		DurationMS    int64               `json:"durationMs"`
		ResourceSpans []jsonResourceSpans `json:"resourceSpans"`
	}{plainSummary(t.Summary), t.Duration().Milliseconds(), t.resourceSpans()})
	return []byte(s), err
}

type jsonResourceSpans struct {
	Resource   jsonResource     `json:"resource"`
	ScopeSpans []jsonScopeSpans `json:"scopeSpans"`
	SchemaURL  string           `json:"schemaUrl,omitempty"`
}

type jsonScopeSpans struct {
	Scope     jsonScope  `json:"scope"`
	Spans     []jsonSpan `json:"spans"`
	SchemaURL string     `json:"schemaUrl,omitempty"`
}

// resourceSpans groups the spans by what they have in common, in the order in
// which each group first comes.
func (t *Trace) resourceSpans() []jsonResourceSpans {
	out := []jsonResourceSpans{}
	var origins []jsonOrigin
	var last int
	for i := range t.Spans {
		s := t.Spans[i].Snapshot()
		o := originOf(s)
		if last >= len(origins) || !reflect.DeepEqual(o, origins[last]) {
			last = len(origins)
			for j := range origins {
				if reflect.DeepEqual(o, origins[j]) {
					last = j
					break
				}
			}
		}
		if last == len(origins) {
			origins = append(origins, o)
			out = append(out, jsonResourceSpans{
				Resource: o.Resource, SchemaURL: o.SchemaURL,
				ScopeSpans: []jsonScopeSpans{{Scope: o.Scope, SchemaURL: o.ScopeSchemaURL}},
			})
		}
		ss := &out[last].ScopeSpans[0]
		ss.Spans = append(ss.Spans, toJSON(s))
	}
	return out
}
