package agentmetrics

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/hookspan/hookspan/otelmap/instruments"
)

var ownLabels = append([]string{"gateway", "service.name", "job", "instance", "le"}, instruments.Attributes...)

// measured is a span as instruments reads it.
type measured struct{ span ptrace.Span }

func (s measured) Text(key string) (string, bool) {
	v, ok := s.span.Attributes().Get(key)
	if !ok {
		return "", false
	}
	return v.AsString(), true
}

func (s measured) Number(key string) (float64, bool) {
	v, ok := s.span.Attributes().Get(key)
	switch {
	case ok && v.Type() == pcommon.ValueTypeInt:
		return float64(v.Int()), true
	case ok && v.Type() == pcommon.ValueTypeDouble:
		return v.Double(), true
	}
	return 0, false
}

func (s measured) Times() (start, end uint64) {
	return uint64(s.span.StartTimestamp()), uint64(s.span.EndTimestamp())
}

func (s measured) Status() string {
	return "STATUS_CODE_" + strings.ToUpper(s.span.Status().Code().String())
}

// service returns the name of a resource's service.
func service(resource pcommon.Map) string {
	if v, ok := resource.Get("service.name"); ok {
		return instruments.Cut(v.AsString())
	}
	return "unknown"
}

// imported reports whether a resource is of a session that was imported.
func imported(resource pcommon.Map) bool {
	v, ok := resource.Get("hookspan.imported")
	return ok && v.AsString() == "true"
}
