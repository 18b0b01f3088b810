package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// asked stores clineTrace and, two days later, a trace with hooks and Japanese.
func asked(t *testing.T) (*Store, string, string) {
	t.Helper()
	s := open(t)
	first := clineTrace()
	upload(t, s, first.Messages())
	b := newBuild("asked")
	const day = 24 * time.Hour
	b.Add(-1, "invoke_agent claude-code", 2*day, 2*day+time.Minute,
		str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyHost, "claude-code"),
		str(otelmap.KeyConversationID, "b7c1"), str(otelmap.KeyOutcome, otelmap.OutcomeFailed),
		str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "日本語のテスト Überprüfung")), str(otelmap.KeyRequestModel, "claude-opus-4-1-20250805"),
		str(otelmap.KeyWorkingDirectory, "/home/dev/shop-api/web"),
		num(otelmap.KeyInputTokens, 100), num(otelmap.KeyOutputTokens, 10))
	b.Tool(1, "Bash", `{"command":"cd web && go test ./...\nsay \"done\""}`, 2*day+time.Second, 2*day+3*time.Second)
	b.Event(2, otelmap.EventHook, 2*day+time.Second,
		str(otelmap.KeyHookEvent, "PreToolUse"), str(otelmap.KeyHookTool, "Bash"), str(otelmap.KeyHookCommand, "guard.sh"),
		str(otelmap.KeyHookStatus, "ok"), str(otelmap.KeyHookDecision, "deny"), str(otelmap.KeyHookReason, "not on Friday"),
		num(otelmap.KeyHookDuration, 12))
	upload(t, s, b.Messages())
	return s, traceID(first), traceID(b)
}

func TestFilter(t *testing.T) {
	s, cline, claude := asked(t)
	for name, c := range map[string]struct {
		f    Filter
		want []string
	}{
		"all":                      {Filter{}, []string{claude, cline}},
		"trace":                    {Filter{Trace: strings.ToUpper(cline[:6])}, []string{cline}},
		"agent":                    {Filter{Host: "claude-code"}, []string{claude}},
		"model":                    {Filter{Model: "claude-opus-4-1-20250805"}, []string{claude}},
		"part of a model":          {Filter{Model: "Opus"}, []string{claude}},
		"beginning of a model":     {Filter{Model: "claude-sonnet-4"}, []string{cline}},
		"half a part of a model":   {Filter{Model: "claude-son"}, nil},
		"a whole name":             {Filter{Model: "=claude-sonnet-4-5"}, []string{cline}},
		"another name's case":      {Filter{Model: "=Claude-sonnet-4-5"}, nil},
		"a part for a whole name":  {Filter{Model: "=claude-sonnet-4"}, nil},
		"tool":                     {Filter{Tool: "bash"}, []string{claude}},
		"no such tool":             {Filter{Tool: "Bas"}, nil},
		"directory":                {Filter{Directory: "/home/dev/shop-api"}, []string{claude, cline}},
		"folder":                   {Filter{Directory: "/home/dev/shop-api/web/"}, []string{claude}},
		"root folder":              {Filter{Directory: "/"}, []string{claude, cline}},
		"another worktree":         {Filter{Directory: "/nowhere", Also: []string{"/home/dev/shop-api/web"}}, []string{claude}},
		"half a folder":            {Filter{Directory: "/home/dev/shop"}, nil},
		"failed":                   {Filter{Failed: true}, []string{claude, cline}},
		"denied":                   {Filter{Denied: true}, []string{cline}},
		"until":                    {Filter{Until: at(time.Hour)}, []string{cline}},
		"word":                     {Filter{Text: "HEALTH"}, []string{cline}},
		"beginning of a word":      {Filter{Text: "endpo"}, []string{cline}},
		"end of a word":            {Filter{Text: "ndpoint"}, nil},
		"words of one span":        {Filter{Text: "health api"}, []string{cline}},
		"words of different spans": {Filter{Text: "endpoint failing"}, nil},
		"phrase":                   {Filter{Text: `"health endpoint"`}, []string{cline}},
		"phrase in another order":  {Filter{Text: `"endpoint health"`}, nil},
		"phrase is of whole words": {Filter{Text: `"health endpo"`}, nil},
		"unclosed quote":           {Filter{Text: `"health endpoint`}, []string{cline}},
		"word with punctuation":    {Filter{Text: `src/server.ts`}, []string{cline}},
		"operators are words":      {Filter{Text: `health OR nothing`}, nil},
		"operator":                 {Filter{Text: `NEAR(health)`}, nil},
		"column":                   {Filter{Text: `text:health`}, nil},
		"star":                     {Filter{Text: `health*`}, []string{cline}},
		"NUL":                      {Filter{Text: "health\x00endpoint"}, []string{cline}},
		"not UTF-8":                {Filter{Text: "\xffhealth"}, []string{cline}},
		"Japanese":                 {Filter{Text: "本語"}, []string{claude}},
		"Japanese in order":        {Filter{Text: "語本"}, nil},
		"accents":                  {Filter{Text: "uberprufung"}, []string{claude}},
		"after an escape":          {Filter{Text: "say done"}, []string{claude}},
		"error message":            {Filter{Text: "expected 200"}, []string{cline}},
		"reason of a hook":         {Filter{Text: "friday"}, []string{claude}},
		"all at once": {Filter{
			Host: "cline", Session: "17726", Model: "sonnet", Tool: "read_file", Outcome: otelmap.OutcomeCompleted, Text: "health",
			Directory: "/home", Failed: true, Denied: true, Since: t0, Until: at(1),
		}, []string{cline}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := s.List(t.Context(), c.f)
			if err != nil {
				t.Fatal(err)
			}
			var got, each []string
			for _, l := range list {
				got = append(got, l.TraceID)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("list (-want +got):\n%s", d)
			}
			err = s.Each(t.Context(), c.f, func(tr *Trace) error {
				if otlp.Count(tr.ResourceSpans) != tr.Spans {
					t.Errorf("trace %s has %d spans, want %d", tr.TraceID, otlp.Count(tr.ResourceSpans), tr.Spans)
				}
				each = append(each, tr.TraceID)
				return nil
			})
			if d := cmp.Diff(c.want, each); d != "" || err != nil {
				t.Errorf("each (-want +got), %v:\n%s", err, d)
			}
			if n, err := s.Count(t.Context(), c.f); n != len(c.want) || err != nil {
				t.Errorf("count is %d, %v, want %d", n, err, len(c.want))
			}
		})
	}
	for _, text := range []string{" ", `"`, `""`, "-->", "✓", "\x00", "\xff"} {
		if _, err := s.List(t.Context(), Filter{Text: text}); !errors.Is(err, ErrText) {
			t.Errorf("text %q: %v, want %v", text, err, ErrText)
		}
		if _, err := s.Search(t.Context(), Filter{Text: text}); !errors.Is(err, ErrText) {
			t.Errorf("search for %q: %v, want %v", text, err, ErrText)
		}
	}
}

func TestTotals(t *testing.T) {
	s, _, _ := asked(t)
	got, err := s.Totals(t.Context(), Filter{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	cost := 0.4321
	want := Totals{
		Traces: 2, Runs: 2, Calls: 10, Failures: 2, Denials: 1, Took: 134*time.Second + time.Minute,
		Usage:    &Usage{Input: 81_334, Output: 3_466, CacheRead: 60_000, CostUSD: &cost},
		Unpriced: []string{"claude-opus-4-1-20250805"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got, err = s.Totals(t.Context(), Filter{Host: "none"}); err != nil || got.Traces != 0 || got.Usage != nil {
		t.Errorf("of no trace: %+v, %v", got, err)
	}
}

func TestGroup(t *testing.T) {
	s, _, _ := asked(t)
	tokyo := time.FixedZone("JST", 14*60*60)
	for by, want := range map[By][]string{
		ByDay: {"2026-03-05", "2026-03-07"}, ByWeek: {"2026-03-02"}, ByMonth: {"2026-03"},
		ByModel: {"claude-opus-4-1-20250805", "claude-sonnet-4-5"}, ByAgent: {"claude-code", "cline"},
		ByProject: {"/home/dev/shop-api", "/home/dev/shop-api/web"}, BySession: {"1772619300123", "b7c1"},
		ByTool: {
			"Bash", "attempt_completion", "execute_command", "list_files", "read_file",
			"replace_in_file", "search_files", "use_subagents",
		},
		ByCommand: {"", "git push", "go test", "npm test"}, ByHook: {"guard.sh"},
	} {
		groups, err := s.Group(t.Context(), Filter{}, by, tokyo)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range groups {
			got = append(got, g.Key)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("by %s (-want +got):\n%s", by, d)
		}
	}
	groups, err := s.Group(t.Context(), Filter{Host: "cline"}, ByCommand, time.UTC)
	if err != nil || len(groups) != 3 {
		t.Fatalf("%+v, %v", groups, err)
	}
	want := Group{
		Key: "npm test", Totals: Totals{Traces: 1, Runs: 1, Calls: 2, Failures: 2, Took: 40 * time.Second},
		P50: 19 * time.Second, P95: 21 * time.Second,
	}
	if d := cmp.Diff(want, groups[2]); d != "" {
		t.Errorf("npm test (-want +got):\n%s", d)
	}
	if _, err := s.Group(t.Context(), Filter{}, "colour", time.UTC); err == nil || !strings.Contains(err.Error(), "day, week") {
		t.Errorf("an unknown key: %v, want an error that names the known ones", err)
	}
}

func TestHookRuns(t *testing.T) {
	s, _, claude := asked(t)
	for name, c := range map[string]struct {
		f    Filter
		want int
	}{
		"all": {Filter{}, 1}, "denied": {Filter{Denied: true}, 1}, "failed": {Filter{Failed: true}, 0},
		"tool": {Filter{Tool: "bash"}, 1}, "another tool": {Filter{Tool: "Edit"}, 0}, "another agent": {Filter{Host: "cline"}, 0},
	} {
		got, err := s.HookRuns(t.Context(), c.f)
		if err != nil || len(got) != c.want {
			t.Errorf("%s: %+v, %v, want %d", name, got, err, c.want)
		}
		if name != "all" {
			continue
		}
		want := HookRun{
			Trace: claude, Span: "a000000000000002", Session: "b7c1", Host: "claude-code", Directory: "/home/dev/shop-api/web",
			Event: "PreToolUse", Tool: "Bash", Command: "guard.sh", Status: "ok", Decision: "deny", Reason: "not on Friday",
			Started: at(48*time.Hour + time.Second), Took: 12 * time.Millisecond,
		}
		if d := cmp.Diff(want, got[0]); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

func TestSearch(t *testing.T) {
	s, cline, _ := asked(t)
	hits, err := s.Search(t.Context(), Filter{Text: "npm", Limit: -1})
	if err != nil || len(hits) != 2 {
		t.Fatalf("%+v, %v, want the two calls", hits, err)
	}
	want := Hit{
		Trace: cline, Span: "a00000000000000f", Name: "execute_tool execute_command", Tool: "execute_command", Kind: step.KindTool,
		Status: otelmap.EndUnfinished, Started: at(109 * time.Second), Snippet: "command: npm test -- --watch",
	}
	if d := cmp.Diff(want, hits[0]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if hits, err = s.Search(t.Context(), Filter{Text: "npm", Limit: 1}); err != nil || len(hits) != 1 {
		t.Errorf("one of them: %+v, %v", hits, err)
	}
}

func TestDeleteRemovesAllSelected(t *testing.T) {
	s, cline, _ := asked(t)
	if n, err := s.Delete(t.Context(), selected(t, s, Filter{Text: "friday"})); n != 1 || err != nil {
		t.Fatalf("deleted %d, %v", n, err)
	}
	if left := everything(t, s); len(left) != 1 || left[0].TraceID != cline {
		t.Errorf("%d traces are left", len(left))
	}
	series(t, s, 30)
	if n, err := s.Delete(t.Context(), selected(t, s, Filter{})); n != 31 || err != nil {
		t.Errorf("deleted %d, %v, want all, whatever the limit", n, err)
	}
}

func TestSizeGrows(t *testing.T) {
	s := open(t)
	before, err := s.Size(t.Context())
	if err != nil || before <= 0 {
		t.Fatalf("%d, %v", before, err)
	}
	series(t, s, 1000)
	if after, err := s.Size(t.Context()); err != nil || after <= before {
		t.Errorf("%d bytes, %v, before %d", after, err, before)
	}
}

func TestCommandOf(t *testing.T) {
	for _, c := range [][3]string{
		{"Bash", `{"command":"go test ./..."}`, "go test"},
		{"Bash", `{"description":"x","command":"npm run build -- --all"}`, "npm run build"},
		{"Bash", `{"command":"cd /x && FOO=1 timeout 10 git -C /y commit -m \"a; b\""}`, "git commit"},
		{"Bash", `{"command":"/usr/bin/python3 -m pytest"}`, "python3"},
		{"Bash", `{"command":"# build\nmake -j4 all"}`, "make all"},
		{"Bash", `{"command":"(cd a; ls) | wc"}`, "ls"},
		{"Bash", `{"command":"bash -lc 'cargo check'"}`, "cargo check"},
		{"shell", `{"command":["bash","-lc","cd a && go vet ./..."]}`, "go vet"},
		{"run_commands", `{"commands":["npm test","ls"]}`, "npm test"},
		{"exec_command", `{"cmd":"rg -n foo"}`, "rg"},
		{"execute_command", `{"command":"docker compose up…"}`, "docker compose"},
		{"execute_command", `{"command":"ls","…":3}`, "ls"},
		{"run_commands", `{"commands":["cd /x","ls -la…",{"…":3}]}`, "ls"},
		{"Bash", `{"command":"sudo chown -R dev /srv"}`, "sudo chown"},
		{"Bash", `{"command":"cd /x && sudo -u postgres -E FOO=1 psql -c 'select 1'"}`, "sudo psql"},
		{"Bash", `{"command":"sudo apt-get -y install jq"}`, "sudo apt-get install"},
		{"Bash", `{"command":"sudo"}`, "sudo"},
		{"Bash", `{"command":"kubectl --context prod-eu get pods"}`, "kubectl get"},
		{"Bash", `{"command":"kubectl --context=prod-eu -n payments logs api"}`, "kubectl logs"},
		{"Bash", `{"command":"git -c core.pager=cat --no-pager log"}`, "git log"},
		{"Bash", `{"command":"aws --profile prod --region eu-west-1 s3 ls"}`, "aws s3"},
		{"Bash", `{"command":"docker --context"}`, "docker"},
		{"Bash", `{"command":"cd /x"}`, ""},
		{"Bash", `{"command":"timeout 10"}`, "timeout"},
		{"Bash", `{"command":"timeout 10 20 30"}`, ""},
		{"Bash", `{"command":""}`, ""},
		{"Bash", `{"command":17}`, ""},
		{"Bash", `{"command":[`, ""},
		{"Bash", `no JSON`, ""},
		{"str_replace_based_edit_tool", `{"command":"view"}`, ""},
		{"Read", `{"file_path":"x"}`, ""},
	} {
		if got := CommandOf(c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: got %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func FuzzCommandOf(f *testing.F) {
	f.Add(`{"command":"timeout 1 bash -c 'x'"}`)
	f.Add(`{"commands":["a\`)
	f.Fuzz(func(t *testing.T, arguments string) {
		if got := CommandOf("Bash", arguments); len(got) > 3*maxCommand {
			t.Errorf("%d bytes", len(got))
		}
	})
}
