package bridge

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/skip"
)

// sockets are lines of a real table on a little-endian machine.
const sockets = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0BE3 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 4242 1 0000000000000000 100 0 0 10 0
   1: 0100007F:C001 0100007F:0BE3 01 00000000:00000000 00:00000000 00000000  1000        0 4300 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:0BE3 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1001        0 4301 1 0000000000000000 20 4 30 10 -1
   3: 0100007F:0BE3 0100007F:C002 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0000000000000000 20 4 30 10 -1
   4: 0000000000000000FFFF00000100007F:0BE3 0000000000000000FFFF00000100007F:C003 01 00000000:00000000 00:00000000 00000000  1002        0 4303 1 0000000000000000 20 4 30 10 -1
`

func TestOwnerOfConnection(t *testing.T) {
	if socketName(netip.MustParseAddrPort("127.0.0.1:1"), false) != "0100007F:0001" {
		skip.Missing(t, "the table is of a little-endian machine")
	}
	server := netip.MustParseAddrPort("127.0.0.1:3043")
	for name, tt := range map[string]struct {
		port     string
		uid      uint32
		accepted bool
	}{
		"accepted":              {"127.0.0.1:49153", 1001, true},
		"not accepted":          {"127.0.0.1:49154", 0, false},
		"over a listener on ::": {"127.0.0.1:49155", 1002, true},
		"not there":             {"127.0.0.1:49156", 0, false},
	} {
		uid, accepted, err := ownerIn(strings.NewReader(sockets), netip.MustParseAddrPort(tt.port), server)
		if err != nil || uid != tt.uid || accepted != tt.accepted {
			t.Errorf("%s: user %d, accepted %t, %v; want %d, %t", name, uid, accepted, err, tt.uid, tt.accepted)
		}
	}
}

func TestOwnListenersPassTheCheck(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err)
			continue
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if c, err := l.Accept(); err == nil {
				defer c.Close() //nolint:errcheck // The test has ended.
				_, _ = c.Read(make([]byte, 1))
			}
		}()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := dialOwn(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Errorf("%s: %v", address, err)
		} else {
			_ = c.Close()
		}
		_ = l.Close()
		<-done
	}
}

func TestCheckPeerRefusesUnacceptedConnection(t *testing.T) {
	if _, err := os.Stat(socketTables[0]); err != nil {
		skip.Missing(t, "no list of sockets: %v", err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // The test has ended.
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // The test has ended.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := checkPeer(ctx, c); err == nil {
		t.Error("no program has accepted the connection, and the check passes")
	}
}
