package export

import (
	"bufio"
	_ "embed"
	"html/template"
	"io"
	"strings"

	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/traces/view"
)

//go:embed report.html
var reportHTML string

// Report writes a report as HTML or Markdown. Every text is redacted.
func Report(w io.Writer, f Format, r view.Report, clean *redact.Redactor) error {
	r = Cleaned(r, clean)
	if f == HTML {
		t, err := template.New("report").Funcs(template.FuncMap{"join": strings.Join}).Parse(reportHTML)
		if err != nil {
			return err
		}
		return t.Execute(w, struct {
			view.Report
			Policy string
			Style  template.CSS
		}{r, policy(), template.CSS(pageCSS)}) //nolint:gosec // The style sheet of this package.
	}
	b := bufio.NewWriter(w)
	cells := func(row []string) {
		for _, c := range row {
			_, _ = b.WriteString("|" + escape(" "+c) + " ")
		}
		_, _ = b.WriteString("|\n")
	}
	_, _ = b.WriteString("# " + escape(r.Title) + "\n\n" + escape(strings.Join(r.Facts, " · ")) + "\n")
	for _, t := range r.Tables {
		_, _ = b.WriteString("\n## " + escape(t.Title) + "\n\n")
		cells(t.Head)
		_, _ = b.WriteString("|---" + strings.Repeat("|--:", len(t.Head)-1) + "|\n")
		for _, row := range t.Rows {
			cells(row)
		}
	}
	return b.Flush()
}

// Cleaned is a report whose texts are redacted.
func Cleaned(r view.Report, clean *redact.Redactor) view.Report {
	if clean == nil {
		return r
	}
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			for i := range row {
				row[i] = clean.String(row[i])
			}
		}
	}
	return r
}
