package hook

import (
	"net/url"
	"strings"
)

// Repository is a version-controlled folder. Every field may be empty.
type Repository struct {
	// Name is the last part of URL, URL the address in a browser, without credentials,
	// Branch the name of the branch, and Revision the id of its newest commit.
	Name     string `json:"name,omitempty"`
	URL      string `json:"url,omitempty"`
	Branch   string `json:"branch,omitempty"`
	Revision string `json:"revision,omitempty"`
}

// maxWord is the longest address or name that counts, in bytes.
const maxWord = 1 << 10

// RepositoryAt returns a repository's name and its address in a browser, without user,
// password, query and the ending .git, from the address of a remote. The address is empty
// for one that is a path of this machine.
func RepositoryAt(remote string) (name, address string) {
	if remote = PlainWord(remote); remote == "" {
		return "", ""
	}
	u, err := url.Parse(remote)
	if err != nil || u.Host == "" {
		// As in user@host:owner/name. A letter before the colon is a drive.
		place, path, ok := strings.Cut(remote, ":")
		if !ok || len(place) < 2 || strings.ContainsAny(place, `/\`) || strings.HasPrefix(path, "//") {
			return repositoryBase(remote), ""
		}
		u = &url.URL{Scheme: "ssh", Host: place[strings.LastIndexByte(place, '@')+1:], Path: "/" + strings.TrimPrefix(path, "/")}
	}
	host := u.Host
	switch u.Scheme {
	case "http", "https":
	case "ssh", "git", "git+ssh", "ssh+git":
		u.Scheme, host = "https", u.Hostname() // the port is another service's
	default:
		return repositoryBase(u.Path), ""
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), ".git")
	if name = repositoryBase(path); name == "" || host == "" {
		return name, ""
	}
	return name, (&url.URL{Scheme: u.Scheme, Host: host, Path: path}).String()
}

// repositoryBase is the last part of a path, without the ending .git.
func repositoryBase(path string) string {
	path = strings.TrimRight(strings.ReplaceAll(path, `\`, "/"), "/")
	return strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".git")
}

// PlainWord is a text that is not too long and has no control characters, or nothing.
func PlainWord(text string) string {
	if len(text) > maxWord || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
		return ""
	}
	return text
}
