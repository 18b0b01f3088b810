package loopback

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
)

// TestDialPrefersTheUsersOwnProgram has a program at each of the two addresses of localhost.
func TestDialPrefersTheUsersOwnProgram(t *testing.T) {
	six, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp6", "[::1]:0")
	if err != nil {
		t.Fatalf("this machine has no IPv6: %v", err)
	}
	defer six.Close() //nolint:errcheck // The test has ended.
	_, port, _ := net.SplitHostPort(six.Addr().String())
	four, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer four.Close() //nolint:errcheck // The test has ended.
	const none = "none"
	for name, tt := range map[string]struct {
		host      string
		six, four Owner
		anyone    bool
		want      string
	}{
		"own at both":                        {"localhost", OwnerSelf, OwnerSelf, false, "::1"},
		"another person's first":             {"localhost", OwnerPerson, OwnerSelf, false, "127.0.0.1"},
		"another person's, allowed":          {"localhost", OwnerPerson, OwnerSelf, true, "127.0.0.1"},
		"another person's second":            {"localhost.", OwnerSelf, OwnerPerson, false, "::1"},
		"a service's before another":         {"localhost", OwnerPerson, OwnerService, false, "127.0.0.1"},
		"a service's before own":             {"LocalHost", OwnerService, OwnerSelf, false, "127.0.0.1"},
		"not known":                          {"localhost", OwnerUnknown, OwnerService, false, "::1"},
		"another person's at both":           {"localhost", OwnerPerson, OwnerPerson, false, none},
		"another person's at both, allowed":  {"localhost", OwnerPerson, OwnerPerson, true, "::1"},
		"another person's at the address":    {"::1", OwnerPerson, OwnerSelf, false, none},
		"own at the address":                 {"127.0.0.1", OwnerPerson, OwnerSelf, false, "127.0.0.1"},
		"a container's at the other address": {"127.0.0.1", OwnerSelf, OwnerUnknown, false, "127.0.0.1"},
	} {
		owner := func(c net.Conn) (Owner, uint32) {
			if strings.HasPrefix(c.RemoteAddr().String(), "[::1]") {
				return tt.six, 1001
			}
			return tt.four, 1002
		}
		c, err := dial(t.Context(), &net.Dialer{}, "tcp", net.JoinHostPort(tt.host, port), tt.anyone, owner)
		var refused *OtherUserError
		switch {
		case tt.want == none:
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "HOOKSPAN_ALLOW_OTHER_USERS") {
				t.Errorf("%s: %v, want a refusal that names the setting", name, err)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", name, err)
			continue
		}
		if host, _, _ := net.SplitHostPort(c.RemoteAddr().String()); host != tt.want {
			t.Errorf("%s: connected to %s, want %s", name, host, tt.want)
		}
		_ = c.Close()
	}
}

func TestDialFailsWhereNobodyListens(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if c, err := Dial(context.Background(), &net.Dialer{}, "tcp", "localhost:"+port, false); err == nil {
		_ = c.Close()
		t.Error("connected to a port where no program listens")
	}
}
