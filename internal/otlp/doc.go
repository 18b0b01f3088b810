// Package otlp reads and builds OTLP trace messages, the project's only span
// model: attributes, identifiers, times, and walks over ResourceSpans.
//
// All functions are pure. They accept nil messages and the zero value of every
// field, because messages also come from files and from other exporters.
package otlp
