// Command sender sends the spans of recorded requests again and again, each time
// under fresh trace ids, as fast as they are taken.
//
//	sender -endpoint URL[,URL...] -requests FILE [-way loop|task|replay] [-tasks 1000] [-at-once 8]
//
// The file holds the requests that `hookspan flush` has sent, one for each task.
// -way replay sends these bytes, each request over a new connection, as
// the processes did that made them; task makes the same spans with the
// OpenTelemetry SDK and sends each task's in one request of otlptracehttp; loop
// does so by 512 spans, whichever tasks they are of. It prints the spans, the
// requests, and the seconds from the first to the last answer.
package main

import (
	"context"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "sender: %v\n", err)
		os.Exit(1)
	}
}

// worker sends tasks one after the other; only one goroutine uses it.
type worker interface {
	// send sends task number n, at once or later.
	send(ctx context.Context, n int) error
	// end sends what is still to be sent.
	end(ctx context.Context) error
	// sent are the requests and spans so far.
	sent() (requests, spans int)
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var endpoints, file, way string
	var tasks, atOnce int
	fs := flag.NewFlagSet("sender", flag.ContinueOnError)
	fs.StringVar(&endpoints, "endpoint", "", "where the spans go, without /v1/traces; several with commas between")
	fs.StringVar(&file, "requests", "", "file with the recorded requests")
	fs.StringVar(&way, "way", "loop", "loop, task or replay")
	fs.IntVar(&tasks, "tasks", 1000, "how many tasks to send")
	fs.IntVar(&atOnce, "at-once", 8, "how many send at the same time")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if endpoints == "" || file == "" || tasks < 1 || atOnce < 1 || fs.NArg() > 0 {
		return fmt.Errorf("endpoint %q, requests %q, %d tasks, %d at once, %d arguments: want an endpoint, a file, at least one of each and no argument",
			endpoints, file, tasks, atOnce, fs.NArg())
	}
	recorded, err := read(file)
	if err != nil {
		return err
	}
	to := strings.Split(endpoints, ",")
	var workers []worker
	for i := range min(atOnce, tasks) {
		w, err := newWorker(ctx, way, to[i%len(to)]+"/v1/traces", recorded)
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	begin := time.Now()
	if err := send(ctx, workers, tasks); err != nil {
		return err
	}
	took := time.Since(begin)
	requests, spans := 0, 0
	for _, w := range workers {
		r, s := w.sent()
		requests, spans = requests+r, spans+s
	}
	_, err = fmt.Fprintln(stdout, spans, requests, took.Seconds())
	return err
}

func newWorker(ctx context.Context, way, endpoint string, recorded [][]byte) (worker, error) {
	switch way {
	case "replay":
		return newReplay(endpoint, recorded)
	case "task":
		return newLoop(ctx, endpoint, recorded, 0)
	case "loop":
		return newLoop(ctx, endpoint, recorded, 512)
	}
	return nil, fmt.Errorf("-way %q: want loop, task or replay", way)
}

func read(file string) (recorded [][]byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := gob.NewDecoder(f).Decode(&recorded); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(recorded) == 0 {
		return nil, fmt.Errorf("%s holds no request", file)
	}
	return recorded, nil
}

// send deals the tasks out to the workers as they get done.
func send(ctx context.Context, workers []worker, tasks int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= tasks {
					if err := w.end(ctx); err != nil {
						stop(err)
					}
					return
				}
				if err := w.send(ctx, n); err != nil {
					stop(err)
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
