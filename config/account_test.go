package config

import (
	"encoding/base64"
	"errors"
	"testing"
)

// TestAccountOfTheEnvironmentsKey compares where the runs of two environments go whose OTLP
// credentials differ, beside a user's env file.
func TestAccountOfTheEnvironmentsKey(t *testing.T) {
	headers := func(value string) string { return "OTEL_EXPORTER_OTLP_HEADERS=" + value }
	basic := func(pair string) string {
		return headers("Authorization=Basic%20" + base64.StdEncoding.EncodeToString([]byte(pair)))
	}
	jwt := func(claims string) string {
		return headers("Authorization=Bearer%20e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln")
	}
	salt := []byte("of this machine")
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example\n"
	for _, tt := range []struct {
		name, file string
		a, b       []string
		same       bool
	}{
		{"two keys", "", []string{headers("x-api-key=a")}, []string{headers("x-api-key=b")}, false},
		{"two keys of Langfuse", "", []string{basic("pk-a:sk-a")}, []string{basic("pk-b:sk-b")}, false},
		{"a new password", "", []string{basic("pk-a:sk-1")}, []string{basic("pk-a:sk-2")}, true},
		{"a new token of one subject", "", []string{jwt(`{"iss":"i","sub":"s","aud":"a","exp":1}`)}, []string{jwt(`{"iss":"i","sub":"s","aud":"a","exp":2}`)}, true},
		{"another subject", "", []string{jwt(`{"iss":"i","sub":"s"}`)}, []string{jwt(`{"iss":"i","sub":"t"}`)}, false},
		{"another audience", "", []string{jwt(`{"sub":"s","aud":["a"]}`)}, []string{jwt(`{"sub":"s","aud":["b"]}`)}, false},
		{"tokens without a subject", "", []string{jwt(`{"exp":1}`)}, []string{jwt(`{"exp":2}`)}, false},
		{"an account", "", []string{headers("x-api-key=a"), "HOOKSPAN_OTLP_ACCOUNT=team"}, []string{headers("x-api-key=b"), "HOOKSPAN_OTLP_ACCOUNT=team"}, true},
		{"tenants of an account", "", []string{headers("x-api-key=a,X-Scope-OrgID=a"), "HOOKSPAN_OTLP_ACCOUNT=team"}, []string{headers("x-api-key=a,X-Scope-OrgID=b"), "HOOKSPAN_OTLP_ACCOUNT=team"}, false},
		{"another account", "", []string{headers("x-api-key=a"), "HOOKSPAN_OTLP_ACCOUNT=team"}, []string{headers("x-api-key=a"), "HOOKSPAN_OTLP_ACCOUNT=other"}, false},
		{"the user's own key", headers("x-api-key=a") + "\n", []string{headers("X-API-Key=a")}, nil, true},
		{"not the user's key", headers("x-api-key=a") + "\n", []string{headers("x-api-key=b")}, nil, false},
		{"the user's own account", basic("pk-a:sk-1") + "\n", []string{basic("pk-a:sk-2")}, nil, true},
		{"users in the address", "", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://a:1@otel.example"}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://b:1@otel.example"}, false},
		{"a password in the address", "", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://a:1@otel.example"}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://a:2@otel.example"}, true},
		{"keys in the address", "", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example?key=a"}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example?key=b"}, false},
	} {
		load := func(environ []string) *Config {
			in := input(endpoint+tt.file, environ...)
			in.Salt = func(string) ([]byte, error) { return salt, nil }
			c, _ := Load(in)
			return c
		}
		a, b := load(tt.a), load(tt.b)
		if same := a.Fingerprint() == b.Fingerprint(); same != tt.same {
			t.Errorf("%s: fingerprints %q and %q, want the same: %t", tt.name, a.Fingerprint(), b.Fingerprint(), tt.same)
		}
		if same := a.Account(ExporterOTLP) == b.Account(ExporterOTLP); same != tt.same && tt.b != nil {
			t.Errorf("%s: accounts %q and %q, want the same: %t", tt.name, a.Account(ExporterOTLP), b.Account(ExporterOTLP), tt.same)
		}
	}
}

// TestAccountThatCannotBeTold has a key and no secret to tell it from others by.
func TestAccountThatCannotBeTold(t *testing.T) {
	in := input("OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example\n", "OTEL_EXPORTER_OTLP_HEADERS=x-api-key=a")
	in.Salt = func(string) ([]byte, error) { return nil, errors.New("no disk") }
	if c, _ := Load(in); c.Fingerprint() != UnknownPlace || c.AccountFault() == nil {
		t.Errorf("fingerprint %q, fault %v; want none that is known, and why", c.Fingerprint(), c.AccountFault())
	}
	in.Environ = append(in.Environ, "HOOKSPAN_OTLP_ACCOUNT=a")
	if c, _ := Load(in); c.Fingerprint() == UnknownPlace || c.AccountFault() != nil {
		t.Errorf("with an account: fingerprint %q, fault %v", c.Fingerprint(), c.AccountFault())
	}
}
