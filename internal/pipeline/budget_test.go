package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/budget"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/faultserver"
	"github.com/hookspan/hookspan/internal/testkit/tracetest"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

const webhookKey = "xoxb-T0psecretOfThePath"

type hookServer = faultserver.Server[faultserver.Answer, faultserver.Incoming]

func newHookServer(t *testing.T) *hookServer {
	t.Helper()
	s, err := faultserver.Start(faultserver.Options[faultserver.Answer, faultserver.Incoming]{
		Name: "webhook", Read: func(in faultserver.Incoming) *faultserver.Incoming { return &in },
		Choose: func(_ *faultserver.Incoming, next func() (faultserver.Answer, bool)) faultserver.Answer {
			a, _ := next()
			return a
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// budgeted is a setup with budgets and a webhook in the env file, its log, and a clock that a test moves.
func budgeted(t *testing.T, lines ...string) (s *Setup, log *strings.Builder, clock *time.Time) {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, ".config", "hookspan", "hookspan.env")
	if runtime.GOOS == "windows" {
		path = filepath.Join(home, "AppData", "Roaming", "hookspan", "hookspan.env")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Input{
		Environ: []string{"HOME=" + home, "USERPROFILE=" + home}, Home: home, GOOS: runtime.GOOS,
		ReadFile: func(path string) ([]byte, error) { return regular.Read(path, regular.Options{}) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s, log, clock = newSetup(t), &strings.Builder{}, new(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))
	s.Config, s.Home = cfg, home
	s.Now = func() time.Time { return *clock }
	s.Log = func(line string) { log.WriteString(line + "\n") }
	s.Limits = func() map[string][]hook.Limit { return nil }
	return s, log, clock
}

// deliverCost stores a task of today with a cost, unless it is zero, and delivers by hand or as hooks do.
func deliverCost(ctx context.Context, t *testing.T, s *Setup, name string, cost float64) (left bool) {
	t.Helper()
	p, err := s.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if cost > 0 {
		storeTask(t, p, name, s.Now().Add(-time.Hour), cost)
	}
	left = p.sendBudgets(ctx, deliver.Pass{Force: s.ByHand})
	if err := p.Close(); err != nil { // Answers are recorded then.
		t.Fatal(err)
	}
	return left
}

// storeTask stores a task of one request.
func storeTask(t *testing.T, p *Pipeline, name string, begins time.Time, cost float64) {
	t.Helper()
	b, from := tracetest.New(name), begins.Sub(tracetest.T0)
	root := b.Add(-1, "invoke_agent cline", from, from+time.Minute, otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted))
	b.Add(root, "chat", from, from+time.Minute, append(tracetest.Usage(1000, 100, 0, cost), otlp.String(otelmap.KeyOperation, otelmap.OpChat), otlp.String(otelmap.KeyRequestModel, "m"))...)
	if err := p.Store.UploadTraces(t.Context(), b.Messages()); err != nil {
		t.Fatal(err)
	}
}

// messages are those that arrived.
func messages(t *testing.T, server *hookServer) (out []budget.Figure) {
	t.Helper()
	for _, in := range server.Requests() {
		var f budget.Figure
		if err := json.Unmarshal(in.Body, &f); err != nil || in.Method != http.MethodPost || in.Header.Get("Content-Type") != "application/json" || in.Path != "/services/"+webhookKey {
			t.Errorf("request %+v, %v", in, err)
		}
		if f.Sent != "" || f.ID == "" {
			t.Errorf("message %s", in.Body)
		}
		out = append(out, f)
	}
	return out
}

func TestMessageOfABudgetIsSentOnce(t *testing.T) {
	server := newHookServer(t)
	s, log, clock := budgeted(t, "HOOKSPAN_BUDGET_DAY_USD=5", "HOOKSPAN_BUDGET_WEBHOOK="+server.Base()+"/services/"+webhookKey)
	for i := range 3 {
		deliverCost(t.Context(), t, s, string(rune('a'+i)), 2)
		deliverCost(t.Context(), t, s, "", 0)
	}
	*clock = clock.AddDate(0, 0, 1)
	deliverCost(t.Context(), t, s, "d", 4)
	var got []string
	for _, f := range messages(t, server) {
		got = append(got, f.Text)
	}
	want := []string{
		"hookspan: budget warn: day $4.00 of $5.00 (80 %), since 2026-03-04 00:00", "hookspan: budget reached: day $6.00 of $5.00 (120 %), since 2026-03-04 00:00",
		"hookspan: budget warn: day $4.00 of $5.00 (80 %), since 2026-03-05 00:00",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || log.Len() > 0 {
		t.Errorf("%q, log %s", got, log)
	}
}

func TestMessageIsSentAgainUntilItIsTaken(t *testing.T) {
	long := http.Header{"Retry-After": {"3600"}}
	for name, tt := range map[string]struct {
		answer faultserver.Answer
		said   string
	}{
		"500":                    {faultserver.Answer{Status: 500, Body: []byte("no, " + webhookKey)}, "500 Internal Server Error no, ****"},
		"404":                    {faultserver.Answer{Status: 404}, "404 Not Found"},
		"429":                    {faultserver.Answer{Status: 429, Header: long}, "429 Too Many Requests"},
		"a redirect":             {faultserver.Answer{Status: 307, Header: faultserver.Location("http://127.0.0.1:1/")}, "307 Temporary Redirect"},
		"a closed connection":    {faultserver.Answer{Fault: faultserver.Fault{CloseBefore: true}}, "closed the connection"},
		"101":                    {faultserver.Answer{Fault: faultserver.Fault{Endless: &faultserver.Endless{Head: "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"}}}, "101"},
		"103 again and again":    {faultserver.Answer{Fault: faultserver.Fault{Endless: &faultserver.Endless{Unit: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"}}}, "header of more"},
		"a header without end":   {faultserver.Answer{Fault: faultserver.Fault{Endless: &faultserver.Endless{Head: "HTTP/1.1 200 OK\r\n", Unit: "X-A: " + strings.Repeat("a", 1000) + "\r\n"}}}, "header of more"},
		"a secret in the header": {faultserver.Answer{Status: 403, Body: []byte(strings.Repeat("x", 300) + webhookKey)}, "403 Forbidden xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newHookServer(t)
			s, log, clock := budgeted(t, "HOOKSPAN_BUDGET_DAY_USD=5", "HOOKSPAN_BUDGET_WEBHOOK="+strings.Replace(server.Base(), "http://", "http://user:t0psecret@", 1)+"/services/"+webhookKey+"?token=t0psecret")
			server.Script(tt.answer, tt.answer, faultserver.Answer{Status: 204})
			s.ByHand = true
			if !deliverCost(t.Context(), t, s, "a", 6) || !deliverCost(t.Context(), t, s, "", 0) {
				t.Error("nothing is left for a later delivery")
			}
			said := log.String()
			if strings.Count(said, "budget: ") != 2 || !strings.Contains(said, tt.said) || strings.Contains(strings.ToLower(said), "t0psecret") {
				t.Errorf("log %s", said)
			}
			s.ByHand = false
			if left := deliverCost(t.Context(), t, s, "", 0); !left || len(server.Requests()) != 2 {
				t.Errorf("a hook's delivery sends at once: %d requests, left %v", len(server.Requests()), left)
			}
			*clock = clock.Add(30 * time.Minute)
			deliverCost(t.Context(), t, s, "", 0)
			if n := len(server.Requests()); n != map[bool]int{true: 2, false: 3}[name == "429"] {
				t.Errorf("%d requests after half an hour", n)
			}
			*clock = clock.Add(time.Hour)
			for range 2 {
				if deliverCost(t.Context(), t, s, "", 0) {
					t.Error("something is left")
				}
			}
			all := messages(t, server)
			if len(all) != 3 || all[0].ID != all[2].ID || all[2].Level != "reached" {
				t.Errorf("messages %+v", all)
			}
			if last, _ := s.LastAnswer(config.DestinationBudget); last == nil || last.Error != "" || last.Target != server.Base() {
				t.Errorf("answer %+v", last)
			}
		})
	}
}

// TestEchoOfTheAddressIsRemoved has a webhook that repeats short parts of its address, of which each may be a credential.
func TestEchoOfTheAddressIsRemoved(t *testing.T) {
	server := newHookServer(t)
	server.Script(faultserver.Answer{Status: 404, Body: []byte("no s3kretA, s3k/etB, s3k%2FetB or s3kretC")})
	s, log, _ := budgeted(t, "HOOKSPAN_BUDGET_DAY_USD=5", "HOOKSPAN_BUDGET_WEBHOOK="+server.Base()+"/h/s3kretA/s3k%2FetB?s3kretC")
	deliverCost(t.Context(), t, s, "a", 6)
	if want := "404 Not Found no ****, ****, **** or ****"; !strings.Contains(log.String(), want) {
		t.Errorf("log %s, want %s", log, want)
	}
}

// TestSecretThatIsCutIsRemoved has the end of what is said within the credential.
func TestSecretThatIsCutIsRemoved(t *testing.T) {
	server := newHookServer(t)
	server.Script(faultserver.Answer{Status: 404, Body: []byte(strings.Repeat("x", 178) + " " + webhookKey)})
	s, log, _ := budgeted(t, "HOOKSPAN_BUDGET_DAY_USD=5", "HOOKSPAN_BUDGET_WEBHOOK="+server.Base()+"/services/"+webhookKey)
	deliverCost(t.Context(), t, s, "a", 6)
	if strings.Contains(log.String(), webhookKey[:4]) || !strings.Contains(log.String(), "x ****") {
		t.Errorf("log %s", log)
	}
}

// TestKillAfterTheAnswerRepeatsTheMessage restores the file that was there while the message was answered.
func TestKillAfterTheAnswerRepeatsTheMessage(t *testing.T) {
	server := newHookServer(t)
	s, _, _ := budgeted(t, "HOOKSPAN_BUDGET_DAY_USD=5", "HOOKSPAN_BUDGET_WEBHOOK="+server.Base()+"/services/"+webhookKey)
	path := filepath.Join(s.Config.StateDir, "budgets", "sent.json")
	var noted []byte
	server.Script(faultserver.Answer{Sent: func() { noted, _ = os.ReadFile(path) }})
	deliverCost(t.Context(), t, s, "a", 6)
	if !strings.Contains(string(noted), "reached") {
		t.Fatalf("before the answer the file is %q", noted)
	}
	if err := os.WriteFile(path, noted, 0o600); err != nil {
		t.Fatal(err)
	}
	deliverCost(t.Context(), t, s, "", 0)
	deliverCost(t.Context(), t, s, "", 0)
	if all := messages(t, server); len(all) != 2 || all[0].ID != all[1].ID {
		t.Errorf("messages %+v", all)
	}
}

func TestDamagedNotesCountAsMissingAndAnotherKindIsRefused(t *testing.T) {
	for _, text := range []string{"", "{", `{"v":2,"figures":[]}`, `{"v":1,"figures":7}`, "[]", "a folder"} {
		server := newHookServer(t)
		s, log, _ := budgeted(t, "HOOKSPAN_BUDGET_DAY_USD=5", "HOOKSPAN_BUDGET_WEBHOOK="+server.Base()+"/services/"+webhookKey)
		path := filepath.Join(s.Config.StateDir, "budgets", "sent.json")
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if text == "a folder" {
			err = errors.Join(err, os.Mkdir(path, 0o700))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		deliverCost(t.Context(), t, s, "a", 6)
		deliverCost(t.Context(), t, s, "", 0)
		if n := len(messages(t, server)); n != map[bool]int{true: 0, false: 1}[text == "a folder"] || (log.Len() > 0) != (n == 0) {
			t.Errorf("%q: %d messages, log %s", text, n, log)
		}
	}
}

func TestDeliveriesAtOnceSendAMessageOnce(t *testing.T) {
	server := newHookServer(t)
	s, _, _ := budgeted(t, "HOOKSPAN_BUDGET_DAY_USD=5", "HOOKSPAN_BUDGET_WEBHOOK="+server.Base()+"/services/"+webhookKey)
	s.Log = func(line string) { t.Log(line) }
	p, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() //nolint:errcheck // The test has ended.
	storeTask(t, p, "a", s.Now().Add(-time.Hour), 6)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			one := *p
			one.sendBudgets(t.Context(), deliver.Pass{})
		})
	}
	wg.Wait()
	if n := len(messages(t, server)); n != 1 {
		t.Errorf("%d messages, want one", n)
	}
}

// TestMessageThatHangsIsSentAgain has the delivery end while the webhook keeps its answer.
func TestMessageThatHangsIsSentAgain(t *testing.T) {
	server := newHookServer(t)
	s, log, _ := budgeted(t, "HOOKSPAN_BUDGET_DAY_USD=5", "HOOKSPAN_BUDGET_WEBHOOK="+server.Base()+"/services/"+webhookKey)
	server.Script(faultserver.Answer{Fault: faultserver.Fault{Hang: true}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = server.Wait(ctx, 1)
		cancel()
	}()
	deliverCost(ctx, t, s, "a", 6)
	deliverCost(t.Context(), t, s, "", 0)
	deliverCost(t.Context(), t, s, "", 0)
	if all := messages(t, server); len(all) != 2 || all[0].ID != all[1].ID || log.Len() > 0 {
		t.Errorf("messages %+v, log %s", all, log)
	}
}

func TestMessageIsRedacted(t *testing.T) {
	server := newHookServer(t)
	s, _, clock := budgeted(t, "HOOKSPAN_REDACT=false", "HOOKSPAN_BUDGET_PLAN_PERCENT=50", "HOOKSPAN_BUDGET_WEBHOOK="+server.Base()+"/services/"+webhookKey)
	key := "sk-ant-" + "api03-" + strings.Repeat("Ab3dEf9hIj", 9) + "-AA"
	l, _ := hook.NewLimit(*clock, 5*time.Hour, 60, float64(clock.Add(time.Hour).Unix()))
	s.Limits = func() map[string][]hook.Limit { return map[string][]hook.Limit{"agent " + key: {l}} }
	deliverCost(t.Context(), t, s, "", 0)
	if all := messages(t, server); len(all) != 1 || strings.Contains(all[0].Text+all[0].Plan, "Ab3dEf9hIj") {
		t.Errorf("messages %+v", all)
	}
}

func TestWithoutBudgetNothingIsOpened(t *testing.T) {
	server := newHookServer(t)
	for _, lines := range [][]string{{"HOOKSPAN_BUDGET_WEBHOOK=" + server.Base()}, {"HOOKSPAN_BUDGET_DAY_USD=5"}, nil} {
		s, log, _ := budgeted(t, lines...)
		s.Limits = func() map[string][]hook.Limit { t.Error("limits are read"); return nil }
		deliverCost(t.Context(), t, s, "a", 6)
		if _, err := os.Stat(filepath.Join(s.Config.StateDir, "budgets")); err == nil || log.Len() > 0 || len(server.Requests()) > 0 {
			t.Errorf("%q: %v, %d requests, log %s", lines, err, len(server.Requests()), log)
		}
	}
}

// TestDeliveriesSendBudgets has a flush, a sweep of hooks, and what commands open do so.
func TestDeliveriesSendBudgets(t *testing.T) {
	for name, tt := range map[string]struct {
		deliver func(p *Pipeline) error
		want    int
	}{
		"flush": {func(p *Pipeline) error { _, err := p.Flush(t.Context(), deliver.Pass{}); return err }, 1},
		"sweep": {func(p *Pipeline) error {
			return p.Sweep(t.Context(), []spool.Key{{Host: "cline", Name: strings.Repeat("a", 32)}})
		}, 1},
		"nothing but reading": {func(p *Pipeline) error { _, err := p.setup.Budgets(t.Context()); return err }, 0},
	} {
		server := newHookServer(t)
		s, _, _ := budgeted(t, "HOOKSPAN_BUDGET_DAY_TOKENS=1000", "HOOKSPAN_BUDGET_WEBHOOK="+server.Base()+"/services/"+webhookKey)
		if err := os.MkdirAll(s.Config.SpoolDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		p, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		storeTask(t, p, "a", s.Now().Add(-time.Hour), 1)
		if err := tt.deliver(p); err != nil {
			t.Fatal(err)
		}
		_ = p.Close()
		if n := len(messages(t, server)); n != tt.want {
			t.Errorf("%s: %d messages, want %d", name, n, tt.want)
		}
	}
}
