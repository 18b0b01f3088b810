package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The values of Setting.Source. A Problem's Source is Environment or the env
// file's path.
const (
	Default     = "default"
	File        = "file"
	Environment = "environment"
	// Fallback is the source of a value that is in force in place of a wrong one
	// and is not the default.
	Fallback = "in place of a wrong value"
)

// masked stands for a secret in everything that is shown.
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
	in := p.Source
	if in == Environment {
		in = "the environment"
	}
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

// Problems takes the error of Load apart.
func Problems(err error) []*Problem {
	var ps []*Problem
	var walk func(error)
	walk = func(err error) {
		if many, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // The walk unwraps by itself.
			for _, e := range many.Unwrap() {
				walk(e)
			}
			return
		}
		if p, ok := err.(*Problem); ok { //nolint:errorlint // The walk unwraps by itself.
			ps = append(ps, p)
			return
		}
		if one := errors.Unwrap(err); one != nil {
			walk(one)
		}
	}
	walk(err)
	return ps
}

// found is a wrong value as a problem may show it.
func (v *variable) found(raw string) string {
	if v.secret {
		return masked
	}
	return shorten(v.showURL(raw))
}

// allowedFor adds to what is allowed what the author of a wrong value needs to
// know.
func (v *variable) allowedFor(raw string) string {
	a := v.allowed
	if v.kind == "protocol" && raw == "grpc" {
		a += " (grpc is not supported; name an endpoint that speaks OTLP over HTTP, usually on port 4318)"
	}
	return a
}

// shown is a right value as Settings shows it.
func (v *variable) shown(checked, raw string) string {
	if v.secret {
		return masked
	}
	switch v.kind {
	case "size", "duration", "millis":
		return strings.TrimSpace(raw)
	}
	return v.showURL(checked)
}

// showURL masks what may be a secret in a text that is, or should be, a URL:
// its userinfo, the values of its query and its fragment.
func (v *variable) showURL(s string) string {
	if v.kind != "url" && v.kind != "baseurl" {
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

// hideQuery masks what stands behind the = of each part of a query, a part
// without one as a whole, and the fragment.
func hideQuery(s string) string {
	i := strings.IndexAny(s, "?#")
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for rest := s[i:]; rest != ""; {
		b.WriteByte(rest[0])
		fragment := rest[0] == '#'
		part := rest[1:]
		rest = ""
		if end := strings.IndexAny(part, "&;#"); end >= 0 && !fragment {
			part, rest = part[:end], part[end:]
		}
		name, _, pair := strings.Cut(part, "=")
		switch {
		case pair && !fragment:
			b.WriteString(name + "=" + masked)
		case part != "":
			b.WriteString(masked)
		}
	}
	return b.String()
}

func shorten(s string) string {
	const most = 80
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// hideUserinfo masks what stands before the @ of a URL. A text that does not
// parse as a URL may hold a password all the same, with any character in it.
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

func kindOfSource(source string) string {
	if source == Environment {
		return Environment
	}
	return File
}
