package hookhttp

import (
	"errors"
	"fmt"

	whatwg "github.com/nlnwa/whatwg-url/errors"
	"github.com/nlnwa/whatwg-url/url"
)

// maxAddress is the longest address in bytes that is read: the parser's time grows as
// the square of the number of @.
const maxAddress = 4 << 10

// Host returns the host that an address leads to, as programs in JavaScript and browsers
// read it: net/url reads some of their spellings otherwise, and refuses others. An
// address without a scheme is one of https.
func Host(address string) (string, error) {
	if len(address) > maxAddress {
		return "", fmt.Errorf("address %.40q... has %d bytes, more than %d", address, len(address), maxAddress)
	}
	u, err := url.Parse(address)
	var fault *whatwg.ValidationError
	if errors.As(err, &fault) && fault.Type() == whatwg.MissingSchemeNonRelativeURL || err == nil && !u.IsSpecialScheme() {
		u, err = url.Parse("https://" + address)
	}
	if err != nil {
		return "", fmt.Errorf("address %q: %w", address, err)
	}
	return u.Hostname(), nil
}
