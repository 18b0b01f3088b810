// Package plantedkeys makes secrets in the forms of real ones, puts them into
// payloads, and finds them, or pieces of them, in what came out.
//
// A piece is any eight characters in a row of a key's random part: fewer give
// nobody a head start, and texts hold them by chance. Nothing here is a secret,
// and every run makes the same keys. Their parts are put together at run time,
// so that no secret scanner takes this package for a leak.
package plantedkeys

import (
	"math/rand/v2"
	"strings"
)

const (
	lower = "abcdefghijklmnopqrstuvwxyz"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digit = "0123456789"
	alnum = upper + lower + digit
	hex   = digit + "abcdef"
	word  = alnum + "_-"
	b64   = alnum + "+/"
)

// Key is a made-up secret in the form of a real one.
type Key struct {
	// Before is what leads to it, Random what must never be seen, After what
	// follows.
	Before, Random, After string
}

// Text is the key with what stands around it.
func (k Key) Text() string { return k.Before + k.Random + k.After }

// Piece is how many characters in a row count as a part of a key.
const Piece = 8

// Leak is the first piece of the key in s, or nothing.
func (k Key) Leak(s string) string {
	for i := 0; i+Piece <= len(k.Random); i++ {
		if piece := k.Random[i : i+Piece]; strings.Contains(s, piece) {
			return piece
		}
	}
	return ""
}

// Finder looks for the pieces of many keys at once.
type Finder map[string]int

// NewFinder knows the keys by their place in the list.
func NewFinder(keys []Key) Finder {
	f := Finder{}
	for i, k := range keys {
		for j := 0; j+Piece <= len(k.Random); j++ {
			f[k.Random[j:j+Piece]] = i
		}
	}
	return f
}

// Find returns the first piece in s, the key's place in the list, and what stands
// around it. The place is -1 where there is none.
func (f Finder) Find(s string) (key int, around string) {
	for i := 0; i+Piece <= len(s); i++ {
		if k, ok := f[s[i:i+Piece]]; ok {
			return k, s[max(0, i-80):min(len(s), i+60)]
		}
	}
	return -1, ""
}

// Keys are the secrets to plant, at least one of each issuer's form.
func Keys() []Key {
	rng := rand.New(rand.NewPCG(23, 42)) //nolint:gosec // Nothing here is secret.
	// Each stretch of four has a digit in it, as nearly all stretches of real
	// keys are mixed.
	r := func(set string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[rng.IntN(len(set))]
			if i%4 == 1 && strings.Contains(set, digit) {
				b[i] = digit[rng.IntN(10)]
			}
			// A piece of digits alone can be in any time or number of an output.
			if letter := strings.Trim(set, digit); i >= Piece-1 && letter != "" && strings.Trim(string(b[i-Piece+1:i+1]), digit) == "" {
				b[i-2] = letter[0]
			}
		}
		return string(b)
	}
	pem := func(kind string) Key {
		return Key{
			"-----BEGIN " + kind + "-----\n",
			r(b64, 64) + "\n" + r(b64, 64) + "\n" + r(b64, 30) + "==",
			"\n-----END " + kind + "-----",
		}
	}
	jwt := "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
	return []Key{
		{"AK" + "IA", r(upper+digit, 16), ""},
		{"AS" + "IA", r(upper+digit, 16), ""},
		{"aws_secret_" + "access_key = ", r(b64, 40), ""},
		{"AWS_SECRET_" + "ACCESS_KEY=", r(b64, 40), ""},
		{"AWS_SESSION_" + "TOKEN=", r(b64, 200), ""},
		{"gh" + "p_", r(alnum, 36), ""},
		{"gh" + "o_", r(alnum, 36), ""},
		{"gh" + "s_", r(alnum, 36), ""},
		{"github_" + "pat_", r(alnum, 22) + "_" + r(alnum, 59), ""},
		{"gl" + "pat-", r(word, 20), ""},
		{"xo" + "xb-", r(digit, 12) + "-" + r(digit, 12) + "-" + r(alnum, 24), ""},
		{"xo" + "xp-", r(digit, 12) + "-" + r(hex, 32), ""},
		{"xa" + "pp-", "1-A" + r(upper+digit, 10) + "-" + r(digit, 13) + "-" + r(hex, 64), ""},
		{"https://hooks." + "slack.com/services/", "T" + r(upper+digit, 8) + "/B" + r(upper+digit, 8) + "/" + r(alnum, 24), ""},
		{"s" + "k-", r(alnum, 20) + "T3Bl" + "bkFJ" + r(alnum, 20), ""},
		{"s" + "k-proj-", r(word, 74) + "T3Bl" + "bkFJ" + r(word, 74), ""},
		{"sk-" + "ant-api03-", r(word, 93) + "AA", ""},
		{"AI" + "za", r(word, 35), ""},
		{"GOC" + "SPX-", r(word, 28), ""},
		{"ya" + "29.", r(word, 120), ""},
		{"sk_" + "live_", r(alnum, 24), ""},
		{"rk_" + "live_", r(alnum, 99), ""},
		{"wh" + "sec_", r(alnum, 32), ""},
		{"np" + "m_", r(alnum, 36), ""},
		{"py" + "pi-AgE", "IcHlwaS5vcmc" + r(word, 150), ""},
		{"h" + "f_", r(alnum, 34), ""},
		{"S" + "G.", r(word, 22) + "." + r(word, 43), ""},
		{"S" + "K", r(hex, 32), ""},
		{"TWILIO_AUTH_" + "TOKEN=", r(hex, 32), ""},
		{"ke" + "y-", r(hex, 32), ""},
		{"dop_" + "v1_", r(hex, 64), ""},
		{"AccountName=demo;Account" + "Key=", r(b64, 86) + "==", ";EndpointSuffix=core.windows.net"},
		{jwt, "ey" + "J" + r(alnum, 40) + "." + r(word, 43), ""},
		pem("RSA PRIVATE " + "KEY"),
		pem("OPENSSH PRIVATE " + "KEY"),
		{"postgres://app:", r(alnum, 16), "@db.internal:5432/app"},
		{"https://deploy:", r(alnum, 24), "@git.example.com/x.git"},
		{"Authorization: Bearer ", r(alnum, 40), ""},
		{"Authorization: Basic ", r(alnum, 28) + "==", ""},
		{"password=", r(alnum, 12), ""},
		{"DEPLOY_" + "TOKEN=", r(alnum, 32), ""},
		{"CLIENT_" + "SECRET='", r(alnum, 32), "'"},
		{"login --password ", r(alnum, 16), ""},
		{"INFINIUM_AGENT_" + "SECRET=", r(word, 43), ""},
		{"client_" + "secret: ", r(alnum, 40), ""},
		{"12345678:AA", r(word, 33), ""},
		{"https://discord" + ".com/api/webhooks/123456789012345678/", r(word, 68), ""},
		{"shp" + "at_", r(hex, 32), ""},
		{"da" + "pi", r(hex, 32), ""},
		{"lin_" + "api_", r(alnum, 40), ""},
		{"nt" + "n_", r(alnum, 46), ""},
		{"vc" + "p_", r(alnum, 56), ""},
		{"cf" + "ut_", r(alnum, 48), ""},
		{"HR" + "KU-AA", r(word, 58), ""},
		{"gs" + "k_", r(alnum, 52), ""},
		{"xa" + "i-", r(alnum, 80), ""},
		{"pp" + "lx-", r(alnum, 48), ""},
		{"r" + "8_", r(alnum, 37), ""},
		{"nv" + "api-", r(word, 64), ""},
		{"hv" + "s.", r(word, 90), ""},
		{"dckr_" + "pat_", r(word, 27), ""},
		{"ATA" + "TT3", r(word, 180), ""},
		{"gl" + "sa_", r(alnum, 32) + "_" + r(hex, 8), ""},
		{"sn" + "trys_", r(b64, 100), ""},
		{"lsv2_" + "pt_", r(hex, 32) + "_" + r(hex, 10), ""},
		{"sb" + "p_", r(hex, 40), ""},
		{"AGE-SECRET-" + "KEY-1", r("023456789ACDEFGHJKLMNPQRSTUVWXYZ", 58), ""},
		{"https://x.blob.core.windows.net/c?sv=2024-01-01&" + "sig=", r(alnum, 43) + "%3D", ""},
		{"1/" + "/0", r(word, 60), ""},
		{"curl -s -u admin:", r(alnum, 16), " https://h.example"},
		{"A3-", r(upper+digit, 6) + "-" + r(upper+digit, 6) + "-" + r(upper+digit, 5) + "-" + r(upper+digit, 5) + "-" + r(upper+digit, 5) + "-" + r(upper+digit, 5), ""},
		{"ops_" + "eyJ", r(b64, 250), ""},
		{"p8" + "e-", r(alnum, 32), ""},
		{"pa" + "t", r(alnum, 14) + "." + r(hex, 64), ""},
		{"LT" + "AI", r(alnum, 20), ""},
		{"AK" + "Cp", r(alnum, 69), ""},
		{"sc_", r(alnum, 12) + "." + r(alnum, 5) + ".acc_" + r(alnum, 20) + "." + r(alnum, 60), ""},
		{"AB" + "SK", r(b64, 120), ""},
		{"aB3" + "4Q~", r(alnum+"_~.-", 32), ""},
		{"4b" + "1d", r(alnum, 38), ""},
		{"CLOJ" + "ARS_", r(alnum, 60), ""},
		{"dn" + "key-", r(word, 26) + "-" + r(word, 52), ""},
		{"dp" + ".pt.", r(alnum, 43), ""},
		{"duffel_" + "live_", r(word, 43), ""},
		{"dt0" + "c01.", r(alnum, 24) + "." + r(alnum, 64), ""},
		{"EZ" + "AK", r(alnum, 54), ""},
		{"EAA" + "M", r(alnum, 120), ""},
		{"FLW" + "SECK_TEST-", r(hex, 32) + "-X", ""},
		{"fo" + "1_", r(word, 43), ""},
		{"fio" + "-u-", r(word, 64), ""},
		{"GR13" + "48941", r(word, 20), ""},
		{"eyJ" + "rIjoi", r(alnum, 90), ""},
		{"pat" + ".", r(word, 22) + "." + r(alnum, 24) + "." + r(alnum, 20), ""},
		{"ico" + "-", r(alnum, 32), ""},
		{"s-s4" + "t2ud-", r(hex, 64), ""},
		{"ZXl" + "K", r(b64, 120), ""},
		{"NR" + "AK-", r(upper+digit, 27), ""},
		{"AP" + "I-", r(upper+digit, 26), ""},
		{"sha256" + "~", r(word, 43), ""},
		{"pscale_" + "tkn_", r(word, 43), ""},
		{"PM" + "AK-", r(hex, 24) + "-" + r(hex, 34), ""},
		{"pn" + "u_", r(alnum, 36), ""},
		{"pu" + "l-", r(hex, 40), ""},
		{"rd" + "me_", r(lower+digit, 70), ""},
		{"ruby" + "gems_", r(hex, 48), ""},
		{"tk-" + "us-", r(word, 48), ""},
		{"xkey" + "sib-", r(hex, 64) + "-" + r(alnum, 16), ""},
		{"sm_" + "aat_", r(alnum, 16), ""},
		{"shippo_" + "live_", r(hex, 40), ""},
		{"sg" + "p_", r(hex, 40), ""},
		{"EAA" + "A", r(word, 60), ""},
		{"https://x.webhook." + "office.com/webhookb2/", r(hex, 8) + "-" + r(hex, 28) + "@" + r(hex, 36) + "/IncomingWebhook/" + r(hex, 32) + "/" + r(hex, 36), ""},
		{"AAAAAAAAAA" + "AAAAAAAAAAAA", r(alnum, 90), ""},
		{"tf" + "p_", r(word, 59), ""},
		{"Zm9vYmFyYmF6MT." + "atlasv1.", r(word, 67), ""},
		{"AQ" + "VN", r(word, 36), ""},
		{`curl -H "X-Api-` + "Key: ", r(alnum, 32), `"`},
	}
}
