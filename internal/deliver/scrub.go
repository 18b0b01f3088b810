package deliver

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// minSecret is the length in bytes from which a value is taken for a
// credential: removing shorter ones, such as "1", would garble every text.
const minSecret = 6

// scrubber removes what a request carries that may be a credential: the values
// of its headers and of the URL's query, and the URL's password. Servers echo
// these, as in "unknown API key: ...", and errors go to the log, to the delivery
// state and to the terminal.
func scrubber(u *url.URL, headers map[string]string) *strings.Replacer {
	var secrets []string
	add := func(values ...string) {
		for _, v := range values {
			for _, form := range []string{v, url.QueryEscape(v), url.PathEscape(v)} {
				if len(form) >= minSecret {
					secrets = append(secrets, form)
				}
			}
		}
	}
	for _, v := range headers {
		v = strings.TrimSpace(v)
		add(v)
		// Of "Bearer x" and "Basic x" the x alone may come back, or what it holds.
		if scheme, rest, ok := strings.Cut(v, " "); ok {
			rest = strings.TrimSpace(rest)
			add(rest)
			if b, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "basic") {
				_, password, _ := strings.Cut(string(b), ":")
				add(string(b), password)
			}
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		pair := u.User.Username() + ":" + password
		add(password, u.User.String(), pair, base64.StdEncoding.EncodeToString([]byte(pair)))
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		_, raw, _ := strings.Cut(part, "=")
		add(raw)
		if v, err := url.QueryUnescape(raw); err == nil {
			add(v)
		}
	}
	// The replacer takes the first that fits: a value within another comes later.
	slices.SortFunc(secrets, func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, "****")
	}
	return strings.NewReplacer(pairs...)
}

func (t *answers) scrub(text string) string {
	if t.secrets == nil {
		return text
	}
	return t.secrets.Replace(text)
}

// scrubbed keeps the cause unless its text holds a credential.
func (t *answers) scrubbed(err error) error {
	if text := err.Error(); t.scrub(text) != text {
		return errors.New(t.scrub(text))
	}
	return err
}
