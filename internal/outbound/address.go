package outbound

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/net/http/httpproxy"
)

// Loopback reports whether a URL's host name is this machine: localhost, in upper
// or lower case and with or without the final dot, or a loopback address. A name
// that merely resolves to such an address does not count.
func Loopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// proxy is the environment's proxy, and none for this machine. The standard library excludes
// "localhost" in this spelling alone. With another one, a proxy would get requests that are
// in cleartext as they are not meant to leave the machine.
func proxy(req *http.Request) (*url.URL, error) {
	if Loopback(req.URL.Hostname()) {
		return nil, nil
	}
	return fromEnvironment()(req.URL)
}

// fromEnvironment reads the environment at the first request. That of net/http would do so at
// the first call of any package, which may come before the settings of a file are there.
var fromEnvironment = sync.OnceValue(func() func(*url.URL) (*url.URL, error) { return httpproxy.FromEnvironment().ProxyFunc() })
