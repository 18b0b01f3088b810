package outbound

import (
	"net/http"
	"testing"
)

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "localhost.": true, "127.0.0.1": true, "127.255.255.254": true, "::1": true, "::ffff:127.0.0.1": true, "::ffff:7f00:1": true,
		"": false, ".": false, "localhost..": false, "evil.localhost": false, "localhost.evil": false, "localhost6": false, "loc\u0430lhost": false,
		"127.0.0.1.": false, "127.1": false, "2130706433": false, "0x7f000001": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "::ffff:10.0.0.1": false,
		"64:ff9b::7f00:1": false, "fe80::1%eth0": false,
	} {
		if got := Loopback(host); got != want {
			t.Errorf("%q is this machine: %t, want %t", host, got, want)
		}
	}
}

func TestLoopbackAddressesUseNoProxy(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.0.0.2", "[::ffff:127.0.0.1]", "[::1]:4318"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := proxy(req); u != nil || err != nil {
			t.Errorf("%s: proxy %v, %v", host, u, err)
		}
	}
}
