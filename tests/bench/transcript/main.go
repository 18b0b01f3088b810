// Command transcript reads a transcript of Claude Code as a delivery does, from a
// moment on or whole, and prints how many requests it found and the seconds that
// took.
//
//	transcript PATH SESSION [RFC3339 TIME]
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/internal/transcript/claude"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "transcript: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) (err error) {
	if len(args) != 2 && len(args) != 3 {
		return fmt.Errorf("%d arguments: want a path, a session and maybe a time", len(args))
	}
	q := transcript.Query{Path: args[0], Session: args[1]}
	if len(args) == 3 {
		if q.Since, err = time.Parse(time.RFC3339Nano, args[2]); err != nil {
			return err
		}
	}
	files := &transcript.Files{Home: filepath.Dir(args[0]), Now: time.Now}
	begin := time.Now()
	tr, err := files.Read(ctx, claude.Agent, q)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, len(tr.Requests), time.Since(begin).Seconds())
	return err
}
