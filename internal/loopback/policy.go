package loopback

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
)

// The reasons for which a request is refused.
var (
	// ErrHost is that the request was meant for another server: a page whose name was
	// rebound to this machine has its name as Host.
	ErrHost = errors.New("another host")
	// ErrOrigin is that another page has sent it, or any.
	ErrOrigin = errors.New("another origin")
	// ErrSite is that the browser says so, or that it says anything.
	ErrSite = errors.New("another site")
)

// Policy says whose requests a server answers.
type Policy struct {
	host, origin, site func(r *http.Request, value string) bool
}

// Check returns nil for a request that the server answers, else one of the reasons. Host
// comes first, since it alone tells a rebound name.
func (p Policy) Check(r *http.Request) error {
	refuses := func(header string, allow func(*http.Request, string) bool) bool {
		return slices.ContainsFunc(r.Header.Values(header), func(value string) bool { return !allow(r, value) })
	}
	switch {
	case !p.host(r, r.Host):
		return ErrHost
	case refuses("Origin", p.origin):
		return ErrOrigin
	case refuses("Sec-Fetch-Site", p.site):
		return ErrSite
	}
	return nil
}

// Programs is the policy of a server for programs, under any name of this machine's
// loopback addresses and any port. No browser is answered: requests for images and links
// have no origin, but browsers add Sec-Fetch-Site to them, also to those for a typed
// address, and the origin may have been another server's, which left a page, a service
// worker or a cache.
func Programs() Policy {
	never := func(*http.Request, string) bool { return false }
	return Policy{host: func(_ *http.Request, host string) bool { return named(host) }, origin: never, site: never}
}

// Page is the policy of a server for its own page, under one of these hosts with their
// ports. Another page may send only a request for which opening returns true.
func Page(hosts []string, opening func(*http.Request) bool) Policy {
	return Policy{
		host:   func(_ *http.Request, host string) bool { return slices.Contains(hosts, host) },
		origin: func(r *http.Request, origin string) bool { return origin == "http://"+r.Host },
		site:   func(r *http.Request, site string) bool { return site == "same-origin" || site == "none" || opening(r) },
	}
}

// named reports a name of this machine's loopback addresses, with any port or none.
func named(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
		if len(name) > 2 && name[0] == '[' && name[len(name)-1] == ']' {
			name = name[1 : len(name)-1]
		}
	}
	return name == "127.0.0.1" || name == "::1" || strings.EqualFold(name, "localhost")
}
