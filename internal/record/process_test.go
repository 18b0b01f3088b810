package record

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/testkit/spooltest"
	"github.com/hookspan/hookspan/spool"
)

var clineAgent = Agent{Facts: hook.AgentOf(hook.HostCline), Peek: cline.Peek, Reply: cline.EncodeReply}

const (
	// neutral is the answer of a hook that has nothing to say.
	neutral   = `{"cancel":false,"contextModification":" ","errorMessage":""}`
	toolEvent = `{"clineVersion":"3.89.2","hookName":"PostToolUse","timestamp":"1776506405123","taskId":"17","postToolUse":{"toolName":"read_file","success":true}}`
	doneEvent = `{"clineVersion":"3.89.2","hookName":"TaskComplete","timestamp":"1776506405999","taskId":"17","taskComplete":{}}`
)

// call is one hook call and what it did to the world.
type call struct {
	*Process
	t       *testing.T
	root    string // holds state, config, project
	stdout  bytes.Buffer
	spawned [][]string
	// unanswered counts the programs started before the answer was out.
	unanswered int
}

// newCall is a PostToolUse hook of Cline in a separate world, in which a
// sweep has just been claimed.
func newCall(t *testing.T) *call {
	t.Helper()
	c := &call{t: t, root: t.TempDir()}
	for _, dir := range []string{"state/hookspan", "config/hookspan", "project"} {
		if err := os.MkdirAll(c.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 8, 1, 12, 0, 0, 5, time.UTC)
	c.Process = &Process{
		Agent: clineAgent, Event: "PostToolUse", Stdin: strings.NewReader(toolEvent), Stdout: &c.stdout,
		Environ: []string{"XDG_STATE_HOME=" + c.path("state"), "XDG_CONFIG_HOME=" + c.path("config"), "PATH=" + os.Getenv("PATH")},
		Home:    c.path("home"), GOOS: runtime.GOOS, Dir: c.path("project"), PPID: 4711,
		Now: func() time.Time { return now },
		Spawn: func(args ...string) error {
			c.spawned = append(c.spawned, args)
			if c.stdout.Len() == 0 {
				c.unanswered++
			}
			return nil
		},
	}
	c.claimSweep(now)
	return c
}

func (c *call) path(name string) string { return filepath.Join(c.root, filepath.FromSlash(name)) }

func (c *call) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(c.path(name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *call) setenv(name, value string) { c.Environ = append(c.Environ, name+"="+value) }

func (c *call) spool() *spool.Spool {
	c.t.Helper()
	sp, err := spool.Open(c.path("state/hookspan/spool"), spool.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = sp.Close() }) // Again, perhaps.
	return sp
}

func (c *call) claimSweep(at time.Time) {
	c.t.Helper()
	sp := c.spool()
	if !sp.ClaimSweep(at, sweepEvery) {
		c.t.Fatal("the sweep is not to be had")
	}
	// Windows removes no folder that is open.
	if err := sp.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// records are all that is stored, without their places.
func (c *call) records() []spool.Record {
	c.t.Helper()
	if fi, err := os.Lstat(c.path("state/hookspan/spool")); err != nil || !fi.IsDir() || runtime.GOOS != "windows" && fi.Mode().Perm()&0o022 != 0 {
		return nil
	}
	var all []spool.Record
	for _, r := range spooltest.Records(c.t, c.path("state/hookspan/spool")) {
		rec := *r
		rec.Offset, rec.End = 0, 0
		all = append(all, rec)
	}
	return all
}

func (c *call) log() string {
	data, err := os.ReadFile(c.path("state/hookspan/hookspan.log"))
	if err != nil {
		return ""
	}
	return string(data)
}

// stored is the record of a payload that newCall's process makes.
func (c *call) stored(change func(*spool.Record)) []spool.Record {
	r := spool.Record{
		Host: "cline", Session: "17", Event: "PostToolUse", At: c.Now(), Cwd: c.Dir, PPID: 4711, Payload: []byte(toolEvent),
	}
	if change != nil {
		change(&r)
	}
	return []spool.Record{r}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestRun(t *testing.T) {
	raw := func(payload string) func(*spool.Record) {
		return func(r *spool.Record) { r.Session, r.Payload, r.Raw = "", []byte(payload), true }
	}
	same := func(*spool.Record) {}
	for name, tc := range map[string]struct {
		with   func(c *call)
		stored func(*spool.Record) // nil: nothing is stored
		log    string              // "": nothing is logged
		silent bool                // no answer can be given
	}{
		"an event": {with: func(*call) {}, stored: same},
		"an event named only in the payload": {
			with: func(c *call) { c.Event = "" }, stored: same,
		},
		"parent trace context": {
			with: func(c *call) {
				c.setenv("HOOKSPAN_TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
			},
			stored: func(r *spool.Record) { r.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
		},
		"a run in a CI, whose repository has a credential": {
			with: func(c *call) {
				c.setenv("HOOKSPAN_RUN", "0123456789abcdef.0123456789abcde7")
				c.setenv("JENKINS_URL", "http://ci/")
				c.setenv("JOB_NAME", "a&b=c +%;")
				c.setenv("GIT_URL", "https://user:SECRET@git.example.com/o/app.git")
			},
			stored: func(r *spool.Record) {
				r.Resource = "cicd.pipeline.name=a%26b=c %2B%25%3B&hookspan.run.id=0123456789abcdef.0123456789abcde7&vcs.repository.url.full=https://git.example.com/o/app.git"
			},
		},
		"a run in a CI with values that are hostile": {
			with: func(c *call) {
				c.setenv("HOOKSPAN_RUN", "0123456789abcdef.\x1b[2J")
				c.setenv("GITLAB_CI", "true")
				c.setenv("CI_PIPELINE_NAME", strings.Repeat("x", 1<<20))
				c.setenv("CI_JOB_NAME", "test\nhookspan.run.id=1")
				c.setenv("CI_JOB_ID", "7&hookspan.run.id=1")
				c.setenv("CI_PROJECT_URL", "oauth2:SECRET@git.example.com:o/app.git")
				c.setenv("CI_PIPELINE_URL", "//user:SECRET@git.example.com/p/1")
				c.setenv("CI_JOB_URL", "https://user:SE/CRET@git.example.com/j/1")
			},
			stored: func(r *spool.Record) {
				r.Resource = "cicd.pipeline.run.url.full=//git.example.com/p/1&cicd.pipeline.task.run.id=7%26hookspan.run.id=1&" +
					"vcs.provider.name=gitlab&vcs.ref.head.type=branch&vcs.repository.url.full=git.example.com:o/app.git"
			},
		},
		"every event forced to disk": {
			with: func(c *call) { c.setenv("HOOKSPAN_SPOOL_SYNC", "always") }, stored: same,
		},
		"a payload above the limit": {
			with: func(c *call) {
				c.setenv("HOOKSPAN_MAX_EVENT_BYTES", "4KiB")
				c.Stdin = strings.NewReader(`{"taskId":"17","x":"` + strings.Repeat("x", 9000) + `"}`)
			},
			stored: func(r *spool.Record) {
				r.Cut = 9022
				r.Payload = []byte(`{"taskId":"17","x":"` + strings.Repeat("x", 352) + "… [8648 bytes cut]" + `"}`)
			},
		},

		"no home and no folders": {
			with: func(c *call) { c.Environ, c.Home = nil, "" },
		},
		"the state folder is a file": {
			with: func(c *call) { c.write("file", ""); c.Environ[0] = "XDG_STATE_HOME=" + c.path("file") },
		},
		"the spool is a file": {
			with: func(c *call) {
				if err := os.RemoveAll(c.path("state/hookspan/spool")); err != nil {
					c.t.Fatal(err)
				}
				c.write("state/hookspan/spool", "")
			},
			log: "event not stored",
		},
		"the host's folder is a file": {
			with: func(c *call) { c.write("state/hookspan/spool/cline", "") }, log: "event not stored",
		},
		"the log is a folder": {
			with: func(c *call) {
				if err := os.Mkdir(c.path("state/hookspan/hookspan.log"), 0o700); err != nil {
					c.t.Fatal(err)
				}
				c.setenv("HOOKSPAN_CAPTURE", "everything")
			},
			stored: same,
		},

		"paused":                       {with: func(c *call) { c.write("state/hookspan/paused", "") }},
		"switched off":                 {with: func(c *call) { c.setenv("HOOKSPAN_DISABLED", "1") }},
		"switched off in the env file": {with: func(c *call) { c.write("config/hookspan/hookspan.env", "HOOKSPAN_DISABLED=true\n") }},
		"switched off for all of OpenTelemetry": {
			with: func(c *call) { c.setenv("OTEL_SDK_DISABLED", "true") },
		},
		"switched off by the project": {
			with: func(c *call) { c.write("project/.hookspan.env", "HOOKSPAN_DISABLED=true\n") },
		},
		"switched off by the project that the host names": {
			with: func(c *call) {
				c.Agent.ProjectVariable = "AGENT_PROJECT"
				c.setenv("AGENT_PROJECT", c.path("project"))
				c.write("project/.hookspan.env", "HOOKSPAN_DISABLED=true\n")
				c.Dir = c.path("config")
			},
		},
		"switched off by the folder, not by the project that the host names": {
			with: func(c *call) {
				c.Agent.ProjectVariable = "AGENT_PROJECT"
				c.setenv("AGENT_PROJECT", c.path("config"))
				c.write("project/.hookspan.env", "HOOKSPAN_DISABLED=true\n")
			},
		},
		"in a private folder": {
			with: func(c *call) { c.setenv("HOOKSPAN_DISABLED_PROJECTS", c.path("pro*")) },
		},
		"in a private folder that the payload names": {
			with: func(c *call) {
				c.setenv("HOOKSPAN_DISABLED_PROJECTS", c.path("secret"))
				c.Stdin = strings.NewReader(`{"hookName":"TaskStart","taskId":"17","cwd":"` + filepath.ToSlash(c.path("secret")) + `/deep"}`)
			},
		},
		"beside a private folder": {
			with:   func(c *call) { c.setenv("HOOKSPAN_DISABLED_PROJECTS", c.path("projector")) },
			stored: same,
		},
		"a project named in a variable that is not the host's": {
			with: func(c *call) {
				c.Agent.ProjectVariable = "AGENT_PROJECT"
				c.setenv("OTHER_PROJECT", c.path("config"))
				c.write("config/.hookspan.env", "HOOKSPAN_DISABLED=true\n")
			},
			stored: same,
		},
		"switched off and wrong values": {
			with: func(c *call) { c.setenv("HOOKSPAN_DISABLED", "1"); c.setenv("HOOKSPAN_CAPTURE", "everything") },
		},
		"a wrong value": {
			with: func(c *call) { c.setenv("HOOKSPAN_CAPTURE", "everything") }, stored: same, log: "HOOKSPAN_CAPTURE",
		},
		"wrong values stand on one line": {
			with: func(c *call) {
				c.setenv("HOOKSPAN_CAPTURE", "everything")
				c.setenv("HOOKSPAN_SPOOL_SYNC", "perhaps")
			},
			stored: same, log: "; HOOKSPAN_",
		},
		"a broken env file": {
			with: func(c *call) { c.write("config/hookspan/hookspan.env", "what is this\n") }, stored: same, log: "hookspan.env",
		},
		"a project that sets what it must not": {
			with: func(c *call) {
				c.write("project/.hookspan.env", "HOOKSPAN_CAPTURE=everything\nHOOKSPAN_MAX_EVENT_BYTES=1\n")
			},
			stored: same,
		},

		"garbage": {
			with: func(c *call) { c.Stdin = strings.NewReader("\x00\x1e\xffgarbage\n") }, stored: raw("\x00\x1e\xffgarbage\n"),
		},
		"nothing on standard input": {
			with: func(c *call) { c.Stdin = strings.NewReader("") }, stored: raw(""),
		},
		"standard input breaks off": {
			with: func(c *call) {
				c.Stdin = io.MultiReader(strings.NewReader(`{"taskId":"17"`), iotest.ErrReader(errors.New("pulled the plug")))
			},
			stored: raw(`{"taskId":"17"`), log: "broke off after 14 bytes: pulled the plug",
		},
		"standard input is never closed": {
			with: func(c *call) { c.Stdin = hanging(c.t, toolEvent) }, stored: same, log: "not closed in time",
		},
		"nothing ever comes on standard input": {
			with: func(c *call) { c.Stdin = hanging(c.t, "") }, stored: raw(""), log: "not closed in time",
		},

		"standard output is closed": {
			with: func(c *call) {
				c.Stdout = writerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe })
			},
			stored: same, silent: true,
		},
		"a host that expects no answer": {
			with: func(c *call) { c.Agent.Reply = nil }, stored: same, silent: true,
		},
		"Peek panics": {
			with: func(c *call) { c.Agent.Peek = func([]byte, string) hook.Head { panic("peek failed") } }, log: "panic: peek failed",
		},
		"standard input panics": {
			with: func(c *call) { c.Stdin = panicky{} }, log: "panic: stdin failed",
		},
		"the clock panics": {
			with: func(c *call) {
				now, calls := c.Now, 0
				c.Now = func() time.Time {
					if calls++; calls == 1 {
						panic("the clock failed")
					}
					return now()
				}
			},
			log: "panic: the clock failed",
		},
		"the answer's encoder panics": {
			with: func(c *call) { c.Agent.Reply = func(hook.Reply) []byte { panic("reply failed") } }, stored: same,
			log: "panic: reply failed", silent: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			want := ([]spool.Record)(nil)
			if tc.stored != nil {
				want = c.stored(tc.stored)
			}
			tc.with(c)
			if tc.stored != nil && c.Event == "" {
				want[0].Event = "PostToolUse"
			}
			c.Run()
			answer := neutral + "\n"
			if tc.silent {
				answer = ""
			}
			if d := cmp.Diff(answer, c.stdout.String()); d != "" {
				t.Errorf("answer (-want +got):\n%s", d)
			}
			if d := cmp.Diff(want, c.records(), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(spool.Record{}, "Settings")); d != "" {
				t.Errorf("stored (-want +got):\n%s", d)
			}
			log := c.log()
			if tc.log == "" && log != "" || !strings.Contains(log, tc.log) || strings.Count(log, "\n") > 1 {
				t.Errorf("log %q, want one line with %q, or nothing for nothing", log, tc.log)
			}
			if len(c.spawned) > 0 {
				t.Errorf("started %v", c.spawned)
			}
		})
	}
}

func TestRunNamesTheProgram(t *testing.T) {
	for program, want := range map[string]string{"cline-hook": " cline-hook: ", "other": " other: "} {
		c := newCall(t)
		c.Agent.Facts.Program = program
		c.setenv("HOOKSPAN_CAPTURE", "everything")
		c.Run()
		if log := c.log(); !strings.Contains(log, want) {
			t.Errorf("program %q: log %q, want %q in it", program, log, want)
		}
	}
}

func TestRunStoresTheSettings(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte("name acme-\\d+\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		environ []string
		want    string // expression
	}{
		"nothing is set":      {nil, "^preview/$"},
		"capture":             {[]string{"HOOKSPAN_CAPTURE=none"}, "^none/$"},
		"a wrong capture":     {[]string{"HOOKSPAN_CAPTURE=x"}, "^none/$"},
		"shorter previews":    {[]string{"CONNECTOR_MAX_INPUT_PREVIEW=7"}, "^preview:7/$"},
		"rules":               {[]string{"HOOKSPAN_REDACT_FILE=" + rules}, "^preview::::[0-9a-f]{16}/$"},
		"rules that are gone": {[]string{"HOOKSPAN_REDACT_FILE=" + rules + ".gone"}, "^preview::::-/$"},
		"another setting":     {[]string{"OTEL_SERVICE_NAME=s"}, "^preview/[0-9a-f]{16}$"},
		"a chain, a parent":   {[]string{"HOOKSPAN_CHAIN=/nowhere", "HOOKSPAN_TRACEPARENT=x"}, "^preview/$"},
	} {
		c := newCall(t)
		c.Environ = append(c.Environ, tc.environ...)
		c.Run()
		if got := c.records(); len(got) != 1 || !regexp.MustCompile(tc.want).MatchString(got[0].Settings) {
			t.Errorf("%s: stored %+v, want settings %s", name, got, tc.want)
		}
	}
}

// hanging is a standard input that gives text and is never closed.
func hanging(t *testing.T, text string) io.Reader {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return io.MultiReader(strings.NewReader(text), input(r, time.Millisecond))
}

type panicky struct{}

func (panicky) Read([]byte) (int, error) { panic("stdin failed") }

// TestRunOrder makes sure that the answer waits until the event is stored and
// all of standard input is read, and that nothing is started before it.
func TestRunOrder(t *testing.T) {
	c := newCall(t)
	c.Event = "TaskComplete"
	rest := strings.NewReader(doneEvent)
	c.Stdin = rest
	var atAnswer []spool.Record
	c.Stdout = writerFunc(func(b []byte) (int, error) {
		atAnswer = c.records()
		if rest.Len() > 0 {
			t.Errorf("%d bytes unread at the answer", rest.Len())
		}
		return c.stdout.Write(b)
	})
	c.Run()
	if len(atAnswer) != 1 {
		t.Errorf("%d events stored at the answer, want 1", len(atAnswer))
	}
	if len(c.spawned) != 1 || c.unanswered != 0 {
		t.Errorf("started %v, %d of them before the answer", c.spawned, c.unanswered)
	}
}

func TestRunStartsADelivery(t *testing.T) {
	flush := []string{"flush", "--detached", "--session", spool.SessionKey("cline", "17").String()}
	sweep := []string{"flush", "--detached"}
	later := func(c *call, d time.Duration) {
		at := c.Now().Add(d)
		c.Now = func() time.Time { return at }
	}
	event := func(name, payload string) func(*call) {
		return func(c *call) { c.Event, c.Stdin = name, strings.NewReader(payload) }
	}
	for name, tc := range map[string]struct {
		with func(c *call)
		want [][]string
	}{
		"an event within the minute": {with: func(*call) {}},
		"an event a minute later":    {with: func(c *call) { later(c, sweepEvery) }, want: [][]string{sweep}},
		"the first event of all": {
			with: func(c *call) {
				if err := os.RemoveAll(c.path("state/hookspan")); err != nil {
					c.t.Fatal(err)
				}
			},
			want: [][]string{sweep},
		},
		"the end of a run": {with: event("TaskComplete", doneEvent), want: [][]string{flush}},
		"the end of a run a minute later": {
			with: func(c *call) { event("TaskComplete", doneEvent)(c); later(c, sweepEvery) }, want: [][]string{flush},
		},
		"a cancelled run": {
			with: event("TaskCancel", strings.Replace(doneEvent, "TaskComplete", "TaskCancel", 1)), want: [][]string{flush},
		},
		"the end of a subagent": {
			with: event("TaskComplete", `{"hookName":"agent_end","taskId":"c","sessionContext":{"rootSessionId":"17"},"agent_id":"b","parent_agent_id":"a"}`),
		},
		"the end of an unknown session":   {with: event("TaskComplete", "garbage")},
		"the end of a run without a word": {with: event("TaskComplete", ""), want: [][]string{sweep}},
		"the end of a run, switched off": {
			with: func(c *call) { event("TaskComplete", doneEvent)(c); c.setenv("HOOKSPAN_DISABLED", "1") },
		},
		"the end of a run, not stored": {
			with: func(c *call) {
				event("TaskComplete", doneEvent)(c)
				c.write("file", "")
				c.Environ[0] = "XDG_STATE_HOME=" + c.path("file")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			tc.with(c)
			c.Run()
			if d := cmp.Diff(tc.want, c.spawned); d != "" {
				t.Errorf("started (-want +got):\n%s", d)
			}
			if c.stdout.String() != neutral+"\n" || c.unanswered > 0 {
				t.Errorf("answer %q; %d programs started before it", &c.stdout, c.unanswered)
			}
		})
	}
}

func TestRunSweepsOncePerMinute(t *testing.T) {
	c := newCall(t)
	start := c.Now()
	for second := 1; second <= 300; second += 7 {
		at := start.Add(time.Duration(second) * time.Second)
		c.Now = func() time.Time { return at }
		c.Stdin = strings.NewReader(toolEvent)
		c.Run()
	}
	if len(c.spawned) != 4 {
		t.Errorf("%d sweeps in five minutes of events, want 4", len(c.spawned))
	}
}

func TestRunLogsADeliveryThatCannotStart(t *testing.T) {
	for name, spawn := range map[string]func(...string) error{
		"an error": func(...string) error { return errors.New("no such program") },
		"a panic":  func(...string) error { panic("no such program") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			c.Event, c.Stdin, c.Spawn = "TaskComplete", strings.NewReader(doneEvent), spawn
			c.Run()
			if c.stdout.String() != neutral+"\n" {
				t.Errorf("answer %q", &c.stdout)
			}
			if log := c.log(); !strings.Contains(log, "no such program") || strings.Count(log, "\n") != 1 {
				t.Errorf("log %q", log)
			}
			if len(c.records()) != 1 {
				t.Error("the event is not stored")
			}
		})
	}
}

// TestDefaultDeadline reads the wait that the documents name.
func TestDefaultDeadline(t *testing.T) {
	if stdinDeadline != 5*time.Second {
		t.Errorf("standard input is waited for %s, want 5s", stdinDeadline)
	}
}

func TestSibling(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		t.Fatal(err)
	}
	got, err := Sibling("hookspan")
	if want := filepath.Join(filepath.Dir(self), "hookspan"); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func BenchmarkRun(b *testing.B) {
	root := b.TempDir()
	payload := `{"taskId":"17","hookName":"PostToolUse","postToolUse":{"result":"` + strings.Repeat("x", 4<<10) + `"}}`
	b.ReportAllocs()
	for b.Loop() {
		p := &Process{
			Agent: clineAgent, Event: "PostToolUse", Stdin: strings.NewReader(payload), Stdout: io.Discard,
			Environ: []string{"XDG_STATE_HOME=" + root, "XDG_CONFIG_HOME=" + root}, Home: root, GOOS: runtime.GOOS,
			Dir: root, Now: time.Now, Spawn: func(...string) error { return nil },
		}
		p.Run()
	}
}
