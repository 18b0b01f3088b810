package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// A session holds tasks, one trace each; a task has calls and requests. In help and
// pages run and turn are verbs, but for what these lines say; trace is what is stored and sent, and its id.
var (
	otherWords   = regexp.MustCompile(`(?i)\bturns?\b|\bruns,|\b(the|a|each|one|every|per|of|its|whole|last|next|such|several|many) runs?\b`)
	allowedWords = regexp.MustCompile(`hookspan turns the hook events|turns? (on|off)\b|one run each with|^\| (UserPromptSubmit|Stop) \|`)
)

func TestHelpAndPagesCallATaskATask(t *testing.T) {
	a, _, _ := newTestApp(t)
	check := func(where, text string) {
		for _, line := range strings.Split(text, "\n") {
			if word := otherWords.FindString(line); word != "" && !allowedWords.MatchString(line) {
				t.Errorf("%s: %q: say task, or add it to what is allowed: %s", where, word, line)
			}
		}
	}
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		where := cmd.CommandPath()
		for _, text := range []string{cmd.Short, cmd.Long, cmd.Example} {
			check(where, text)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { check(where+" --"+f.Name, f.Usage) })
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each(rootCmd(a))
	// Pages about spans, backends, settings and measurements mean the technical thing.
	technical := []string{"spans.md", "backends.md", "configuration.md", "dashboards.md", "dependencies.md"}
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(err, pages)
	}
	for _, page := range append(pages, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(page) //nolint:gosec // A page of this repository.
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(technical, filepath.Base(page)) {
			check(page, string(text))
		}
	}
}

// TestKeysAndColumnsHaveTheWords lists the keys with run, turn or trace in them.
func TestKeysAndColumnsHaveTheWords(t *testing.T) {
	allowed := []string{"traceId", "lastTraceId"}
	seen := make(map[reflect.Type]bool)
	var each func(of reflect.Type)
	each = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			key, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if regexp.MustCompile(`(?i)runs?\b|^run|turn|trace`).MatchString(key) && !slices.Contains(allowed, key) {
				t.Errorf("%s has the key %q", of, key)
			}
			if of.Field(i).IsExported() && strings.HasPrefix(of.PkgPath(), "github.com/hookspan") {
				each(of.Field(i).Type)
			}
		}
	}
	for _, v := range []any{statsJSON{}, listJSON{}, callsJSON{}, store.Hit{}, shownCall{}, view.EventLine{}, view.Header{}, view.Costs{}, view.Report{}, findingsJSON{}} {
		each(reflect.TypeOf(v))
	}
	var b strings.Builder
	group := []store.Group{{Key: "x", Title: "x", Last: "x", Branches: []string{"x"}, EditsDenied: 1, Totals: store.Totals{Traces: 1, Calls: 1, Failures: 1, Denials: 1, Waited: 1, Usage: &store.Usage{}}}}
	call := []store.Call{{Tool: "x", Waited: 1, Subagent: "x"}}
	err := errors.Join(view.Sides(&b, group, view.Options{}), view.Calls(&b, call, store.Totals{}, view.Options{}), view.CallsCSV(&b, call),
		view.List(&b, []store.Summary{{Title: "x"}}, 0, nil, store.Totals{}, view.Options{}), view.Cost(&b, "x", view.Costs{Items: []view.CostItem{{What: "x"}}}, view.Options{}))
	for _, by := range slices.Concat(store.Keys, view.WorkKeys) {
		err = errors.Join(err, view.Groups(&b, by, group, store.Totals{}, view.Options{}), view.CSV(&b, by, group))
	}
	if err != nil {
		t.Fatal(err)
	}
	if word := regexp.MustCompile(`(?i)\b(runs|turns|tools)\b`).FindString(b.String()); word != "" {
		t.Errorf("a column is %q:\n%s", word, &b)
	}
}
