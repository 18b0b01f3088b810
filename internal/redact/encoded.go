package redact

import (
	"encoding/base64"
	"strings"
)

// encodedCredentials reports whether a text is the base64 of a name and a password,
// as HTTP's basic authentication and SMTP join them.
func encodedCredentials(v string) bool {
	v = strings.TrimRight(v, "=")
	if len(v) < 12 || len(v) > 400 || !only(v, base64Bytes.or("_-")) {
		return false
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(v))
	if err != nil {
		return false
	}
	user, password, found := strings.Cut(string(plain), ":")
	if !found {
		_, rest, _ := strings.Cut(string(plain), "\x00")
		user, password, found = strings.Cut(rest, "\x00")
	}
	return found && user != "" && only(user, wordBytes.or(".@+-")) && len(password) >= 6 && !strings.ContainsFunc(password, func(r rune) bool { return r <= ' ' || r > '~' }) && literalValue(password)
}

// basicCredentials distinguishes what HTTP's basic authentication encodes from words, and from the
// encoded examples of documents.
func basicCredentials(m match) bool {
	plain, err := base64.StdEncoding.DecodeString(m.value())
	text := err == nil && !strings.ContainsFunc(string(plain), func(r rune) bool { return r < ' ' || r > '~' })
	return unwordy(m) && (!text || encodedCredentials(m.value()))
}

// paddedCredentials reads such a text before the signs of its end, at i.
func paddedCredentials(t *text, i int) []span {
	lo := startOf(t.s, i, 400, alnumBytes.or("+/"))
	hi := endOf(t.s, i, 2, oneOf("="))
	return unless(!encodedCredentials(t.s[lo:hi]), lo, hi)
}
