package pipeline_test

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

// key is a made-up secret in the form of a real one. Its parts are put together
// at run time, so that no secret scanner takes this file for a leak.
type key struct {
	// before is what leads to it, random what must never be seen, after what
	// follows.
	before, random, after string
}

func (k key) text() string { return k.before + k.random + k.after }

// leak is the first stretch of eight random characters that stands in s.
func (k key) leak(s string) string {
	for i := 0; i+8 <= len(k.random); i++ {
		if piece := k.random[i : i+8]; strings.Contains(s, piece) {
			return piece
		}
	}
	return ""
}

// keys are the secrets that the tests plant, the same ones in every run.
func keys() []key {
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
		}
		return string(b)
	}
	pem := func(kind string) key {
		return key{
			"-----BEGIN " + kind + "-----\n",
			r(b64, 64) + "\n" + r(b64, 64) + "\n" + r(b64, 30) + "==",
			"\n-----END " + kind + "-----",
		}
	}
	jwt := "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
	return []key{
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
	}
}
