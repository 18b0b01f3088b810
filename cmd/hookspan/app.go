package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"
	"golang.org/x/term"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/files/logfile"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/planlimits"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/transcript"
)

// app is what commands get from the process: arguments, streams, environment,
// clock and configuration, and the table of the agents.
type app struct {
	agents  agents.Table
	args    []string
	stdin   io.Reader
	stdout  *output
	stderr  io.Writer
	environ []string
	home    string
	goos    string
	// machineFile is the machine-wide settings file. If empty, there is none.
	machineFile string
	now         func() time.Time
	sleep       func(context.Context, time.Duration) error

	cfg    *config.Config
	cfgErr error
	// reported are the wrong settings that were printed.
	reported []string
	log      logfile.Log
	// cleaner removes secrets from the user's hooks' commands and output; see clean.
	cleaner *redact.Redactor
	// byHand reports that a person asked for a delivery.
	byHand bool
}

func newApp(args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) *app {
	return &app{
		agents: agents.All(), args: args, stdin: stdin, stdout: &output{Writer: stdout}, stderr: stderr, environ: environ,
		home: record.Home(), goos: runtime.GOOS, machineFile: record.MachineFile(), now: time.Now, sleep: transcript.Sleep,
	}
}

// setup returns what pipelines are built from.
func (a *app) setup() *pipeline.Setup {
	return &pipeline.Setup{
		Config: a.cfg, Agents: a.agents, Home: a.home, Getenv: a.getenv, GOOS: a.goos,
		Version: buildVersion(), Now: a.now, Sleep: a.sleep, Log: a.log.Line, ByHand: a.byHand, Off: a.off,
		RemoveOld:  func() error { return errors.Join(hooksOf(a).Sweep(), a.limits().Note("", nil)) },
		NoteLimits: a.noteLimits, Limits: a.said,
	}
}

// limits is the file with what agents said of the user's plans.
func (a *app) limits() planlimits.File { return planlimits.File{Path: a.cfg.LimitsPath(), Now: a.now} }

// noteLimits notes what an agent said. Nothing depends on it.
func (a *app) noteLimits(host string, all []hook.Limit) {
	if err := a.limits().Note(host, all); err != nil {
		a.log.Line(err.Error())
	}
}

// said is what agents said of the user's plans, by host. Sums are right without it.
func (a *app) said() map[string][]hook.Limit {
	all, err := a.limits().ByHost()
	if err != nil {
		a.log.Line(err.Error())
	}
	return all
}

// off reports that nothing is recorded in a folder, by the user's settings or its project's.
func (a *app) off(dir string) bool {
	return record.PrivateBy(a.cfg.PrivateFolders(), dir) != "" || record.ProjectOff(dir)
}

// output is standard output. It keeps the first error, so that text that was lost is no
// success, whatever printed it.
type output struct {
	Writer io.Writer
	mu     sync.Mutex
	err    error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil && !errors.Is(err, syscall.EPIPE) { // The reader has closed the pipe.
		o.mu.Lock()
		o.err = cmp.Or(o.err, err)
		o.mu.Unlock()
	}
	return n, err
}

// hinted is an error with advice on what to do next.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// Hint returns the advice.
func (h hinted) Hint() string { return h.hint }

// exitError ends the program with an exit code; the error has been printed
// already.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run executes one command line and maps its error to an exit code: 0 for
// success, 1 for a failure, 64 for wrong usage. It is never 2, which an agent
// that runs hookspan as a hook could take for a verdict.
func run(ctx context.Context, a *app) (exit int) {
	// The exit code of an uncaught panic is 2.
	defer func() {
		if e := recover(); e != nil {
			_, _ = fmt.Fprintf(a.stderr, "hookspan: internal error: %v\n%s", e, debug.Stack())
			exit = 1
		}
	}()
	a.cfg, a.cfgErr = config.Load(config.Input{
		Environ: a.environ, Home: a.home, GOOS: a.goos, ReadFile: record.ReadSettings,
		MachineFile: a.machineFile, ReadMachine: record.ReadMachine, Salt: record.Salt,
	})
	a.log = logfile.Log{Path: a.cfg.LogPath(), Who: "hookspan"}
	// The exporter would read these by itself, past the env file and the checks.
	for _, kv := range a.environ {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_") {
			_ = os.Unsetenv(name)
		}
	}
	// HTTP clients read these from the environment; a file may set them.
	for name, value := range map[string]string{"HTTPS_PROXY": a.cfg.HTTPSProxy, "HTTP_PROXY": a.cfg.HTTPProxy, "NO_PROXY": a.cfg.NoProxy} {
		if value != "" {
			_ = os.Setenv(name, value)
		}
	}
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))

	root := rootCmd(a)
	root.SetArgs(a.args)
	root.SetIn(a.stdin)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	var code exitError
	if lost := a.stdout.err; lost != nil && (err == nil || errors.As(err, &code)) {
		err = fmt.Errorf("write to standard output: %w", lost)
	}
	return a.exitCode(ctx, err)
}

func (a *app) exitCode(ctx context.Context, err error) int {
	var code exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil:
		a.warnf("interrupted")
		return 130
	}
	if text := termtext.Message(err); !slices.Contains(a.reported, text) {
		a.warnf("%s", text)
	}
	var h hinted
	var usage usageError
	switch {
	case errors.As(err, &h):
		a.hint(h.hint)
	case errors.Is(err, fs.ErrPermission):
		a.hint("look at the owner and mode of that path and of the folders above it; hookspan doctor checks those of hookspan")
	}
	if errors.As(err, &usage) {
		a.hint(usage.command.CommandPath() + " --help")
		return 64
	}
	return 1
}

func (a *app) hint(text string) { _, _ = fmt.Fprintf(a.stderr, "hint: %s\n", termtext.Value(text)) }

func rootCmd(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "hookspan",
		Short: "See what your coding agent did, as OpenTelemetry traces",
		Long: `hookspan turns the hook events of coding agents into OpenTelemetry traces. A hook
stores each event and answers at once; from there the traces are rebuilt, kept on
this machine and delivered to the destinations you name.

  hookspan install   let your coding agents report to hookspan
  hookspan list      the tasks so far
  hookspan show      the newest one, as a tree`,
		SilenceUsage: true, SilenceErrors: true,
		Version: versionText(a),
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := emptyFlag(cmd); err != nil {
			return err
		}
		refreshPrograms(cmd, a)
		return nil
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(badFlag)
	root.SetHelpCommand(helpCmd())
	root.AddCommand(
		installCmd(a, false), installCmd(a, true), reconcileCmd(a), statusCmd(a), doctorCmd(a), testCmd(a),
		listCmd(a), callsCmd(a), statsCmd(a), reportCmd(a), findingsCmd(a), statuslineCmd(a), compareCmd(a), tailCmd(a), showCmd(a), blameCmd(a),
		exportCmd(a), verifyCmd(a), deleteCmd(a), pruneCmd(a), flushCmd(a), importCmd(a), pauseCmd(a), resumeCmd(a),
		configCmd(a), credentialsCmd(a), hooksCmd(a), demoCmd(a), versionCmd(a), upgradeCmd(a),
		uiCmd(a), mcpCmd(a), bridgeCmd(a), clineHookCmd(a), claudeHookCmd(a), runHooksCmd(a), runCmd(a),
	)
	root.SetOut(a.stdout) // where the completions go is decided now
	addCompletion(root)
	finish(root)
	return root
}

func (a *app) printf(format string, args ...any) {
	_, _ = io.WriteString(a.stdout, termtext.Screen(fmt.Sprintf(format, args...)))
}

func (a *app) warnf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, "hookspan: %s\n", termtext.Value(fmt.Sprintf(format, args...)))
}

// printJSON writes v for another program to read.
func (a *app) printJSON(v any) error {
	b, err := rawjson.MarshalIndent(v, "  ")
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(termtext.JSON(append(b, '\n')))
	return err
}

// result prints v as JSON, or calls text to print it for people, and ends the
// program with exit code 1 if not ok.
func (a *app) result(asJSON bool, v any, ok bool, text func()) error {
	if !asJSON {
		text()
	} else if err := a.printJSON(v); err != nil {
		return err
	}
	if !ok {
		return exitError(1)
	}
	return nil
}

// terminal returns the width of the terminal that standard output is, or 0.
func (a *app) terminal() int {
	f, ok := a.stdout.Writer.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 {
		return 80
	}
	return w
}

// color reports whether to use colours: only on a terminal, and not if the user
// asked for none.
func (a *app) color() bool {
	return a.terminal() > 0 && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

func (a *app) getenv(name string) string {
	for _, kv := range a.environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// configProblems prints the wrong settings; the command continues with the
// defaults.
func (a *app) configProblems() {
	for _, p := range config.Problems(a.cfgErr) {
		a.warnf("%v", p)
		a.reported = append(a.reported, p.Error())
	}
}
