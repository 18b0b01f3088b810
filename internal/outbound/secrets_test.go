package outbound

import (
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"
)

func TestSecretsAreRemovedFromTexts(t *testing.T) {
	u, err := url.Parse("https://user:pass%2Fw0rd@h.example/?api_token=q1w2%20e3r4&n=1")
	if err != nil {
		t.Fatal(err)
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("12345:glc_geheim"))
	s := NewSecrets(u, map[string]string{"authorization": basic, "x-key": "Bearer bear-1234567", "x-n": "1"})
	for text, want := range map[string]string{
		"no glc_geheim of 12345: " + basic:                          "no **** of 12345: ****",
		"pass/w0rd, pass%2Fw0rd":                                    "****, ****",
		"q1w2 e3r4 q1w2%20e3r4 q1w2+e3r4":                           "**** **** ****",
		"the beginning: bear-1234, of 1":                            "the beginning: ****, of 1",
		"no credential":                                             "no credential",
		base64.StdEncoding.EncodeToString([]byte("user:pass/w0rd")): "****",
	} {
		if got := s.Clean(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	var none *Secrets
	err = errors.New("bear-1234567")
	if none.Clean("bear-1234567") != "bear-1234567" || !errors.Is(none.CleanError(err), err) || strings.Contains(s.CleanError(err).Error(), "1234567") {
		t.Error("want an error without credentials unchanged, and one with credentials replaced")
	}
}
