package loopback

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
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
		c, err := DialOwn(t.Context(), "tcp", "127.0.0.1:"+port)
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

// listenAs runs this test's program as another user, who listens at a free port of
// 127.0.0.1 and does not accept, and returns the port.
func listenAs(t *testing.T, uid uint32) string {
	t.Helper()
	if os.Geteuid() != 0 {
		skip.Missing(t, "only root can start a program of another user")
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	// The socket must be made by the other user: the kernel lists who made it.
	cmd := exec.CommandContext(t.Context(), "python3", "-c", `import socket, sys
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(); print("ready", flush=True); sys.stdin.read()`, port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Dir = "/"
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		skip.Missing(t, "no program of another user: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return port
}

// TestContainersUserPasses connects to a program of the user of the Collector's image, which
// no account of the system has.
func TestContainersUserPasses(t *testing.T) {
	port := listenAs(t, 10001)
	c, err := Dial(t.Context(), &net.Dialer{}, "tcp", "localhost:"+port, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // The test has ended.
	if owner, uid := ownerOf(c); owner != OwnerUnknown || uid != 10001 {
		t.Errorf("owner %d, user %d", owner, uid)
	}
	if who := Serving(c); !strings.Contains(who, "container") {
		t.Errorf("it is said to be %q", who)
	}
}

func TestAccountsOfPeopleAndServices(t *testing.T) {
	const list = `root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
sync:x:4:65534:sync:/bin:/bin/sync
mysql:x:110:115::/nonexistent:/bin/false
ada:x:1000:1000:Ada:/home/ada:/bin/zsh
old:x:1001:1001::/home/old:
broken line
`
	for uid, want := range map[uint32]Owner{1: OwnerService, 4: OwnerService, 110: OwnerService, 1000: OwnerPerson, 1001: OwnerPerson, 10001: OwnerUnknown} {
		if got := accountIn(strings.NewReader(list), uid); got != want {
			t.Errorf("user %d: %d, want %d", uid, got, want)
		}
	}
}

// TestTheKernelAnswersAsItsTablesDo asks for a connection before and after it is accepted, and for its
// listener, by either way.
func TestTheKernelAnswersAsItsTablesDo(t *testing.T) {
	for listen, dial := range map[string]string{"127.0.0.1:0": "127.0.0.1", "0.0.0.0:0": "127.0.0.2", "[::]:0": "127.0.0.1", "[::1]:0": "::1"} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", listen)
		if err != nil {
			t.Logf("%s: %v", listen, err)
			continue
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort(dial, port))
		if err != nil {
			t.Fatal(err)
		}
		local, remote := netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(c.RemoteAddr().String())
		compare := func(what string, local netip.AddrPort, want bool) {
			t.Helper()
			uid, accepted, err := inTables(local, remote)
			asked, answered, ok := diagnosed(local, remote)
			if !ok {
				skip.Missing(t, "the kernel does not answer sock_diag(7)")
			}
			if err != nil || accepted != want || answered != want || asked != uid {
				t.Errorf("%s, %s: user %d, %t; by the tables %d, %t, %v; want %t", listen, what, asked, answered, uid, accepted, err, want)
			}
		}
		compare("waits", local, false)
		compare("listens", netip.AddrPort{}, true)
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		compare("is accepted", local, true)
		if err := errors.Join(c.Close(), accepted.Close(), l.Close()); err != nil {
			t.Error(err)
		}
		if _, _, ok := diagnosed(netip.AddrPort{}, remote); ok {
			t.Errorf("%s: a listener that is closed is found", listen)
		}
	}
}
