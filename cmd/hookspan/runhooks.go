package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/clinehooks"
	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/clinehooks/hookrun"
	"github.com/hookspan/hookspan/internal/clinehooks/hooksession"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/redact"
)

// maxHookPayload is the largest payload that hooks are run for, in bytes: it is
// held in memory several times over.
const maxHookPayload = 32 << 20

// hooksDir is the folder with what is remembered between runs of hooks.
func hooksDir(a *app) string { return hooksession.Dir(a.cfg.StateDir) }

// hookProblems lists the recent problems of the user's hooks.
func hookProblems(a *app) clinehooks.Problems {
	return clinehooks.Problems{Path: filepath.Join(hooksDir(a), "problems.jsonl")}
}

// trustOf is the list of project files whose hooks the user lets run.
func trustOf(a *app) hookfile.Trust {
	return hookfile.Trust{Path: filepath.Join(a.cfg.ConfigDir, "trusted-hooks.json")}
}

// clean removes the secrets from a text of the user's hooks: their commands, their
// addresses, and what they print. What is printed and what is logged is read by
// others, so the built-in rules apply even where traces are not redacted.
func (a *app) clean(text string) string {
	if a.cleaner == nil {
		r, err := pipeline.Redactor(a.cfg)
		if err != nil || r == nil {
			r = redact.New(nil)
		}
		a.cleaner = r
	}
	return a.cleaner.String(text)
}

// logHooks logs a line about the user's hooks.
func logHooks(a *app, text string) { a.log.Line("hooks: " + a.clean(text)) }

// clineHooks runs the user's hooks as the settings say.
func clineHooks(a *app) *clinehooks.Hooks {
	h := &clinehooks.Hooks{
		Setup: *hookSetup(a), Dir: hooksDir(a), Environ: a.environ, Now: a.now,
		Settings: clinehooks.Settings{
			OnError: hookrun.OnError(a.cfg.HooksOnError), StrictExit: a.cfg.HooksStrictExit,
			SoftDeny: a.cfg.HooksSoftDeny, AskDenies: a.cfg.HooksAsk == "deny",
		},
	}
	if a.cfg.HooksDebug {
		h.Trace = func(format string, args ...any) { logHooks(a, fmt.Sprintf(format, args...)) }
	}
	return h
}

// runHooksCmd is what cline-hook starts where a file with hooks exists. It prints
// the answer for Cline and exits with 0, or fails with nothing printed.
func runHooksCmd(a *app) *cobra.Command {
	var host, event, about string
	var began int64
	cmd := &cobra.Command{
		Use: "run-hooks", Short: "Run the user's hooks for the event on standard input", Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if host != cline.Host {
				return wrongUsage(cmd, "--host %q: want %s", host, cline.Host)
			}
			return runHooks(cmd.Context(), a, event, about, began)
		},
	}
	cmd.Flags().StringVar(&host, "host", cline.Host, "the agent")
	cmd.Flags().StringVar(&event, "event", "", "the name the hook was started with")
	cmd.Flags().Int64Var(&began, "began", 0, "when the agent started the hook, in ms since 1970; without it, now")
	cmd.Flags().StringVar(&about, "about", "", "the stored event's hash; without it no record is stored")
	return cmd
}

func runHooks(ctx context.Context, a *app, event, about string, began int64) error {
	payload, err := io.ReadAll(io.LimitReader(a.stdin, maxHookPayload+1))
	if err == nil && len(payload) > maxHookPayload {
		_, _ = io.Copy(io.Discard, a.stdin)
		err = fmt.Errorf("the payload has more than %d bytes", maxHookPayload)
	}
	if err != nil {
		return fmt.Errorf("%s: read the payload: %w", event, err)
	}
	dir, _ := filepath.Abs(".")
	raw := hook.Raw{Payload: payload, Event: event, StoredAt: a.now(), Cwd: dir, TraceParent: a.cfg.Traceparent}
	h := clineHooks(a)
	if began > 0 {
		h.Began = time.UnixMilli(began)
	}
	stored := &clinehooks.StoredEvent{
		SpoolDir: a.cfg.SpoolDir(), Sync: a.cfg.SpoolSync == "always",
		Settings: a.cfg.Capture + "/" + a.cfg.Fingerprint(), IdleTimeout: a.cfg.IdleTimeout,
	}
	notFound := stored.Find(about)
	if about != "" && notFound == nil {
		h.Parent = func(session string) string {
			parent, err := stored.Parent(h.Dir, session)
			if err != nil {
				logHooks(a, fmt.Sprintf("%s: no TRACEPARENT: %v", event, err))
			}
			return parent
		}
	}
	out := h.Run(ctx, raw)
	for i, text := range out.Problems {
		out.Problems[i] = a.clean(text)
	}
	for _, text := range hookProblems(a).Note(a.now(), out.Problems...) {
		logHooks(a, text)
	}
	if about != "" {
		err := notFound
		if err == nil {
			err = stored.Record(raw, &out, a.now())
		}
		if err != nil { // the verdict counts all the same
			logHooks(a, fmt.Sprintf("%s: what they did is not in the trace: %v", event, err))
		}
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", cline.EncodeReply(out.Answer.Reply))
	return err
}

// forgetHooks removes what is remembered for sessions long past.
func forgetHooks(a *app) error {
	const kept = 7 * 24 * time.Hour
	return hooksession.Sweep(hooksDir(a), a.now().Add(-kept))
}
