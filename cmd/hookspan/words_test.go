package main

import (
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

// A session holds tasks, one trace each; a task has calls and requests. In help run and turn
// are verbs, but for what these lines say; trace is what is stored and sent, and its id.
var (
	otherWords   = regexp.MustCompile(`(?i)\bturns?\b|\bruns,|\b(the|a|each|one|every|per|of|its|whole|last|next|such|several|many) runs?\b`)
	allowedWords = regexp.MustCompile(`hookspan turns the hook events|turns? (on|off)\b`)
)

func TestHelpCallsATaskATask(t *testing.T) {
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
	for _, v := range []any{statsJSON{}, store.Summary{}, store.Hit{}, shownCall{}, view.EventLine{}, view.Header{}} {
		each(reflect.TypeOf(v))
	}
	var b strings.Builder
	group := []store.Group{{Key: "x", Totals: store.Totals{Traces: 1, Calls: 1}}}
	if err := view.Groups(&b, store.ByTool, group, store.Totals{}, view.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := view.CSV(&b, store.ByTool, group); err != nil {
		t.Fatal(err)
	}
	if err := view.List(&b, []store.Summary{{Title: "x"}}, 0, nil, store.Totals{}, view.Options{}); err != nil {
		t.Fatal(err)
	}
	if word := regexp.MustCompile(`(?i)\b(runs|turns|tools)\b`).FindString(b.String()); word != "" {
		t.Errorf("a column is %q:\n%s", word, &b)
	}
}
