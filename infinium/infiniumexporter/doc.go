// Package infiniumexporter is a component of the OpenTelemetry Collector that
// sends traces of coding agents to Infinium.
package infiniumexporter
