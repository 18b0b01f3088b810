package export

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

//go:embed page.css
var pageCSS string

//go:embed page.html
var pageHTML string

// maxDepth is how deep the page nests: browsers limit how deep elements are. Deeper
// rows are shown at this depth.
const maxDepth = 40

// barUnits is the width of a bar's axis.
const barUnits = 1000

// page writes one HTML document. Its policy allows the style sheet and nothing else,
// so that no script or request would run even if a text became markup.
type page struct {
	b     *bufio.Writer
	t     *template.Template
	zone  *time.Location
	alone bool
	count int
}

// pageHead is what the beginning of a page shows.
type pageHead struct {
	Title  string
	Policy string
	Style  template.CSS
	// Total and Index are for a page with several traces.
	Total []string
	Index []indexRow
}

// indexRow leads to a trace of the page.
type indexRow struct {
	Number  int
	Title   string
	Outcome string
	Status  otelmap.End
	Started string
	Words   []string
}

// pageTrace is one trace of a page.
type pageTrace struct {
	Number int
	Alone  bool
	view.Header
	Prompt, Answer string
	Rows           []*pageRow
}

// pageRow is a row with those below it.
type pageRow struct {
	Kind         view.Kind
	Status       otelmap.End
	Label        string
	Detail       string
	Offset, Took string
	// Bar is where the row is in the trace's time; without one, HasBar is false.
	HasBar   bool
	From, To int
	Parts    []view.Part
	Below    []*pageRow
}

// Open reports whether a row shows what is below it from the start. Failures do:
// readers look for them.
func (r *pageRow) Open() bool { return len(r.Below) > 0 || r.Status == otelmap.EndFailed }

// Span is the length of the bar.
func (r *pageRow) Span() int { return r.To - r.From }

// policy is that of a document with the style sheet.
func policy() string {
	sum := sha256.Sum256([]byte(pageCSS))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func openHTML(b *bufio.Writer, all []store.Summary, o Options) (*page, error) {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	head := pageHead{
		Title:  termtext.Plural(len(all), "trace"),
		Policy: policy(),
		Style:  template.CSS(pageCSS), //nolint:gosec // The program's file.
	}
	p := &page{b: b, t: t, zone: o.Location, alone: len(all) == 1}
	if p.alone {
		head.Title = headOf(&all[0], p.zone).Title
	} else {
		head.Total = totalOf(all)[1:]
		for i := range all {
			s := &all[i]
			h := headOf(s, p.zone)
			row := indexRow{
				Number: i + 1, Title: h.Title, Outcome: h.Facts[0], Status: h.End,
				Words: append([]string{view.Duration(s.Duration())}, h.Counts...),
			}
			if !s.Started.IsZero() {
				row.Started = s.Started.In(p.zone).Format("2006-01-02 15:04")
			}
			head.Index = append(head.Index, row)
		}
	}
	return p, t.ExecuteTemplate(b, "head", head)
}

func (p *page) end() error { return p.t.ExecuteTemplate(p.b, "foot", nil) }

func (p *page) add(t *store.Trace) error {
	p.count++
	out := pageTrace{
		Number: p.count, Alone: p.alone, Header: headOf(&t.Summary, p.zone), Prompt: view.Prompt(t), Answer: view.Answer(t), Rows: pageRows(t),
	}
	if out.Prompt == out.Title {
		out.Prompt = "" // the title shows it
	}
	return p.t.ExecuteTemplate(p.b, "trace", out)
}

// pageRows returns the rows of a trace as a tree.
func pageRows(t *store.Trace) []*pageRow {
	var top []*pageRow
	var path []*pageRow // the row and those above it
	for _, r := range view.Rows(t) {
		row := pageRowOf(&r, t)
		depth := min(r.Depth, maxDepth, len(path))
		if path = path[:depth]; depth == 0 {
			top = append(top, row)
		} else {
			above := path[depth-1]
			above.Below = append(above.Below, row)
		}
		path = append(path, row)
	}
	return top
}

func pageRowOf(r *view.Row, t *store.Trace) *pageRow {
	row := &pageRow{
		Kind: r.Kind, Status: r.Status, Label: r.Agent(),
		Detail: termtext.Cut(r.Detail(), 400), Offset: view.Offset(r.Start, t.Started), Parts: r.Parts(),
	}
	if r.Detached {
		row.Label += " (parent missing)"
	}
	if !r.End.IsZero() {
		row.Took = view.Duration(r.Took())
	}
	row.Parts = withoutText(row.Parts, row.Detail)
	total := t.Duration()
	if r.Start.IsZero() || t.Started.IsZero() || total <= 0 {
		return row
	}
	at := func(moment time.Time) int {
		return min(barUnits, max(0, int(barUnits*float64(moment.Sub(t.Started))/float64(total))))
	}
	row.HasBar, row.From = true, at(r.Start)
	row.To = max(row.From, at(r.Start.Add(r.Took())))
	// The shortest bar can still be seen.
	const least = 6
	if row.To-row.From < least {
		row.From = min(row.From, barUnits-least)
		row.To = row.From + least
	}
	return row
}
