package hookhttp

import (
	"strings"
	"testing"
)

// TestHostIsWhatJavaScriptReads has spellings of one host that net/url reads otherwise or
// refuses.
func TestHostIsWhatJavaScriptReads(t *testing.T) {
	for address, want := range map[string]string{
		"https://evil.example/x": "evil.example", "evil.example/x": "evil.example", "evil.example:8080/x": "evil.example",
		`https:\\evil.example/x`: "evil.example", "https:evil.example/x": "evil.example", "https:/evil.example": "evil.example",
		"https:///evil.example": "evil.example", "\x01 https://evil.example": "evil.example", "ht\ntps://ev\til.example": "evil.example",
		"https://evil%2eexample/": "evil.example", "https://evil\u3002example/": "evil.example", "https://\uff45vil.example/": "evil.example",
		"https://e\u00advil.example/": "evil.example", `https://good.example\@evil.example/`: "good.example", `https://evil.example\.good.example`: "evil.example",
		"https://u:p@EVIL.example./": "evil.example.", "//evil.example": "evil.example", "https://m\u00fcnchen.de": "xn--mnchen-3ya.de",
		"http://2130706433/": "127.0.0.1", "http://0x7f.1/": "127.0.0.1", "http://[::1]:80/": "[::1]", "https://evil.example#@good.example": "evil.example",
	} {
		if got, err := Host(address); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", address, got, err, want)
		}
	}
	for _, address := range []string{"", "https://", "http://%zz", "data:text/plain,x", strings.Repeat("@", maxAddress+1)} {
		if got, err := Host(address); err == nil {
			t.Errorf("%q: %q, want an error", address, got)
		}
	}
}

func FuzzHost(f *testing.F) {
	f.Add(`https:\\ev%2eil\u3002x@[::1]:99999/`)
	f.Fuzz(func(_ *testing.T, address string) { _, _ = Host(address) })
}
