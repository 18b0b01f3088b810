package cline

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/hook"
)

// ranAt is when the hooks of the tests began.
var ranAt = time.Date(2026, 11, 20, 12, 29, 59, 123456789, time.UTC)

// denied is a Cline event and the hooks that ran for it.
func denied() (hook.Event, []hook.HookRun, hook.HookAnswer) {
	about := hook.Event{
		Host: hook.HostCline, Session: "1795175957341", Name: "PreToolUse", Kind: hook.KindToolStart,
		Time: ranAt.Truncate(time.Millisecond), Hash: 0xfedcba9876543210, Cwd: "/project", TraceParent: "00-x",
	}
	runs := []hook.HookRun{
		{
			Event: "PreToolUse", Tool: "Bash", Matcher: "Bash|Write", Command: `./guard.sh "a" <b> && c`,
			Source: "/home/dev/.cline/hooks.json", Started: ranAt, Duration: 12345678 * time.Nanosecond,
			Exit: 2, Status: hook.HookOK, Decision: "deny", Reason: "not on main\nnever",
		},
		{Event: "PreToolUse", Command: "log.sh", Started: ranAt, Exit: 0, Status: hook.HookOK},
		{Event: "PreToolUse", Command: "slow.sh", Started: ranAt, Duration: time.Minute, Exit: hook.NoExit, Status: hook.HookTimeout},
		{Event: "PreToolUse", Command: "https://hooks.example/x", Exit: hook.NoExit, Status: hook.HookNotStarted, Reason: "no such host"},
	}
	return about, runs, hook.HookAnswer{Cancelled: true, By: runs[0].Command, Reason: runs[0].Reason}
}

func encodeHookRuns(t testing.TB, about *hook.Event, runs []hook.HookRun, answer hook.HookAnswer) Raw {
	t.Helper()
	payload, err := EncodeHookRuns(about, runs, answer)
	if err != nil {
		t.Fatal(err)
	}
	return Raw{Payload: payload, Event: HookRunsEvent, StoredAt: storedAt, Offset: 42, Cwd: "/started/here", TraceParent: "00-y"}
}

func TestHookRunsRoundTrip(t *testing.T) {
	about, runs, answer := denied()
	for _, tt := range []struct {
		name   string
		runs   []hook.HookRun
		answer hook.HookAnswer
	}{
		{"a denied call", runs, answer},
		{"nothing ran", nil, hook.HookAnswer{}},
		{"a soft deny", runs[:1], hook.HookAnswer{SoftDenied: true, InputChanged: true, By: "x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw := encodeHookRuns(t, &about, tt.runs, tt.answer)
			want := []hook.Event{{
				Host: hook.HostCline, Kind: hook.KindHookRuns, Name: HookRunsEvent, Session: about.Session, Time: about.Time,
				StoredAt: storedAt, Offset: 42, Hash: hook.Hash(raw.Payload),
				HookRuns: tt.runs, About: about.Hash, Answer: &tt.answer,
			}}
			got, err := Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("decoded (-want +got):\n%s\nfrom %s", diff, raw.Payload)
			}
			head := Peek(raw.Payload, raw.Event)
			if diff := cmp.Diff(hook.Head{Session: about.Session, Name: HookRunsEvent, Kind: hook.KindHookRuns}, head); diff != "" {
				t.Errorf("peek (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHookRunsRecord(t *testing.T) {
	about, runs, answer := denied()
	raw := encodeHookRuns(t, &about, runs[:1], answer)
	const want = `{"v":1,"session":"1795175957341","about":{"hash":"fedcba9876543210","event":"PreToolUse","time":"2026-11-20T12:29:59.123Z"},` +
		`"runs":[{"event":"PreToolUse","tool":"Bash","matcher":"Bash|Write","command":"./guard.sh \"a\" <b> && c",` +
		`"source":"/home/dev/.cline/hooks.json","started":"2026-11-20T12:29:59.123456789Z","duration_ns":12345678,"exit":2,` +
		`"status":"ok","decision":"deny","reason":"not on main\nnever"}],` +
		`"answer":{"cancelled":true,"by":"./guard.sh \"a\" <b> && c","reason":"not on main\nnever"}}`
	if diff := cmp.Diff(want, string(raw.Payload)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestDecodeKeepsUnknownHookRunsRecords(t *testing.T) {
	const about = `"about":{"hash":"00000000000000ff"}`
	for _, tt := range []struct {
		name, payload, session string
		kind                   hook.Kind
		fails                  bool
	}{
		{"this version", `{"v":1,"session":"s",` + about + `}`, "s", hook.KindHookRuns, false},
		{"a later version", `{"v":2,"session":"s",` + about + `}`, "s", hook.KindUnknown, false},
		{"no version", `{"session":"s",` + about + `}`, "s", hook.KindUnknown, false},
		{"about nothing", `{"v":1,"session":"s"}`, "s", hook.KindUnknown, false},
		{"a hash that is none", `{"v":1,"session":"s","about":{"hash":"ff"}}`, "s", hook.KindUnknown, false},
		{"an answer and runs of other types", `{"v":1,"session":"s",` + about + `,"answer":7,"runs":{"a":1}}`, "s", hook.KindHookRuns, false},
		{"a name of Cline's in it", `{"v":1,"hookName":"TaskComplete","taskId":"t","session":"s",` + about + `}`, "s", hook.KindHookRuns, false},
		{"torn", `{"v":1,"session":"s",`, "", hook.KindUnknown, true},
		{"empty", ``, "", hook.KindUnknown, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events, err := Decode(Raw{Payload: []byte(tt.payload), Event: HookRunsEvent, StoredAt: storedAt})
			if (err != nil) != tt.fails {
				t.Errorf("error %v, want one: %v", err, tt.fails)
			}
			if len(events) != 1 || events[0].Kind != tt.kind || events[0].Session != tt.session || events[0].Name != HookRunsEvent {
				t.Errorf("events %+v\nwant one of kind %v in session %q", events, tt.kind, tt.session)
			}
			head := Peek([]byte(tt.payload), HookRunsEvent)
			if diff := cmp.Diff(hook.Head{Session: tt.session, Name: HookRunsEvent, Kind: tt.kind}, head); diff != "" {
				t.Errorf("peek (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeReadsHookRunWithFewMembers(t *testing.T) {
	const payload = `{"v":1,"session":"s","about":{"hash":"00000000000000ff"},"runs":[{},7,{"exit":-3,"duration_ns":-5},{"exit":1e300}]}`
	events, err := Decode(Raw{Payload: []byte(payload), Event: HookRunsEvent})
	if err != nil {
		t.Fatal(err)
	}
	nothing := hook.HookRun{Exit: hook.NoExit}
	if diff := cmp.Diff([]hook.HookRun{nothing, nothing, nothing}, events[0].HookRuns); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func TestHookRunsAreBounded(t *testing.T) {
	about, _, _ := denied()
	long := strings.Repeat("é", maxHookText)
	runs := make([]hook.HookRun, 10_000)
	for i := range runs {
		runs[i] = hook.HookRun{Command: "x", Exit: 0, Status: hook.HookOK}
	}
	runs[9_999].Decision, runs[9_999].Reason = "deny", long
	raw := encodeHookRuns(t, &about, runs, hook.HookAnswer{Cancelled: true, By: long, Reason: "a" + long})
	events, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	got := events[0].HookRuns
	if len(got) != maxHookRuns+1 || got[maxHookRuns].Decision != "deny" {
		t.Errorf("%d runs are kept, want %d and the one that denied", len(got), maxHookRuns)
	}
	for _, s := range []string{got[len(got)-1].Reason, events[0].Answer.By, events[0].Answer.Reason} {
		if len(s) > maxHookText || len(s) < maxHookText-4 || !strings.HasSuffix(s, "é…") || !utf8.ValidString(s) {
			t.Errorf("a text of %d bytes ends %q, want at most %d and a mark", len(s), s[max(0, len(s)-8):], maxHookText)
		}
	}
}

func FuzzHookRuns(f *testing.F) {
	about, runs, answer := denied()
	f.Add([]byte(encodeHookRuns(f, &about, runs, answer).Payload))
	f.Add([]byte(`{"v":1,"session":7,"about":{"hash":"00000000000000FF","time":5},"runs":[{"exit":4294967295}],"answer":null}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		r := Raw{Payload: payload, Event: HookRunsEvent, StoredAt: storedAt}
		events, err := Decode(r)
		tested.Check(t, r, events, err)
		if len(events) != 1 {
			t.Fatalf("%d events", len(events))
		}
		ev := &events[0]
		if ev.Kind.Terminal() || ev.Kind != hook.KindHookRuns && ev.Kind != hook.KindUnknown {
			t.Fatalf("kind %v", ev.Kind)
		}
		if ev.Kind != hook.KindHookRuns {
			return
		}
		if ev.Answer == nil {
			t.Fatal("no answer")
		}
		if len(payload) > maxHookText {
			return // what is cut comes back shorter
		}
		// What was read once is written and read again without loss.
		again := encodeHookRuns(t, &hook.Event{Session: ev.Session, Hash: ev.About, Time: ev.Time}, ev.HookRuns, *ev.Answer)
		if !json.Valid(again.Payload) {
			t.Fatalf("%s is not JSON", again.Payload)
		}
		back, err := Decode(again)
		if err != nil {
			t.Fatal(err)
		}
		want := *ev
		want.Hash, want.Offset = back[0].Hash, back[0].Offset
		if len(want.HookRuns) > maxHookRuns {
			return
		}
		if diff := cmp.Diff(want, back[0]); diff != "" {
			t.Fatalf("a second time (-first +second):\n%s", diff)
		}
	})
}
