package redact

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/cputime"
)

// beginnings are pieces of text that a rule may look behind: a text that fits each
// probe, what leads to more work, and each of both with signs behind it.
func beginnings() []string {
	out := []string{
		"eyJ", " eyJaaaa", "eyJaaaa.", "eyJaaaaaaaaaaaa.", "://a:b", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "BEGIN PRIVATE KEY\nMIIE\n",
		"curl -u ", "curl -u a:b ", "Authorization: Bearer ", "[REDACTED:", "ghp_a ", "...", "… ", ".. ", "[", "\\", "\\\\n", "\"", "'", "`", "\\\"", " ", "\t", "\n", "\r", "|", ",",
		"| password ", "password,", "password\t", "kind: Secret\n", "kind: Secret\ndata:\n", "data:\n", `"kind":"Secret"`, `"data":{`, "name: password\n", `"name":"password",`,
		"value: x name: password ", "password: |\n", "password:\n", "password ", "a:1234:b:c:", "Cookie: a=b;", "a=b; ", "Set-Cookie: a=", "https://a@", "https://a:b@", "https://a:b/@",
		`https:\/\/a:b`, `:\`, "LS0tLS1CRUdJTi", "Private-Lines: 1\n", "mysql -p", "mysql 'a ", `"curl",'a b',`, `"curl" -H 'a b' `, `"mysql", (args `, `"mysql",\`, "docker login ", "\x1b[31m", `\u001b[31m`, "password\x1b[0m", "login a password ", "SecureString ",
		"echo a|", "thin:a/", "auth('a','", "10Q~", "0123456789abcdef", "xxxx-us1", "AKIAIOSFODNN7EXAMPLE,", "&a=b", "│", "a.b=c.", "password\n", "user password\n\n", "password = a\"b'c`", "password is ", "password for ", "password [",
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
// all the text behind it, or at far too much of it: where a longer text takes more than
// its length explains, or thousands of times what one without a beginning takes.
func TestCostOfFalseBeginnings(t *testing.T) {
	const (
		short, times = 4 << 10, 8
		// What is looked at behind each beginning is bounded, but by more than a short text.
		growth = 3
		// least is what is worth a look; what takes longest takes a tenth of most.
		least, most = 50, 5_000
	)
	r := New(nil)
	cost := func(text string, times int) time.Duration {
		began := cputime.Used()
		for range times {
			r.redact(text, true, nil)
		}
		return cputime.Used() - began
	}
	const plain = 100
	control := max(1, cost(strings.Repeat("nothing of note\n", short*times/16), plain)/plain)
	for _, piece := range beginnings() {
		text := strings.Repeat(piece, short/len(piece))
		got := r.Tail(text)
		if again, _ := r.redact(got, true, nil); len(got) < 1<<10 && again != got {
			t.Errorf("%q: redacted again: %q", piece, again)
		}
		text = strings.Repeat(text, times)
		long := cost(text, 1)
		if long < least*control {
			continue
		}
		one := cost(text[:len(text)/times], times)
		far := func() bool { return long > growth*one || long > most*control }
		// Twice is enough for what is far too slow; the rest may be the machine's doing.
		for again := 0; far() && (again < 2 || again < 6 && long < time.Second); again++ {
			long, one = min(long, cost(text, 1)), max(one, cost(text[:len(text)/times], times))
		}
		if far() {
			t.Fatalf("%q: a text of %d bytes takes %.1f times what its parts take, and %d times what one without a beginning takes", piece, len(text), float64(long)/float64(one), long/control)
		}
	}
}

// TestReadingTakesNoMemory checks that a text without secrets is read in memory that is used
// again, however many stretches it has.
func TestReadingTakesNoMemory(t *testing.T) {
	r := New(nil)
	const text = "the password of [REDACTED:assigned-secret] at 12:30:45, \"duration\":17043 and the token of [REDACTED:url-password] are gone"
	if n := testing.AllocsPerRun(100, func() { r.redact(text, true, nil) }); n > 2 {
		t.Errorf("%v allocations for a text without secrets, want at most 2", n)
	}
}
