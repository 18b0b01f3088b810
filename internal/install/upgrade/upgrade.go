package upgrade

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/outbound"
)

// Releases is the page of hookspan's releases. Below it, "latest" redirects to
// "tag/VERSION", which GitHub's documentation promises.
const Releases = "https://github.com/hookspan/hookspan/releases"

const (
	// timeout bounds the request with its whole answer.
	timeout = 20 * time.Second
	// maxAnswer is enough for the body of a redirect, in bytes.
	maxAnswer = 64 << 10
	maxLine   = 100
)

var release = regexp.MustCompile(`^v[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(-[0-9A-Za-z.-]{1,40})?$`)

// Newest returns the version of the newest release, such as v0.1.0, as the page of
// the releases names it. The address is https, or http on this machine.
func Newest(ctx context.Context, releases string) (version string, err error) {
	page, err := url.Parse(releases)
	switch {
	case err != nil, page.Host == "", page.User != nil, page.RawQuery != "", page.Fragment != "",
		page.Scheme != "https" && (page.Scheme != "http" || !outbound.Loopback(page.Hostname())):
		return "", fmt.Errorf("address of the releases %q: want one such as %s, with https except on this machine", outbound.Line(releases, maxLine), Releases)
	}
	latest := page.JoinPath("latest")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, latest.String(), nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("User-Agent", "hookspan")
	client := outbound.New(outbound.Options{Timeout: timeout, MaxAnswer: maxAnswer, Once: true})
	defer client.Close()
	answer, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask %s for the newest release: %w", latest, err)
	}
	location := answer.Header.Get("Location")
	switch {
	case answer.Status == http.StatusNotFound:
		return "", fmt.Errorf("%s: 404 Not Found: no release is published there", latest)
	case answer.Status < 300 || answer.Status > 399:
		what := fmt.Sprintf("%d %s", answer.Status, http.StatusText(answer.Status))
		if outbound.IsPage(answer.Header, answer.Body) {
			what += ", a web page"
		}
		return "", fmt.Errorf("%s: %s: want a redirect to the newest release; a proxy or a login page may have answered", latest, strings.TrimSpace(what))
	}
	to, err := latest.Parse(location)
	if err != nil || to.Scheme != page.Scheme || to.Host != page.Host || to.Path != page.JoinPath("tag", path.Base(to.Path)).Path || !release.MatchString(path.Base(to.Path)) {
		return "", fmt.Errorf("%s: redirects to %q: want %s", latest, outbound.Line(location, maxLine), page.JoinPath("tag", "vX.Y.Z"))
	}
	return path.Base(to.Path), nil
}

// commands are what upgrades a program whose path has a part. The first that fits
// counts.
var commands = []struct{ part, command string }{
	{"/_npx/", "npx hookspan@latest status"},
	{"/node_modules/", "npm install -g hookspan@latest"},
	{"/Cellar/", "brew upgrade hookspan"},
	{"/scoop/apps/", "scoop update hookspan"},
	{"/WinGet/", "winget upgrade hookspan.hookspan"},
	{"/.local/bin/", "curl -fsSL " + Releases + "/latest/download/install.sh | sh"},
}

// Command returns the command that upgrades a program by what installed it, as the
// program's path says. It is empty where the path does not say it.
func Command(program string) string {
	program = strings.ReplaceAll(program, `\`, "/")
	for _, c := range commands {
		if strings.Contains(program, c.part) {
			return c.command
		}
	}
	return ""
}
