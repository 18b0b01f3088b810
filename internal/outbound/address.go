package outbound

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Loopback reports that a URL's host name is this machine's: localhost, in any
// case of its letters and with or without the final dot, or a loopback address.
// A name that only resolves to such an address is another machine's.
func Loopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// proxy is the environment's, and none for this machine. The standard library
// leaves out "localhost" in that spelling alone; another would give a proxy what
// may go in cleartext because it does not leave the machine.
func proxy(req *http.Request) (*url.URL, error) {
	if Loopback(req.URL.Hostname()) {
		return nil, nil
	}
	return http.ProxyFromEnvironment(req)
}
