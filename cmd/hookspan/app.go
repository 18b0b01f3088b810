package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"
	"golang.org/x/term"

	"github.com/go-logr/logr"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/logfile"
)

// version is set at link time by the release build.
var version = ""

// app is everything a command touches: its words, its streams, the environment
// and the clock.
type app struct {
	args    []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	environ []string
	home    string
	goos    string
	now     func() time.Time
	sleep   func(context.Context, time.Duration) error

	cfg    *config.Config
	cfgErr error
	log    logfile.Log
}

func newApp(args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) *app {
	home, _ := os.UserHomeDir()
	return &app{
		args: args, stdin: stdin, stdout: stdout, stderr: stderr, environ: environ,
		home: home, goos: runtime.GOOS, now: time.Now, sleep: sleep,
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// hinted is an error with advice on what to do next.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// exitError ends the program with a code of its own; what is wrong has been
// said already.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run executes one command line and maps its error to an exit code: 0 for
// success, 1 for a failure, 64 for wrong usage. It is never 2, which an agent
// that runs it as a hook could take for a verdict.
func run(ctx context.Context, a *app) int {
	a.cfg, a.cfgErr = config.Load(config.Input{
		Environ: a.environ, Home: a.home, GOOS: a.goos, ReadFile: os.ReadFile,
	})
	a.log = logfile.Log{Path: a.cfg.LogPath(), Who: "hookspan"}
	// The exporter would read these by itself, past the env file and the checks.
	for _, kv := range a.environ {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_") {
			_ = os.Unsetenv(name)
		}
	}
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))

	root := a.root()
	root.SetArgs(a.args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	var code exitError
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	_, _ = fmt.Fprintf(a.stderr, "hookspan: %v\n", err)
	var h hinted
	if errors.As(err, &h) {
		_, _ = fmt.Fprintf(a.stderr, "hint: %s\n", h.hint)
	}
	if errors.As(err, &usage) {
		_, _ = fmt.Fprintf(a.stderr, "hint: hookspan %s --help\n", usage.command)
		return 64
	}
	return 1
}

// usageError is a command line that cannot be meant.
type usageError struct {
	error
	command string
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "hookspan",
		Short: "See what your coding agent did, as OpenTelemetry traces",
		Long: `hookspan turns the hook events of coding agents into OpenTelemetry traces. A hook
stores each event and answers at once; from there the traces are rebuilt, kept on
this machine and delivered to the destinations you name.

  hookspan install cline    let Cline report to hookspan
  hookspan list             the tasks so far
  hookspan show             the newest one, as a tree`,
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q", args[0]), ""}
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{err, strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "hookspan"), " ")}
	})
	root.AddCommand(
		a.installCmd(), a.uninstallCmd(), a.statusCmd(), a.doctorCmd(), a.testCmd(),
		a.listCmd(), a.showCmd(), a.flushCmd(), a.pauseCmd(), a.resumeCmd(),
		a.configCmd(), a.credentialsCmd(), a.demoCmd(), a.versionCmd(),
	)
	return root
}

// takes checks a command's number of words.
func takes(most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= most {
			return nil
		}
		return usageError{
			fmt.Errorf("%s: %q is too much: want %s", cmd.Name(), args[most], what),
			strings.TrimPrefix(cmd.CommandPath(), "hookspan "),
		}
	}
}

func (a *app) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stdout, format, args...)
}

func (a *app) warnf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, "hookspan: "+format+"\n", args...)
}

// printJSON writes v for another program to read.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// terminal returns the width of the terminal that standard output is, or 0.
func (a *app) terminal() int {
	f, ok := a.stdout.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 {
		return 80
	}
	return w
}

// color reports whether to use colours: only on a terminal, and not where the
// user asked for none.
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

// configProblems tells the user about wrong settings; the command goes on with
// the defaults.
func (a *app) configProblems() {
	for _, p := range config.Problems(a.cfgErr) {
		a.warnf("%v", p)
	}
}

func (a *app) versionCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: takes(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			if asJSON {
				return a.printJSON(map[string]string{"version": v, "go": runtime.Version(), "os": a.goos, "arch": runtime.GOARCH})
			}
			a.printf("hookspan %s (%s, %s/%s)\n", v, runtime.Version(), a.goos, runtime.GOARCH)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
