package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checker turns a raw value into the form that env parses, or refuses it.
type checker struct{ goos, home string }

// check tests raw by the variable's kind. Surrounding blanks never count.
func (k checker) check(raw string, v *variable) (text string, valid bool) {
	raw = strings.TrimSpace(raw)
	switch v.kind {
	case "text":
		return raw, true
	case "bool":
		return checkBool(raw)
	case "otelbool":
		// In the specification only true, in any case, means true; all other
		// values mean false and call for a warning.
		low := strings.ToLower(raw)
		return low, low == "true" || low == "false"
	case "oneof", "protocol":
		low := strings.ToLower(raw)
		return low, slices.Contains(strings.Split(v.allowed, ", "), low)
	case "exporters":
		return checkExporters(raw)
	case "int", "millis", "duration", "size", "usd":
		n, ok := parseNumber(v.kind, raw)
		lo, _ := parseNumber(v.kind, v.lowest)
		hi, _ := parseNumber(v.kind, v.highest)
		text := strconv.FormatInt(n, 10)
		switch v.kind {
		case "millis":
			text += "ms"
		case "duration":
			text = time.Duration(n).String()
		}
		return text, ok && lo <= n && n <= hi
	case "traceparent":
		return raw, validTraceparent(raw)
	case "abspath":
		p := k.expand(raw)
		return p, p != "" && !hasControl(p) && isAbs(k.goos, p)
	case "folders":
		return k.folders(raw)
	case "url":
		return raw, validURL(raw)
	case "proxy":
		if !strings.Contains(raw, "://") {
			raw = "http://" + raw
		}
		u, err := url.Parse(raw)
		return raw, err == nil && u.Hostname() != "" && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)
	case "baseurl":
		return strings.TrimRight(raw, "/"), validURL(raw) && !strings.ContainsAny(raw, "?#")
	case "headers":
		_, ok := parseHeaders(raw)
		return raw, ok
	case "resource":
		_, ok := ParseAttributes(raw)
		return raw, ok
	case "id":
		return raw, raw != "" && len(raw) <= 200 && !strings.ContainsFunc(raw, notID)
	case "token":
		return raw, raw != "" && !strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	return "", false
}

// folders reads a comma list of folders.
func (k checker) folders(raw string) (string, bool) {
	var out []string
	for one := range strings.SplitSeq(raw, ",") {
		one = strings.TrimSpace(one)
		if one == "~" {
			one += "/"
		}
		one = k.expand(one)
		if one != "" {
			out = append(out, one)
		}
	}
	bad := func(one string) bool { return one != "/" && !isAbs(k.goos, one) || hasControl(one) }
	return strings.Join(out, ","), len(out) > 0 && !slices.ContainsFunc(out, bad)
}

// expand replaces a leading ~/, which no shell does in an env file.
func (k checker) expand(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok && k.home != "" {
		return join(k.goos, k.home, rest)
	}
	return p
}

func notID(r rune) bool { return !alphanumeric(r) && !strings.ContainsRune("-_.:", r) }

func alphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func checkBool(raw string) (string, bool) {
	switch strings.ToLower(raw) {
	case "true", "1", "yes", "on":
		return "true", true
	case "false", "0", "no", "off":
		return "false", true
	}
	return "", false
}

// The names of the destinations.
const (
	ExporterStore    = "store"
	ExporterOTLP     = "otlp"
	ExporterInfinium = "infinium"
	ExporterFile     = "file"
)

// GranularitySession is the value of InfiniumGranularity for one trace of all tasks.
const GranularitySession = "session"

func checkExporters(raw string) (string, bool) {
	var out []string
	for e := range strings.SplitSeq(strings.ToLower(raw), ",") {
		e = strings.TrimSpace(e)
		if !slices.Contains([]string{ExporterStore, ExporterOTLP, ExporterInfinium, ExporterFile}, e) {
			return "", false
		}
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return strings.Join(out, ","), true
}

// unit is the number of bytes in a unit such as "kib", in any case, or 0 if it is unknown.
func unit(name string) int64 {
	for _, u := range [...]struct {
		name  string
		bytes int64
	}{{"", 1}, {"b", 1}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12}, {"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40}} {
		if strings.EqualFold(u.name, name) {
			return u.bytes
		}
	}
	return 0
}

// parseNumber reads a whole number, a duration in nanoseconds, or a size in bytes:
// a number with a unit of 1000 or 1024, in any case, or US dollars in cents.
func parseNumber(kind, s string) (int64, bool) {
	if kind == "usd" {
		usd, err := strconv.ParseFloat(s, 64)
		return int64(100*usd + 0.5), err == nil && usd < 1e15
	}
	if kind == "duration" {
		d, err := time.ParseDuration(s)
		return int64(d), err == nil
	}
	factor := int64(1)
	if kind == "size" {
		digits := strings.TrimLeft(s, "0123456789")
		factor = unit(strings.TrimSpace(digits))
		s = strings.TrimSuffix(s, digits)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n * factor, err == nil && factor > 0 && n <= (1<<62)/factor
}

// validTraceparent follows W3C Trace Context, section 3.2: versions after 00
// may have more fields after the four that are defined.
func validTraceparent(s string) bool {
	if len(s) < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return false
	}
	version, trace, span, flags := s[:2], s[3:35], s[36:52], s[53:55]
	for _, f := range []string{version, trace, span, flags} {
		if strings.Trim(f, "0123456789abcdef") != "" {
			return false
		}
	}
	if version == "ff" || strings.Trim(trace, "0") == "" || strings.Trim(span, "0") == "" {
		return false
	}
	return len(s) == 55 || version != "00" && s[55] == '-'
}

func validURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && !hasControl(raw)
}

// cleartext reports whether a URL's requests leave this machine unencrypted.
func cleartext(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err != nil || !ip.Unmap().IsLoopback()
}
