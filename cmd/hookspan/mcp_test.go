package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/traces/mcp"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// question is one of testdata/mcp/questions.json, whose README describes it.
type question struct {
	Question, Kind, Project string
	Answers                 [][]string
	Numbers                 []struct {
		What, Unit       string
		Value, Tolerance float64
	}
}

// arguments are those of a call.
type arguments map[string]any

var (
	quotedText  = regexp.MustCompile("`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|'([^']{3,})'")
	dateText    = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)
	fileText    = regexp.MustCompile(`^(?:[\w.@~-]+/)*(?:[^\s/]+\.(?:go|mod|tsx?|m?js|py|ipynb|toml|ya?ml|tf|sh|java|kts?|rs|md|json|xml|lua)|[\w.-]+/)$`)
	branchText  = regexp.MustCompile(`\b(?:feat|fix|dev|chore|hotfix|release)/[\w.-]+|\bbranch (\w[\w./-]*)|\b(main|master)\b`)
	taskText    = regexp.MustCompile(`(?m)^task ([0-9a-f]{8}),`)
	callText    = regexp.MustCompile(`failed \[([0-9a-f]{8}:[0-9a-f]{8})\]`)
	olderText   = regexp.MustCompile(`until=(\S+)\. `)
	wordText    = regexp.MustCompile(`[\p{L}\p{N}][\p{L}\p{N}_-]*`)
	lengthText  = regexp.MustCompile(`\b(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+(?:\.\d+)?s)?(?:\d+ms)?\b`)
	dollarsText = regexp.MustCompile(`\$(\d+(?:\.\d+)?)`)
)

// asks are the words that decide which tool a question is for, the first that it has.
var asks = []struct {
	words, tool string
	with        arguments
}{
	{`denied|deny|reject|refus|declin|not allowed|forb[ia]d`, "list", arguments{"denied": true}},
	{`cost|spen[dt]|dollars|expensive|money|\$`, "stats", arguments{}},
	{`how long|take|took|duration|median|p50|slow|fast`, "stats", arguments{"by": "command"}},
	{`unfinished|interrupt|abandon|not finish|never finish|gave up|left (open|over|off)|incomplete|broke off|stopped`, "list", arguments{"outcome": "interrupted"}},
	{`touch|chang|edit|modif|wrote|written|read|file`, "list", arguments{}},
	{`error|fail|wrong|broke|crash|solv`, "search", arguments{}},
	{``, "search", arguments{}},
}

// common are words of questions that say nothing of the answer.
const common = ` a about after again all already also am an and any anything are around as ask asked at be because been before being between branch by can command commands could day days
 did do does doing done during each earlier ever first for from get got had has have here how i if in into is it its last later list long make many me more most much my no not of off on once
 one only or other our out project repository run running same session sessions she should since so some something task tasks than that the their them then there these they thing things this time times
 to today two until up us used want was we week were what when where which while who whose why will with without work worked working would yesterday you your agent agents answer
 error errors fail failed failing solve solved fix fixed happen happened say said tell told find found come came `

// first is the call that a question's words ask for.
func first(q string) (tool string, args arguments) {
	var quoted []string
	for _, m := range quotedText.FindAllStringSubmatch(q, -1) {
		quoted = append(quoted, cmp.Or(m[1], m[2], m[3], m[4]))
	}
	plain, args := quotedText.ReplaceAllString(q, " "), arguments{}
	dates := dateText.FindAllString(q, -1)
	if len(dates) > 0 {
		args["since"], args["until"] = slices.Min(dates), slices.Max(dates)
		if len(dates) == 1 && regexp.MustCompile(`(?i)\b(since|after|from) `+dates[0]).MatchString(q) {
			delete(args, "until")
		} else if len(dates) == 1 && regexp.MustCompile(`(?i)\b(before|until|by) `+dates[0]).MatchString(q) {
			delete(args, "since")
		}
	}
	if m := branchText.FindStringSubmatch(q); m != nil && !slices.Contains(quoted, m[0]) || m != nil && strings.Contains(q, "branch") {
		args["branch"] = cmp.Or(m[1], m[0])
	}
	file := ""
	for _, word := range append(slices.Clone(quoted), strings.Fields(plain)...) {
		if word = strings.Trim(word, `?,.;:()`); file == "" && fileText.MatchString(word) {
			file = word
		}
	}
	for _, a := range asks {
		if regexp.MustCompile(`(?i)` + a.words).MatchString(plain) {
			tool = a.tool
			maps.Copy(args, a.with)
			break
		}
	}
	switch {
	case tool == "stats" && args["by"] != nil:
		if len(quoted) > 0 {
			words := strings.Fields(quoted[0])
			args["key"] = words[0]
			if len(words) > 1 && regexp.MustCompile(`^[a-z]+$`).MatchString(words[1]) {
				args["key"] = words[0] + " " + words[1]
			}
		}
		return tool, args
	case tool == "stats":
		for _, by := range []string{"day", "week", "month", "model", "agent", "session"} {
			if regexp.MustCompile(`(?i)\b(per|each|every|which|by) ` + by).MatchString(q) {
				args["by"] = by
			}
		}
		return tool, args
	case tool == "list" && file != "" && args["denied"] == nil && args["outcome"] == nil:
		args["file"] = file
		return tool, args
	case tool == "list" && (args["denied"] != nil || args["outcome"] != nil):
		return tool, args
	}
	words := quoted
	for _, w := range wordText.FindAllString(strings.Join(append(dates, plain), " "), -1) {
		if len(quoted) == 0 && len([]rune(w)) > 2 && !strings.Contains(common, " "+strings.ToLower(w)+" ") && !slices.Contains(dates, w) && w != args["branch"] {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return "list", args
	}
	args["query"] = strings.Join(words, " ")
	if len(quoted) > 0 {
		args["query"] = `"` + quoted[0] + `"`
	}
	return "search", args
}

// next is the call after an answer, "" if there is none to make. Of a search the first hit is
// opened; one that finds nothing is made again with the longest words; a list is continued.
func next(tool string, args arguments, answer string, n int) (string, arguments) {
	args = maps.Clone(args)
	older := olderText.FindStringSubmatch(answer)
	switch failed := callText.FindStringSubmatch(answer); {
	case tool == "search" && strings.HasPrefix(answer, "No task matches"):
		words := wordText.FindAllString(args["query"].(string), -1)
		slices.SortStableFunc(words, func(x, y string) int { return len(y) - len(x) })
		args["query"] = strings.Join(words[:min(len(words), 3-n)], " ")
		return tool, args
	case tool == "search" && failed != nil:
		return "open", arguments{"id": failed[1]}
	case tool == "search":
		if found := taskText.FindStringSubmatch(answer); found != nil {
			return "open", arguments{"id": found[1]}
		}
	case older != nil && args["outcome"] == nil:
		args["until"] = older[1]
		return tool, args
	case tool == "stats" && args["key"] != nil:
		delete(args, "key")
		return tool, args
	case tool == "list" && args["outcome"] != nil:
		args["outcome"] = []string{"", "failed", "abandoned", ""}[n]
		return tool, args
	case tool == "stats" && args["by"] == nil:
		return "list", args
	}
	return "", nil
}

// maxCalls is how many calls answer a question. unanswered are two of what was done before that
// paraphrase it: no text has "converted" or "moving".
const maxCalls, unanswered = 3, 2

// TestQuestions asks what a working week asks, by calls that a fixed rule derives from a question's
// words. The answers were written before the tools.
func TestQuestions(t *testing.T) {
	a, _, _ := newTestApp(t, "import", "--yes")
	unpack(t, "testdata/mcp/home.tar.gz", a.home)
	if code := run(t.Context(), a); code != 0 {
		t.Fatalf("import ends with code %d", code)
	}
	st, err := store.Open(t.Context(), a.cfg.StorePath())
	if err == nil {
		_, err = st.Index(t.Context(), 0) // a slow machine takes longer than a search does
		err = errors.Join(err, st.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/mcp/questions.json")
	if err != nil {
		t.Fatal(err)
	}
	var questions []question
	if err := json.Unmarshal(text, &questions); err != nil {
		t.Fatal(err)
	}
	answered, size, byKind := 0, 0, make(map[string][2]int)
	for _, q := range questions {
		session := serve(t, a, q.Project)
		var said, calls []string
		tool, args := first(q.Question)
		for n := 1; n <= maxCalls && tool != ""; n++ {
			answer, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
			if err != nil {
				t.Fatalf("%q: %s %v: %v", q.Question, tool, args, err)
			}
			said = append(said, answer.Content[0].(*sdk.TextContent).Text)
			calls = append(calls, fmt.Sprint(tool, " ", args))
			tool, args = next(tool, args, said[n-1], n)
		}
		missing := q.missing(strings.Join(said, "\n"))
		count := byKind[q.Kind]
		count[1]++
		if missing == nil {
			answered++
			count[0]++
		}
		byKind[q.Kind] = count
		size += len(strings.Join(said, ""))
		t.Logf("%s %q: %q, missing %q", q.Kind, q.Question, calls, missing)
	}
	t.Logf("%d of %d questions answered, by kind %v, %d bytes each", answered, len(questions), byKind, size/max(len(questions), 1))
	if answered < len(questions)-unanswered {
		t.Errorf("%d questions are not answered, want at most %d", len(questions)-answered, unanswered)
	}
}

// unpack puts the agents' files, packed or a folder, below a home folder.
func unpack(t *testing.T, from, home string) {
	t.Helper()
	packed, err := os.Open(from) //nolint:gosec // A file of testdata.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(plain)
	for {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(home, filepath.FromSlash(head.Name))
		text, err := io.ReadAll(files)
		if err == nil && head.Typeflag == tar.TypeReg {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// serve is a session with a server about one folder.
func serve(t *testing.T, a *app, folder string) *sdk.ClientSession {
	t.Helper()
	s := &mcp.Server{
		Path: a.cfg.StorePath(), Scope: store.Filter{Directory: folder}, Redact: redact.New(nil), Now: a.now,
		Known: func(host string) bool { _, ok := a.agents.Named(host); return ok },
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	here, there := sdk.NewInMemoryTransports()
	go func() { done <- s.Run(ctx, there) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		end()
		<-done
	})
	return session
}

// missing are the answers and numbers that a text lacks.
func (q *question) missing(text string) (out []string) {
	text = strings.Join(strings.Fields(text), " ")
	for _, forms := range q.Answers {
		if !slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, strings.Join(strings.Fields(form), " ")) }) {
			out = append(out, strings.Join(forms, " or "))
		}
	}
	for _, n := range q.Numbers {
		near := func(got float64) bool { return math.Abs(got-n.Value) <= n.Tolerance*n.Value }
		found := false
		if n.Unit == "usd" {
			for _, m := range dollarsText.FindAllStringSubmatch(text, -1) {
				got, _ := strconv.ParseFloat(m[1], 64)
				found = found || near(got)
			}
		} else {
			for _, m := range lengthText.FindAllString(text, -1) {
				took, err := time.ParseDuration(m)
				found = found || err == nil && near(took.Seconds())
			}
		}
		if !found {
			out = append(out, fmt.Sprint(n.What, " ", n.Value, " ", n.Unit))
		}
	}
	return out
}
