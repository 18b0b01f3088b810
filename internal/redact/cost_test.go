package redact

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// beginnings are pieces of text that a rule may look behind: a text that fits each
// probe, what leads to more work, and each of both with signs behind it.
func beginnings() []string {
	out := []string{
		"eyJ", " eyJaaaa", "eyJaaaa.", "eyJaaaaaaaaaaaa.", "://a:b", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "BEGIN PRIVATE KEY\nMIIE\n",
		"curl -u ", "curl -u a:b ", "Authorization: Bearer ", "[REDACTED:", "ghp_a ", "...", "… ", ".. ", "[", "\\", "\\\\n", "\"", "'", "`", "\\\"", " ", "\t", "\n", "\r", "|", ",",
		"| password ", "password,", "password\t", "kind: Secret\n", "kind: Secret\ndata:\n", "data:\n", `"kind":"Secret"`, `"data":{`, "name: password\n", `"name":"password",`,
		"value: x name: password ", "password: |\n", "password:\n", "password ", "a:1234:b:c:", "Cookie: a=b;", "a=b; ", "Set-Cookie: a=", "https://a@", "https://a:b@", "https://a:b/@",
		`https:\/\/a:b`, `:\`, "LS0tLS1CRUdJTi", "Private-Lines: 1\n", "mysql -p", "mysql 'a ", "docker login ", "\x1b[31m", `\u001b[31m`, "password\x1b[0m", "login a password ", "SecureString ",
		"echo a|", "thin:a/", "auth('a','", "10Q~", "0123456789abcdef", "xxxx-us1", "AKIAIOSFODNN7EXAMPLE,", "&a=b", "│", "a.b=c.", "password = a\"b'c`", "password is ", "password for ", "password [",
	}
	for _, r := range slices.Concat(keyRules(), tokenRules(), serviceRules(), prefixRules(), contextRules()) {
		for _, p := range r.probes {
			text := ""
			for p = strings.TrimPrefix(p, "(?i)"); p != ""; p = p[1:] {
				if p[0] == '[' {
					text += p[1:2]
					p = p[strings.IndexByte(p, ']'):]
					continue
				}
				text += p[:1]
			}
			out = append(out, text, text+" ", text+"a.", text+":")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestCostOfFalseBeginnings fails where a false beginning makes the rules look at
// all the text behind it, or at far too much of it. What takes longest takes a
// tenth of what is allowed.
func TestCostOfFalseBeginnings(t *testing.T) {
	const size, allowed = 32 << 10, 2 * time.Second
	r := New(nil)
	for _, piece := range beginnings() {
		text := strings.Repeat(piece, size/len(piece))
		began := time.Now()
		got := r.Tail(text)
		if took := time.Since(began); took > allowed {
			t.Errorf("%q takes %v in %d bytes", piece, took, size)
		}
		if again := r.Tail(got); len(got) < 1<<10 && again != got {
			t.Errorf("%q: redacted again: %q", piece, again)
		}
	}
}
