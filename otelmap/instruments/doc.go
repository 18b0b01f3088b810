// Package instruments is the table of metrics that the Collector's connector agent_metrics and
// hookspan itself make of spans: their names, units, attributes and bounds, and what a span adds
// to each. It is pure, and needs nothing but the standard library, so that the Collector links
// no more of hookspan.
package instruments
