package hook

import (
	"strings"
	"testing"
)

func TestRepositoryAtLeavesCredentialsOut(t *testing.T) {
	for remote, want := range map[string][2]string{
		"https://oauth2:s3cret@git.example/a/b.git":        {"b", "https://git.example/a/b"},
		"https://git.example/a/b/?token=s3cret#x":          {"b", "https://git.example/a/b"},
		"git@git.example:a/b.git":                          {"b", "https://git.example/a/b"},
		"git.example:/a/b":                                 {"b", "https://git.example/a/b"},
		"ssh://git@git.example:2222/a/b.git":               {"b", "https://git.example/a/b"},
		"http://git.example/b":                             {"b", "http://git.example/b"},
		"/srv/git/b.git":                                   {"b", ""},
		"../b":                                             {"b", ""},
		`C:\repos\b.git`:                                   {"b", ""},
		"file:///srv/b.git":                                {"b", ""},
		"https://git.example/":                             {"", ""},
		"https://git.example/" + strings.Repeat("a", 2000): {"", ""},
		"": {"", ""},
	} {
		name, address := RepositoryAt(remote)
		if got := [2]string{name, address}; got != want {
			t.Errorf("%s: %q, want %q", remote, got, want)
		}
	}
}
