package step

import (
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/hookspan/hookspan/otelmap"
)

// Resource is what made spans, as its readers see it.
type Resource struct{ resource *resourcepb.Resource }

// ResourceOf returns the resource, which may be nil.
func ResourceOf(r *resourcepb.Resource) Resource { return Resource{r} }

func (r Resource) attrs() attrs { return r.resource.GetAttributes() }

// Service is the name of the agent program, unless OTEL_SERVICE_NAME names another.
func (r Resource) Service() string { return r.attrs().text(otelmap.KeyServiceName) }

// Version is the agent program's.
func (r Resource) Version() string { return r.attrs().text(otelmap.KeyServiceVersion) }
