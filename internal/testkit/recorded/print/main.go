// Command print prints the spans of all recorded sessions as OTLP JSON, a line for each run.
package main

import (
	"context"
	"fmt"
	"os"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
)

func main() {
	for _, s := range recorded.Sessions() {
		runs, err := s.Spans(context.Background())
		for i := 0; i < len(runs) && err == nil; i++ {
			var line []byte
			if line, err = otlpjson.Encode([]*tracepb.ResourceSpans{runs[i]}); err == nil {
				fmt.Printf("%s\n", line)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
