package collector_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == archiveWord {
		fmt.Fprintln(os.Stderr, serveArchive(os.Args[2:]))
		os.Exit(1)
	}
	lab.Main(m)
}

// collector builds the Collector for the first who asks, beside the programs.
var collector = sync.OnceValues(func() (string, error) {
	return otelcol.Build(context.Background(), lab.Programs)
})

// addresses hands out free addresses of loopback for a test.
func addresses(t *testing.T) (next func() string) {
	t.Helper()
	ports, err := otelcol.OpenPorts()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ports.Close() })
	return func() string {
		t.Helper()
		address, err := ports.Next()
		if err != nil {
			t.Fatal(err)
		}
		return address
	}
}

// TestCollectors is the table: one line for each file of rows.
func TestCollectors(t *testing.T) {
	proof.Run(t, "docs/results/reliability.md", "collectors", slices.Concat(
		killRows, startRows, outageRows, sampledRows, tornRows, fileRows, metricsRows,
	))
}
