// Command hookspan is what people type: it installs the hooks, shows the
// traces, delivers them and says what is wrong.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/hookspan/hookspan/internal/record"
)

func main() {
	record.OwnFiles()
	// net/http logs unsolicited responses; here errors report them.
	log.SetOutput(io.Discard)
	ctx := context.Background()
	// Until the exit, so that a second Ctrl-C does not change its code. What is ignored, as by a shell
	// for its background, stays ignored for the programs that are started.
	if signals := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM}, signal.Ignored); len(signals) > 0 {
		ctx, _ = signal.NotifyContext(ctx, signals...)
	}
	os.Exit(run(ctx, newApp(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())))
}
