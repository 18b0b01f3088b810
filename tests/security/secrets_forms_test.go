package security_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/secretforms"
)

// What may be missed and what may be touched, in percent.
const (
	mostMissed  = 10.0
	mostTouched = 1.0

	// Of the forms of the field, and of ordinary texts of a repository.
	mostOfField, mostOfClass, mostOfTexts = 8.0, 20.0, 0.2
)

var formsRule = fmt.Sprintf("at most %.0f %% of a class leave eight characters in a row of a secret, or the whole of a shorter one; the line behind stays", mostMissed)

// formRows measure how much of what tools print is found, for each class of it.
var formRows = slices.Concat(classRows(), []proof.Row{
	{Name: "forms of every class that no rule was written for", Rule: formsRule, Run: heldOutForms},
	{Name: "the same forms, cut at twelve places behind the beginning of a secret", Rule: fmt.Sprintf("as above, at most %.0f %% of all", mostMissed), Run: cutForms},
	{
		Name: "what the field prints, in seventeen classes: forms that no rule was written for, without a frame",
		Rule: fmt.Sprintf("at most %.0f %% of all and %.0f %% of a class leave eight characters in a row of a secret", mostOfField, mostOfClass),
		Run:  func(t *testing.T, r *proof.Result) { fieldForms(t, r, secretforms.Measured()) },
	},
	{
		Name: "the same classes: forms that rules were written for",
		Rule: fmt.Sprintf("at most %.0f %% of all and %.0f %% of a class leave eight characters in a row of a secret", mostOfField, mostOfClass),
		Run:  func(t *testing.T, r *proof.Result) { fieldForms(t, r, secretforms.Development()) },
	},
	{
		Name: "parts of the files of this repository: code, documents, recorded conversations, settings; a third as diffs, with line numbers, in logs",
		Rule: fmt.Sprintf("at most %.1f %% of 2,000 lose anything", mostOfTexts),
		Run:  repositoryTexts,
	},
	{
		Name: "ordinary output and source with names that suggest secrets: settings, references, checksums, program text, prose, help, logs",
		Rule: fmt.Sprintf("at most %.0f %% of the samples lose anything", mostTouched),
		Run:  ordinarySamples,
	},
})

func classRows() []proof.Row {
	var rows []proof.Row
	for _, class := range secretforms.Classes {
		rows = append(rows, proof.Row{
			Name: "secrets as tools print them: " + class.Name,
			Rule: formsRule,
			Run: func(t *testing.T, r *proof.Result) {
				missed := tryForms(r, class.Samples(), func(s secretforms.Sample, got string) {
					t.Logf("%s: %q: %q", s.Frame, s.Form, got)
				})
				r.Note("%d forms in %d frames, %s", class.Forms(), len(secretforms.Frames), missed)
			},
		})
	}
	return rows
}

// tryForms says how many samples left something, and breaks the row if those
// are too many.
func tryForms(r *proof.Result, samples []secretforms.Sample, missed func(secretforms.Sample, string)) string {
	clean := redact.New(nil)
	n := 0
	for i := range samples {
		s := &samples[i]
		got := clean.Tail(s.Text)
		if again := clean.Tail(got); again != got {
			r.Break("redacted again, %q becomes %q", got, again)
		}
		if s.Leak(got) != "" || !strings.Contains(got, s.Keep) {
			n++
			missed(*s, got)
		}
	}
	r.Trial(len(samples))
	rate := 100 * float64(n) / float64(len(samples))
	if rate > mostMissed {
		r.Break("%d of %d samples left something: %.1f %%", n, len(samples), rate)
	}
	return fmt.Sprintf("%.1f %% missed", rate)
}

func heldOutForms(t *testing.T, r *proof.Result) {
	class := secretforms.HeldOut
	missed := tryForms(r, class.Samples(), func(secretforms.Sample, string) {})
	r.Note("%d forms in %d frames, %s", class.Forms(), len(secretforms.Frames), missed)
}

// cutForms cuts forms as a preview or the agent does.
func cutForms(t *testing.T, r *proof.Result) {
	const places = 12
	clean := redact.New(nil)
	trials, missed := 0, 0
	for _, class := range secretforms.Classes {
		for _, s := range class.Samples() {
			if s.Frame != "plain text" && s.Frame != "JSON in JSON" && s.Frame != "kubectl logs --timestamps" {
				continue
			}
			first := len(s.Text)
			for _, secret := range s.Secrets {
				if at := strings.Index(s.Text, secret); at >= 0 {
					first = min(first, at)
				}
			}
			for n := range places {
				at := first + (len(s.Text)-first)*n/places
				got := clean.Tail(strings.ToValidUTF8(s.Text[:at], "") + []string{"", "…", "\n... [truncated]"}[n%3])
				trials++
				if again := clean.Tail(got); again != got {
					r.Break("redacted again, %q becomes %q", got, again)
				}
				if s.Leak(got) != "" {
					missed++
					t.Logf("%s, %d of %d: %q", s.Frame, at, len(s.Text), got)
				}
			}
		}
	}
	r.Trial(trials)
	rate := 100 * float64(missed) / float64(trials)
	if rate > mostMissed {
		r.Break("%d of %d cut samples left something: %.1f %%", missed, trials, rate)
	}
	r.Note("%.1f %% missed", rate)
}

func ordinarySamples(t *testing.T, r *proof.Result) {
	clean := redact.New(nil)
	for _, heldOut := range []bool{false, true} {
		samples := secretforms.Ordinary(heldOut, 4)
		touched := 0
		for _, s := range samples {
			got := clean.Tail(s.Text)
			if got == s.Text {
				continue
			}
			touched++
			if !heldOut {
				t.Logf("%s: %q: %q", s.Kind, s.Text, got)
			}
		}
		rate := 100 * float64(touched) / float64(len(samples))
		if rate > mostTouched {
			r.Break("%d of %d ordinary samples lost something: %.1f %%", touched, len(samples), rate)
		}
		r.Trial(len(samples))
		held := ""
		if heldOut {
			held = " that no rule was written for"
		}
		r.Note("%.1f %% of %d samples%s touched", rate, len(samples), held)
	}
}

// fieldForms tries each form with three values.
func fieldForms(t *testing.T, r *proof.Result, classes []secretforms.Class) {
	clean := redact.New(nil)
	forms, trials, missed := 0, 0, 0
	worst, worstName := 0.0, ""
	for _, class := range classes {
		samples := class.Drawn(3)
		n := 0
		for i := range samples {
			s := &samples[i]
			got := clean.Tail(s.Text)
			if again := clean.Tail(got); again != got {
				r.Break("redacted again, %q becomes %q", got, again)
			}
			if s.Stretch(got) != "" {
				n++
				t.Logf("%s: %q", class.Name, got)
			}
		}
		rate := 100 * float64(n) / float64(len(samples))
		t.Logf("%s: %d forms, %.1f %% missed", class.Name, class.Forms(), rate)
		if rate > mostOfClass {
			r.Break("%s: %d of %d samples left something: %.1f %%", class.Name, n, len(samples), rate)
		}
		if rate >= worst {
			worst, worstName = rate, class.Name
		}
		forms, trials, missed = forms+class.Forms(), trials+len(samples), missed+n
	}
	r.Trial(trials)
	rate := 100 * float64(missed) / float64(trials)
	if rate > mostOfField {
		r.Break("%d of %d samples left something: %.1f %%", missed, trials, rate)
	}
	r.Note("%d forms, %.1f %% missed; most of a class: %.1f %% (%s)", forms, rate, worst, worstName)
}

func repositoryTexts(t *testing.T, r *proof.Result) {
	samples, err := secretforms.Repository("../..", 2000)
	if err != nil {
		t.Fatal(err)
	}
	clean := redact.New(nil)
	touched := 0
	for _, s := range samples {
		if got := clean.Tail(s.Text); got != s.Text {
			touched++
			t.Logf("%s: %q: %q", s.Kind, s.Text, got)
		}
	}
	r.Trial(len(samples))
	rate := 100 * float64(touched) / float64(len(samples))
	if rate > mostOfTexts || len(samples) < 2000 {
		r.Break("%d of %d texts lost something: %.2f %%", touched, len(samples), rate)
	}
	r.Note("%.2f %% of %d touched", rate, len(samples))
}
