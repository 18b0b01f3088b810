package infinium

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/outbound"
)

// DefaultBaseURL is the service's documented address.
const DefaultBaseURL = "https://platform.i42m.ai/api/v1"

// requestTimeout bounds one request by default.
const requestTimeout = 30 * time.Second

// keyHeader is the header with the agent's secret.
const keyHeader = "X-Agent-Key"

// Options configure a Client. AgentID and AgentSecret are required.
//
// Options print without the secret, whatever the verb.
type Options struct {
	// BaseURL is the address that agents/{id}/trace is appended to. If empty,
	// DefaultBaseURL.
	BaseURL string
	// AgentID and AgentSecret are the credentials, at least 3 and 8 characters
	// of printable ASCII. White space around them is ignored.
	AgentID     string
	AgentSecret string `json:"-"`
	// HTTPClient sends the requests. If nil, a client with a timeout of 30 s,
	// TLS 1.2 or newer and the environment's proxy. A given client is copied;
	// the copy follows no redirects either, and bounds answers in the same way.
	HTTPClient *http.Client
	// Timeout bounds one request, unless HTTPClient has a timeout. If zero, 30 s.
	Timeout time.Duration
	// Forms are the forms of the agents' traces. If nil, all agents have the zero
	// Form; package connectors has the documented ones.
	Forms Forms
	// AllowInsecure permits http:// to other machines.
	AllowInsecure bool
	// AnyUser allows a server on this machine that is another person's program.
	AnyUser bool
	// Version is that of the User-Agent header. If empty, "dev".
	Version string
	// Now is the clock Retry-After dates are measured by. If nil, time.Now.
	Now func() time.Time
}

// Format implements fmt.Formatter, so that no verb prints the secret.
func (o Options) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "infinium.Options{AgentID: %q}", o.AgentID)
}

// endpoint checks the options and returns the agent's address,
// {base}/agents/{id}.
func (o *Options) endpoint() (*url.URL, error) {
	base := strings.TrimRight(cmp.Or(strings.TrimSpace(o.BaseURL), DefaultBaseURL), "/")
	u, err := url.Parse(base)
	if err != nil {
		// The parser's message repeats its input, which may hold a password.
		return nil, errors.New("infinium: INFINIUM_BASE_URL is not a URL: want a form like " + DefaultBaseURL)
	}
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("infinium: INFINIUM_BASE_URL for host %q contains a user name or password: want none, credentials go in INFINIUM_AGENT_ID and INFINIUM_AGENT_SECRET", u.Host)
	case u.Hostname() == "" || u.Opaque != "":
		return nil, fmt.Errorf("infinium: INFINIUM_BASE_URL %q names no host: want a form like %s", base, DefaultBaseURL)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("infinium: INFINIUM_BASE_URL for host %q has a query or fragment: want a plain address like %s", u.Host, DefaultBaseURL)
	case u.Scheme == "http" && !o.AllowInsecure && !outbound.Loopback(u.Hostname()):
		return nil, fmt.Errorf("infinium: INFINIUM_BASE_URL %q would send the secret unencrypted: want https://, or http:// to this machine", base)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("infinium: INFINIUM_BASE_URL %q has scheme %q: want https", base, u.Scheme)
	}
	// The service's own client demands these lengths.
	if err := cmp.Or(checkCredential("INFINIUM_AGENT_ID", o.AgentID, 3), checkCredential("INFINIUM_AGENT_SECRET", o.AgentSecret, 8)); err != nil {
		return nil, err
	}
	u, err = url.Parse(base + "/agents/" + url.PathEscape(strings.TrimSpace(o.AgentID)))
	if err != nil {
		return nil, fmt.Errorf("infinium: INFINIUM_AGENT_ID %q does not fit in an address: %w", o.AgentID, err)
	}
	return u, nil
}

// checkCredential reports what is wrong with a value, never the value.
func checkCredential(name, value string, least int) error {
	value = strings.TrimSpace(value)
	if value == "" {
		return fmt.Errorf("infinium: %s is not set: copy it from the agent's page on the Infinium platform", name)
	}
	if len(value) < least {
		return fmt.Errorf("infinium: %s has %d characters: want at least %d, check that it was copied whole", name, len(value), least)
	}
	if i := strings.IndexFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
		return fmt.Errorf("infinium: %s has an unexpected character at position %d: want printable ASCII without spaces", name, i+1)
	}
	return nil
}
