// Command hookspan is what people type: it installs the hooks, shows the
// traces, delivers them and says what is wrong.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/hookspan/hookspan/internal/record"
)

func main() {
	record.OwnFiles()
	// net/http logs unsolicited responses; here errors report them.
	log.SetOutput(io.Discard)
	// Until the exit, so that a second Ctrl-C does not change its code.
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	os.Exit(run(ctx, newApp(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())))
}
