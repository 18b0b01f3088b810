package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/redact/redactspans"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// Format is a form in which traces are written.
type Format string

// The formats.
const (
	// OTLP is one ExportTraceServiceRequest as OTLP/JSON, which every OTLP/HTTP
	// receiver accepts.
	OTLP Format = "otlp"
	// Markdown is a conversation to read.
	Markdown Format = "md"
	// HTML is one file with a tree of each trace.
	HTML Format = "html"
)

// Formats lists all formats.
var Formats = []Format{OTLP, Markdown, HTML}

// FormatOf returns the format of a file by its name's ending.
func FormatOf(name string) (f Format, ok bool) {
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		return OTLP, true
	case ".md", ".markdown":
		return Markdown, true
	case ".html", ".htm":
		return HTML, true
	}
	return "", false
}

// Options say how traces are written. The zero value is ready to use.
type Options struct {
	// Redact removes secrets from all texts. If nil, the texts are not changed.
	Redact *redact.Redactor
	// Location is the time zone of the times in Markdown and HTML. If nil, the
	// local one.
	Location *time.Location
}

// Write writes the traces of the summaries in their order. get returns each
// complete trace; those that it does not find are left out, and their ids returned.
func Write(w io.Writer, f Format, traces []store.Summary, get func(id string) (*store.Trace, error), o Options) (gone []string, err error) {
	if o.Location == nil {
		o.Location = time.Local
	}
	b := bufio.NewWriter(w)
	clean := make([]store.Summary, len(traces))
	for i := range traces {
		clean[i] = o.summary(traces[i])
	}
	to, err := open(b, f, clean, o)
	if err != nil {
		return nil, err
	}
	for i := range clean {
		t, err := get(clean[i].TraceID)
		if errors.Is(err, store.ErrNotFound) {
			gone = append(gone, clean[i].TraceID)
			continue
		}
		if err != nil {
			return gone, err
		}
		if err := to.add(&store.Trace{Summary: o.summary(t.Summary), ResourceSpans: o.spans(t.ResourceSpans)}); err != nil {
			return gone, err
		}
	}
	if err := to.end(); err != nil {
		return gone, err
	}
	return gone, b.Flush()
}

// document is what a format makes of traces, one after the other.
type document interface {
	add(t *store.Trace) error
	end() error
}

// open writes the beginning of a document. The summaries are those of all traces.
func open(b *bufio.Writer, f Format, all []store.Summary, o Options) (document, error) {
	switch f {
	case OTLP:
		return openOTLP(b), nil
	case Markdown:
		return openMarkdown(b, all, o), nil
	case HTML:
		return openHTML(b, all, o)
	}
	return nil, fmt.Errorf("format %q: want one of %v", f, Formats)
}

// spans returns the messages without secrets.
func (o *Options) spans(messages []*tracepb.ResourceSpans) []*tracepb.ResourceSpans {
	if o.Redact == nil {
		return messages
	}
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i] = redactspans.Clean(o.Redact, messages[i])
	}
	return messages
}

// summary returns the summary without secrets.
func (o *Options) summary(s store.Summary) store.Summary {
	if o.Redact != nil {
		for _, text := range []*string{&s.Host, &s.Session, &s.Title, &s.Model, &s.Directory, &s.Branch, &s.Outcome, &s.Missing} {
			*text = o.Redact.Tail(*text)
		}
		s.Folders = slices.Clone(s.Folders)
		for i := range s.Folders {
			s.Folders[i] = o.Redact.Tail(s.Folders[i])
		}
	}
	return s
}

// otlpDocument is one request with the resources of all traces, each on one line.
type otlpDocument struct {
	b *bufio.Writer
	// separator precedes the next resource.
	separator string
}

func openOTLP(b *bufio.Writer) *otlpDocument {
	_, _ = b.WriteString(`{"resourceSpans":[`)
	return &otlpDocument{b: b, separator: "\n"}
}

func (d *otlpDocument) add(t *store.Trace) error {
	for i := range t.ResourceSpans {
		doc, err := otlpjson.Encode(t.ResourceSpans[i : i+1])
		if err != nil {
			return err
		}
		resource := doc[len(`{"resourceSpans":[`) : len(doc)-len(`]}`)]
		_, _ = d.b.WriteString(d.separator)
		_, _ = d.b.Write(termtext.JSON(resource))
		d.separator = ",\n"
	}
	return nil
}

func (d *otlpDocument) end() error {
	_, err := d.b.WriteString("\n]}\n")
	return err
}
