package outbound

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// minSecret is the minimum length of a credential in bytes: removing shorter values,
// such as "1", would garble every text.
const minSecret = 6

// Secrets removes credentials, and pieces of them, from texts. A nil *Secrets
// removes nothing.
type Secrets struct {
	whole  *strings.Replacer
	pieces map[string]bool
}

// NewSecrets returns the Secrets of a request: everything that may be a credential,
// which are the values of its headers and of the URL's query, and the URL's
// password. Servers echo these, as in "unknown API key: ...", and errors go to the
// log, the delivery state and the terminal. The URL may be nil.
func NewSecrets(u *url.URL, headers map[string]string) *Secrets {
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
		// Of "Bearer x" and "Basic x" a server may echo only x, or what it encodes.
		if scheme, rest, ok := strings.Cut(v, " "); ok {
			rest = strings.TrimSpace(rest)
			add(rest)
			if b, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "basic") {
				_, password, _ := strings.Cut(string(b), ":")
				add(string(b), password)
			}
		}
	}
	if u == nil {
		u = &url.URL{}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		pair := u.User.Username() + ":" + password
		add(password, u.User.String(), pair, base64.StdEncoding.EncodeToString([]byte(pair)))
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, raw, ok := strings.Cut(part, "=")
		if !ok { // it is a value without a name
			raw = name
		}
		add(raw)
		if v, err := url.QueryUnescape(raw); err == nil {
			add(v)
		}
	}
	// The replacer takes the first that fits, so longer values come first.
	slices.SortFunc(secrets, func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	var pairs []string
	pieces := make(map[string]bool)
	for _, s := range secrets {
		pairs = append(pairs, s, stars)
		for i := 0; i+piece <= len(s); i++ {
			// A piece with a blank holds a word beside the credential.
			if p := s[i : i+piece]; !strings.Contains(p, " ") {
				pieces[p] = true
			}
		}
	}
	return &Secrets{strings.NewReplacer(pairs...), pieces}
}

// stars replace a credential. A part of it with at least piece bytes is removed, too: servers
// repeat the beginning or the end of a key that they do not know.
const (
	stars = "****"
	piece = 8
)

// Clean returns the text with stars in place of credentials.
func (s *Secrets) Clean(text string) string {
	if s == nil {
		return text
	}
	text = s.whole.Replace(text)
	var b strings.Builder
	done, end := 0, 0
	for i := 0; i+piece <= len(text); i++ {
		if !s.pieces[text[i:i+piece]] {
			continue
		}
		if i >= end {
			b.WriteString(text[done:i])
			b.WriteString(stars)
		}
		end = i + piece
		done = end
	}
	return b.String() + text[done:]
}

// CleanError returns the error, or one without credentials if its text holds any.
func (s *Secrets) CleanError(err error) error {
	if clean := s.Clean(err.Error()); clean != err.Error() {
		return errors.New(clean)
	}
	return err
}

// error is CleanError for an *Error, and keeps its kind.
func (s *Secrets) error(e *Error) *Error {
	if clean := s.Clean(e.Error()); clean != e.Error() {
		return &Error{Kind: e.Kind, Unreached: e.Unreached, Err: errors.New(clean)}
	}
	return e
}
