package secretforms

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

const (
	lower = "abcdefghijklmnopqrstuvwxyz"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digit = "0123456789"
	alnum = upper + lower + digit
)

// sets are the characters of the values that a place may ask for by name.
var sets = map[string]string{
	"alnum": alnum,
	"hex":   digit + "abcdef",
	"HEX":   digit + "ABCDEF",
	"b64":   alnum + "+/",
	"url":   alnum + "_-",
	"up":    upper + digit,
	"low":   lower + digit,
	"digit": digit,
	"b32":   upper + "234567",
}

// values makes the values of one sample.
type values struct {
	rng     *rand.Rand
	secrets []string
}

// fill replaces each place of a form: {pw} is a password, {odd} one with signs
// that mean something to shells, URLs and JSON, {pem:KIND} the lines of a
// private key, {pem64:KIND} one in base64, {hex:32} and its like so many
// characters of a set. All of them are secrets. {id} is a number that is none.
func (v *values) fill(form string) string {
	var b strings.Builder
	for {
		head, rest, found := strings.Cut(form, "{")
		b.WriteString(head)
		if !found {
			return b.String()
		}
		place, tail, closed := strings.Cut(rest, "}")
		text, ok := "", false
		if closed {
			text, ok = v.value(place)
		}
		if !ok {
			b.WriteByte('{')
			form = rest
			continue
		}
		b.WriteString(text)
		form = tail
	}
}

func (v *values) value(place string) (string, bool) {
	kind, arg, _ := strings.Cut(place, ":")
	switch {
	case place == "id":
		return strconv.Itoa(10 + v.rng.IntN(9990)), true
	case place == "pw":
		return v.keep(v.password()), true
	case place == "odd":
		return v.keep(v.odd()), true
	case place == "uuid":
		hexes := func(n int) string { return v.random(sets["hex"], n) }
		return v.keep(hexes(8) + "-" + hexes(4) + "-4" + hexes(3) + "-a" + hexes(3) + "-" + hexes(12)), true
	case place == "basic":
		return v.keep(base64.StdEncoding.EncodeToString([]byte("deploy:" + v.random(alnum, 18)))), true
	case place == "jwt":
		body := fmt.Sprintf(`{"sub":"%s","name":"%s"}`, v.random(digit, 10), v.random(alnum, 16))
		return "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + v.keep(base64.RawURLEncoding.EncodeToString([]byte(body))) + "." + v.keep(v.random(sets["url"], 43)), true
	case kind == "pem":
		return v.pem(arg), true
	case kind == "pem64":
		// Its beginning is that of certificates, too.
		text := base64.StdEncoding.EncodeToString([]byte((&values{rng: v.rng}).pem(arg)))
		v.keep(text[60:])
		return text, true
	}
	n, err := strconv.Atoi(arg)
	if set, ok := sets[kind]; ok && err == nil {
		return v.keep(v.random(set, n)), true
	}
	return "", false
}

func (v *values) keep(secret string) string {
	v.secrets = append(v.secrets, secret)
	return secret
}

// random is mixed as nearly all random values are: each stretch of four has a
// digit where the set has digits.
func (v *values) random(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[v.rng.IntN(len(set))]
		if i%4 == 2 && strings.Contains(set, digit) {
			b[i] = digit[v.rng.IntN(10)]
		}
	}
	return string(b)
}

// password is one that a generator made, or a person.
func (v *values) password() string {
	pick := func(list ...string) string { return list[v.rng.IntN(len(list))] }
	switch v.rng.IntN(7) {
	case 0, 1:
		return v.random(alnum, 12+v.rng.IntN(13))
	case 2:
		return v.random(alnum, 8) + pick("!", "#", "%", "*", "^") + v.random(alnum, 7)
	case 3:
		return v.random(sets["hex"], 24)
	case 4:
		return pick("Winter", "Falcon", "Rhubarb", "Granite", "Otter") + pick("-", "_", ".", "!") + pick("2019", "4711", "77", "1984") + pick("!", "", "?", "x")
	case 5:
		return pick("letmein", "sunshine", "dragonfly", "Baseball") + v.random(digit, 2+v.rng.IntN(3))
	default:
		return pick("tr0ub4dor", "s3rpent1ne", "m0nkey5ee", "p4per7iger") + pick("!", "_9", "-x2", "")
	}
}

func (v *values) odd() string {
	signs := []string{"@", "/", "&", ":", "#", "?", "%", "="}
	return v.random(alnum, 5) + signs[v.rng.IntN(len(signs))] + v.random(alnum, 8) + signs[v.rng.IntN(len(signs))] + v.random(alnum, 4)
}

// pem is a private key. Each of its lines is a secret, since a frame puts
// something between them.
func (v *values) pem(kind string) string {
	head := "-----BEGIN " + kind + " PRIVATE " + "KEY-----\n"
	foot := "\n-----END " + kind + " PRIVATE " + "KEY-----"
	first := "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA"
	switch kind {
	case "PKCS8":
		head, foot = strings.Replace(head, "PKCS8 ", "", 1), strings.Replace(foot, "PKCS8 ", "", 1)
	case "OPENSSH":
		first = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAA"
	case "PGP":
		head = "-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\nVersion: GnuPG v2\n\n"
		foot = "\n=" + v.random(alnum, 4) + "\n-----END PGP PRIVATE " + "KEY BLOCK-----"
	case "ENCRYPTED RSA":
		head = "-----BEGIN RSA PRIVATE " + "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,3F17F5316E2BAC89\n\n"
		foot = "\n-----END RSA PRIVATE " + "KEY-----"
	}
	lines := []string{first + v.keep(v.random(sets["b64"], 64-len(first)))}
	for range 5 {
		lines = append(lines, v.keep(v.random(sets["b64"], 64)))
	}
	lines = append(lines, v.keep(v.random(sets["b64"], 30))+"==")
	return head + strings.Join(lines, "\n") + foot
}
