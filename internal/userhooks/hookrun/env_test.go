package hookrun

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

func TestEnvironment(t *testing.T) {
	base := []string{
		"PATH=/bin", "OTEL_EXPORTER_OTLP_HEADERS=secret", "HOOKSPAN_CAPTURE=full", "INFINIUM_AGENT_SECRET=secret", "INFINIUM_AGENT_ID=a",
		"TRACEPARENT=00-1-2-01", "CLAUDE_PROJECT_DIR=/old", "CLAUDE_ENV_FILE=/old", "CLAUDE_CODE_SESSION_ID=old", "PWD=/old", "ANTHROPIC_API_KEY=theirs",
	}
	kept := []string{"PATH=/bin", "INFINIUM_AGENT_ID=a", "TRACEPARENT=00-1-2-01", "ANTHROPIC_API_KEY=theirs", "PWD=/ws", "CLAUDE_PROJECT_DIR=/project"}
	mark := markVariable + "=m PreToolUse"
	for name, tc := range map[string]struct {
		event   Event
		session string
		extra   []string
		goos    string
		want    []string
	}{
		"a tool":              {session: "s", event: Event{Name: preToolUse}, want: append(slices.Clone(kept), "CLAUDE_CODE_SESSION_ID=s", mark+" s")},
		"no session":          {event: Event{Name: preToolUse}, want: append(slices.Clone(kept), mark)},
		"a session of zeroes": {session: "a\x00b", event: Event{Name: preToolUse}, want: append(slices.Clone(kept), markVariable+"=m")},
		"a session's start": {
			session: "s", event: Event{Name: "SessionStart"},
			want: append(slices.Clone(kept), "CLAUDE_ENV_FILE=/env", "CLAUDE_CODE_SESSION_ID=s", markVariable+"=m SessionStart s"),
		},
		"what tightens": {
			event: Event{Name: preToolUse},
			extra: []string{"HOOKSPAN_DISABLED=true", "OTEL_SDK_DISABLED=true", "HOOKSPAN_CAPTURE=none", "HOOKSPAN_REDACT_FILE=/r"},
			want:  append(slices.Insert(slices.Clone(kept), 4, "HOOKSPAN_DISABLED=true", "OTEL_SDK_DISABLED=true", "HOOKSPAN_CAPTURE=none", "HOOKSPAN_REDACT_FILE=/r"), mark),
		},
		"what does not": {
			event: Event{Name: preToolUse},
			extra: []string{"HOOKSPAN_DISABLED=false", "OTEL_SDK_DISABLED=", "HOOKSPAN_CAPTURE=full", "HOOKSPAN_HOOKS=false", "HOOKSPAN_CONFIG_FILE=/x"},
			want:  append(slices.Clone(kept), mark),
		},
		"a value that is wrong": {
			event: Event{Name: preToolUse}, extra: []string{"HOOKSPAN_DISABLED=ja", "HOOKSPAN_CAPTURE=nothing"},
			want: append(slices.Insert(slices.Clone(kept), 4, "HOOKSPAN_DISABLED=ja", "HOOKSPAN_CAPTURE=nothing"), mark),
		},
		"names of Windows": {
			event: Event{Name: preToolUse}, goos: "windows", extra: []string{"Otel_Exporter_Otlp_Headers=secret", "hookspan_x=1", "Infinium_Agent_Secret=x", "Path=x"},
			want: append(slices.Insert(slices.Clone(kept), 4, "Path=x"), mark),
		},
		"names elsewhere": {event: Event{Name: preToolUse}, extra: []string{"otel_x=1"}, want: append(slices.Insert(slices.Clone(kept), 4, "otel_x=1"), mark)},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Runner{Dir: "/ws", ProjectDir: "/project", Session: tc.session, EnvFile: "/env", Env: append(slices.Clone(base), tc.extra...), GOOS: tc.goos}
			if d := cmp.Diff(tc.want, r.environ(tc.event, "m")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestHookSeesItsEnvironment(t *testing.T) {
	w := newWorld(t)
	w.Env = append(w.Env, "OTEL_X=secret", "HOOKSPAN_X=secret", "INFINIUM_AGENT_SECRET=secret", "CLAUDECODE=")
	run := w.one(t.Context(), t, shell("env"), `{"session_id":"s"}`)
	for _, want := range []string{"CLAUDE_PROJECT_DIR=" + w.ProjectDir, "CLAUDE_CODE_SESSION_ID=s", "TOKEN=" + w.token} {
		if !strings.Contains(run.Output.Stdout, want+"\n") {
			t.Errorf("no %s in\n%s", want, run.Output.Stdout)
		}
	}
	if strings.Contains(run.Output.Stdout, "secret") {
		t.Errorf("a secret in\n%s", run.Output.Stdout)
	}
}

func TestProjectDirIsReplaced(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(w.path("say"), []byte("#!/bin/sh\nprintf '%s|' \"$0\" \"$@\"\n"), 0o700); err != nil { //nolint:gosec // A program.
		t.Fatal(err)
	}
	h := hookfile.Handler{
		Event: preToolUse, Type: hookfile.TypeCommand, Command: "${CLAUDE_PROJECT_DIR}/say",
		Args: []string{"${CLAUDE_PROJECT_DIR}", "a${CLAUDE_PROJECT_DIR}b", "$CLAUDE_PROJECT_DIR", "${HOME}"},
	}
	want := strings.ReplaceAll("@/say|@|a@b|$CLAUDE_PROJECT_DIR|${HOME}|", "@", w.dir)
	if run := w.one(t.Context(), t, h, "{}"); run.Output.Stdout != want {
		t.Errorf("%q, want %q; %s", run.Output.Stdout, want, run.Err)
	}
}

func TestProgramsComeFromPath(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"hidden", "a/tool", "b/tool", "b/plain", "c/plain"} {
		if dir, _, ok := strings.Cut(name, "/"); ok {
			if err := os.MkdirAll(w.path(dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		mode := os.FileMode(0o700)
		if name == "a/tool" || strings.HasSuffix(name, "plain") {
			mode = 0o600
		}
		if err := os.WriteFile(w.path(name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	// The last of several counts; relative folders do not.
	env := []string{"PATH=/none", "PATH=.::" + w.path("none") + ":" + w.path("a") + ":" + w.path("b")}
	for name, want := range map[string]string{
		"tool": w.path("b/tool"), "./hidden": w.path("hidden"), "b/tool": w.path("b/tool"), w.path("b/tool"): w.path("b/tool"),
		"hidden": "not on PATH", "plain": "try chmod +x", "": "empty", "missing": "not on PATH",
	} {
		got, err := w.find(name, env)
		if got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %q, %v; want %s", name, got, err, want)
		}
	}
}
