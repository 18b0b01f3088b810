// Command fill makes a store with the sample: fill FILE [calls of a big task, or the word recorded].
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

func main() {
	if err := fill(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func fill(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("fill: want the store's file")
	}
	s, err := store.Open(ctx, args[0])
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if len(args) > 1 && args[1] == "recorded" {
		return sample.FillRecorded(ctx, s)
	}
	tasks := sample.Tasks()
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		tasks = []sample.Task{sample.Big(n)}
	}
	return sample.Fill(ctx, s, time.Now(), tasks)
}
