package config

import (
	"fmt"
	"strings"
)

// The values of Setting.Source. A Problem's Source is Environment or the path of an
// env file or the machine-wide file.
const (
	Default     = "default"
	File        = "file"
	Environment = "environment"
	Machine     = "machine"
	// Fallback is the source of a value that replaces a wrong one and is not the
	// default.
	Fallback = "in place of a wrong value"
)

// masked replaces a secret in all output.
const masked = "****"

// Secret is a value that prints as stars. A conversion to string gives the
// value itself.
type Secret string

// String returns stars, or nothing for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString keeps the value out of %#v too.
func (s Secret) GoString() string { return fmt.Sprintf("config.Secret(%q)", s.String()) }

// MarshalText keeps the value out of JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Problem is one wrong value or line. Its text names the variable, what was
// found and where, and what is allowed.
type Problem struct {
	// Variable is the variable's name; empty for a line that is not one.
	Variable string
	// Found is the value, shortened, or stars for a secret.
	Found string
	// Reason replaces Found where the value alone does not say what is wrong.
	Reason string
	// Allowed says what the value may be.
	Allowed string
	// Source is Environment or the env file's path.
	Source string
	// Line is the line in the env file, from 1; 0 where it is not known.
	Line int
}

// Error is the problem in one line, without secrets.
func (p *Problem) Error() string {
	in := place(p.Source)
	var b strings.Builder
	switch {
	case p.Line > 0:
		fmt.Fprintf(&b, "%s: line %d: %s", p.Source, p.Line, p.Reason)
	case p.Variable == "":
		fmt.Fprintf(&b, "%s: %s", p.Source, p.Reason)
	case p.Reason != "":
		fmt.Fprintf(&b, "%s: %s (in %s)", p.Variable, p.Reason, in)
	default:
		fmt.Fprintf(&b, "%s: found %q in %s", p.Variable, p.Found, in)
	}
	if p.Allowed != "" {
		b.WriteString(": allowed " + p.Allowed)
	}
	return b.String()
}

// place names a Problem's Source for people.
func place(source string) string {
	if source == Environment {
		return "the environment"
	}
	return source
}

// Problems returns every *Problem within the error of Load.
func Problems(err error) (ps []*Problem) {
	switch e := err.(type) { //nolint:errorlint // The walk unwraps by itself.
	case *Problem:
		return []*Problem{e}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			ps = append(ps, Problems(one)...)
		}
	case interface{ Unwrap() error }:
		return Problems(e.Unwrap())
	}
	return ps
}

// found is a wrong value as a problem may show it.
func (v *variable) found(raw string) string {
	if v.secret {
		return masked
	}
	return shorten(v.showURL(raw))
}

// allowedFor describes valid values, with a hint for a frequent mistake.
func (v *variable) allowedFor(raw string) string {
	if v.kind == "protocol" && strings.EqualFold(strings.TrimSpace(raw), "grpc") {
		return v.allowed + " (grpc is not supported; name an endpoint that speaks OTLP over HTTP, usually on port 4318)"
	}
	return v.allowed
}

// show is a valid value as Settings shows it.
func (v *variable) show(checked, raw string) string {
	switch {
	case v.secret:
		return masked
	case v.kind == "size", v.kind == "duration", v.kind == "millis", v.kind == "usd":
		return strings.TrimSpace(raw)
	}
	return v.showURL(checked)
}

// showURL masks what may be a secret in a text that is, or should be, a URL:
// its userinfo, the values of its query and its fragment.
func (v *variable) showURL(s string) string {
	if v.kind != "url" && v.kind != "baseurl" && v.kind != "proxy" {
		return hideUserinfo(s)
	}
	if !strings.Contains(s, "://") {
		// Not a URL, but perhaps one whose scheme was left out.
		if at := strings.LastIndexByte(s, '@'); at >= 0 {
			s = masked + s[at:]
		}
	}
	return hideQuery(hideUserinfo(s))
}

// hideQuery masks the value of each part of a query, a part without = as a
// whole, and the fragment.
func hideQuery(s string) string {
	start := strings.IndexAny(s, "?#")
	if start < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:start])
	for rest := s[start:]; rest != ""; {
		separator, part := rest[0], rest[1:]
		b.WriteByte(separator)
		rest = ""
		if i := strings.IndexAny(part, "&;#"); i >= 0 && separator != '#' {
			part, rest = part[:i], part[i:]
		}
		if name, _, pair := strings.Cut(part, "="); pair && separator != '#' {
			b.WriteString(name + "=")
		}
		if part != "" {
			b.WriteString(masked)
		}
	}
	return b.String()
}

func shorten(s string) string {
	const most = 80
	runes := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	if len(runes) > most {
		runes = append(runes[:most-1], '…')
	}
	return string(runes)
}

// hideUserinfo masks the user and password of a URL. A text that does not parse as
// a URL may also hold a password, with any character in it.
func hideUserinfo(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s
	}
	end := len(rest)
	if validURL(s) {
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			end = i
		}
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return s
	}
	return scheme + "://" + masked + rest[at:]
}
