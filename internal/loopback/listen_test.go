package loopback

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestListenReportsTakenPort(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address(host, 0))
			if err != nil {
				skip.Missing(t, "cannot listen on %s here: %v", host, err)
			}
			defer l.Close() //nolint:errcheck // A test.
			port := l.Addr().(*net.TCPAddr).Port
			got, err := Listen(t.Context(), port)
			if !errors.Is(err, ErrTaken) || got != nil {
				t.Fatalf("error %v, want ErrTaken", err)
			}
			if !strings.Contains(err.Error(), fmt.Sprintf("listen on port %d: the port is taken", port)) {
				t.Errorf("said %q", err)
			}
		})
	}
}
