package otelmap

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
)

// Options shape the mapping. The zero value works.
type Options struct {
	// ServiceName is the resource's service.name; if empty, the host's name.
	ServiceName string
	// Resource is added to every span's resource; it does not override
	// service.name and service.version.
	Resource []*commonpb.KeyValue
	// ScopeVersion is the version of the instrumentation scope.
	ScopeVersion string
	// Capture is CapturePreview if empty.
	Capture Capture
	// Agent is the agent that the events come from.
	Agent Traits
	// MaxInput and MaxOutput are preview limits in runes; if zero, the agent's.
	MaxInput  int
	MaxOutput int
	// Clean removes secrets from a text and cuts it to max runes, whole if max
	// is zero or less. It must be pure. If nil, texts are only cut.
	Clean func(text string, max int) string
	// IdleTimeout is DefaultIdleTimeout if zero.
	IdleTimeout time.Duration
	// FromFiles reports that the events were made from the agent's files, which show how a
	// run went on: no silence before an event ends it, only that after the last.
	FromFiles bool
	// Traceparent is the W3C context that becomes the parent of every root
	// whose events have none.
	Traceparent string
}

// DefaultIdleTimeout is how long a run may be silent before it counts as
// abandoned.
const DefaultIdleTimeout = 30 * time.Minute

// Traits is what differs between agents in the mapping of their events.
type Traits struct {
	// Turns reports that the agent numbers its turns: a run is a turn. If false,
	// a run is a task.
	Turns bool
	// Unnamed reports that the agent's hooks name no subagents, and maybe no calls nor the
	// session of what subagents do. Its files do: a call without an id is the oldest one there
	// with the same tool and input.
	Unnamed bool
	// Shared reports that several processes can work on one session, each with a turn, and
	// that each reports its start and its end.
	Shared bool
	// MaxInput and MaxOutput are the preview limits in runes that apply where
	// Options sets none; if zero, 200 and 300.
	MaxInput, MaxOutput int
	// ToolError is the error.type of a failed tool; if empty, ErrorTool.
	ToolError string
	// Provider is the provider of the model if neither the events nor the agent's
	// files name one.
	Provider string
	// MCPServer returns the MCP server of a tool by its name and input, "" if no server has
	// it. If nil, the name mcp__server__tool counts.
	MCPServer func(tool, input string) string
	// Script is the tool that runs a script of the model's, which calls other tools; Nested
	// begins the ids of these calls. If Script is empty, no tool does.
	Script, Nested string
	// Within, if not empty, follows the id of a call in the ids of those that it made.
	Within string
	// Extensions are the tools that the model's provider runs.
	Extensions []string
}

// Capture says how much of prompts, tool inputs and results goes onto spans.
type Capture string

// The capture levels.
const (
	// CapturePreview cuts texts to the preview limits. The task's text and the
	// final result are on the root span up to MaxTaskRunes.
	CapturePreview Capture = "preview"
	// CaptureNone leaves every text out: names, times, counts and error types
	// remain.
	CaptureNone Capture = "none"
	// CaptureFull keeps texts whole.
	CaptureFull Capture = "full"
)

// Stricter reports whether c captures less text than other does. An unknown level
// captures nothing.
func (c Capture) Stricter(other Capture) bool { return c.openness() < other.openness() }

func (c Capture) openness() int {
	switch c {
	case CaptureFull:
		return 2
	case CapturePreview:
		return 1
	}
	return 0
}

func (o Options) withDefaults(host string) Options {
	o.Capture = cmp.Or(o.Capture, CapturePreview)
	o.MaxInput = cmp.Or(o.MaxInput, o.Agent.MaxInput, 200)
	o.MaxOutput = cmp.Or(o.MaxOutput, o.Agent.MaxOutput, 300)
	o.Agent.ToolError = cmp.Or(o.Agent.ToolError, ErrorTool)
	if o.Agent.MCPServer == nil {
		o.Agent.MCPServer = mcpServer
	}
	if o.Clean == nil {
		o.Clean = termtext.Cut
	}
	o.IdleTimeout = cmp.Or(o.IdleTimeout, DefaultIdleTimeout)
	o.ServiceName = cmp.Or(o.ServiceName, host)
	return o
}

// text cleans s for a span: at most limit runes, unless everything or nothing
// is captured.
func (o *Options) text(s string, limit int) string {
	switch {
	case s == "" || o.Capture == CaptureNone:
		return ""
	case o.Capture == CaptureFull:
		limit = 0
	}
	return o.Clean(s, limit)
}

// failureWindow is how much of a long text is cleaned before the part of its end
// that is kept, in bytes. A secret that ends within that part is then whole.
const failureWindow = 8 << 10

// minFailure is the preview limit below which the beginning alone is kept.
const minFailure = 20

// failure is text for what a failed call returned. Of a long text it keeps the
// beginning and the end: the cause is usually at the end.
func (o *Options) failure(s string, limit int) string {
	if o.Capture != CapturePreview || len(s) <= limit || limit < minFailure {
		return o.text(s, limit)
	}
	head, tail := "", s
	if from := len(s) - limit*utf8.UTFMax - failureWindow; from > 0 {
		for !utf8.RuneStart(s[from]) && from < len(s)-1 {
			from++
		}
		head, tail = o.Clean(s, limit/3), o.Clean(s[from:], 0)
	} else if tail = o.Clean(s, 0); utf8.RuneCountInString(tail) > limit {
		head = termtext.Cut(tail, limit/3)
	} else {
		return tail
	}
	room := limit - utf8.RuneCountInString(head) - 1
	tail = termtext.Tail(tail, room-1)
	// A whole line is easier to read.
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		return head + tail[i:]
	}
	return head + "\n…" + tail
}

// preview shortens a text that has been cleaned already.
func (o *Options) preview(s string, limit int) string {
	if o.Capture == CaptureFull {
		return s
	}
	return termtext.Cut(s, limit)
}

// WithUsageCost returns spans with KeyUsageCost on the requests whose cost is known. The
// argument is not changed.
func WithUsageCost(m *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	m = proto.CloneOf(m)
	for s := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
		cost, ok := otlp.Find(s.Attributes, KeyCost).GetValue().(*commonpb.AnyValue_DoubleValue)
		if ok && otlp.Text(s.Attributes, KeyOperation) == OpChat && otlp.Find(s.Attributes, KeyUsageCost) == nil {
			s.Attributes = append(s.Attributes, otlp.Float(KeyUsageCost, cost.DoubleValue))
		}
	}
	return m
}
