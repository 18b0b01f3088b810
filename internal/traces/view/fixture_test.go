package view

import (
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/tracetest"
)

type build = tracetest.Build

var (
	newBuild, at, spanID, t0 = tracetest.New, tracetest.At, tracetest.SpanID, tracetest.T0
	clineTrace, usageAttrs   = tracetest.Cline, tracetest.Usage
	str, num, float          = otlp.String, otlp.Int, otlp.Float
)
