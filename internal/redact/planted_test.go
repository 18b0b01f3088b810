package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
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

// planted is a made-up secret in the form of a real one. Its parts are put
// together at run time, so that no secret scanner takes this file for a leak.
type planted struct {
	rule string
	// before stands in front, lead is the fixed part of the secret, random the
	// part that must never be seen, after what follows.
	before, lead, random, after string
}

func (p planted) text() string { return p.before + p.lead + p.random + p.after }

// plant makes all secrets from fixed random numbers.
func plant() []planted {
	rng := rand.New(rand.NewPCG(7, 11))
	// Each stretch of eight is mixed, as nearly all stretches of real keys are.
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
	pem := func(kind, nl string, end bool) planted {
		var lines []string
		for range 6 {
			lines = append(lines, r(b64, 64))
		}
		lines = append(lines, r(b64, 30)+"==")
		p := planted{rule: "private-key", lead: "-----BEGIN " + kind + "-----" + nl, random: strings.Join(lines, nl)}
		if end {
			p.after = nl + "-----END " + kind + "-----"
		}
		return p
	}
	part := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	jwt := "ey" + part(map[string]string{"alg": "HS256", "typ": "JWT"})[2:]
	return append(plantPrefixes(r), []planted{
		{"aws-access-key", "", "AK" + "IA", r(upper+digit, 16), ""},
		{"aws-access-key", "", "AS" + "IA", r(upper+digit, 16), ""},
		{"assigned-secret", "aws_secret_" + "access_key = ", "", r(b64, 40), ""},
		{"assigned-secret", "AWS_SECRET_" + "ACCESS_KEY=", "", r(b64, 40), ""},
		{"assigned-secret", `"SecretAccess` + `Key": "`, "", r(b64, 40), `"`},
		{"assigned-secret", "AWS_SESSION_" + "TOKEN=", "", r(b64, 200), ""},
		{"github-token", "", "gh" + "p_", r(alnum, 36), ""},
		{"github-token", "", "gh" + "o_", r(alnum, 36), ""},
		{"github-token", "", "gh" + "u_", r(alnum, 36), ""},
		{"github-token", "", "gh" + "s_", r(alnum, 36), ""},
		{"github-token", "", "gh" + "r_", r(alnum, 76), ""},
		{"github-pat", "", "github_" + "pat_", r(alnum, 22) + "_" + r(alnum, 59), ""},
		{"gitlab-token", "", "gl" + "pat-", r(word, 20), ""},
		{"slack-token", "", "xo" + "xb-", r(digit, 12) + "-" + r(digit, 12) + "-" + r(alnum, 24), ""},
		{"slack-token", "", "xo" + "xp-", r(digit, 12) + "-" + r(hex, 32), ""},
		{"slack-webhook", "https://hooks." + "slack.com/services/", "", "T" + r(upper+digit, 8) + "/B" + r(upper+digit, 8) + "/" + r(alnum, 24), ""},
		{"openai-key", "", "s" + "k-", r(alnum, 20) + "T3Bl" + "bkFJ" + r(alnum, 20), ""},
		{"openai-key", "", "s" + "k-proj-", r(word, 74) + "T3Bl" + "bkFJ" + r(word, 74), ""},
		{"openai-key", "", "s" + "k-svcacct-", r(word, 100), ""},
		{"anthropic-key", "", "sk-" + "ant-api03-", r(word, 93) + "AA", ""},
		{"google-api-key", "", "AI" + "za", r(word, 35), ""},
		{"google-oauth", "", "GOC" + "SPX-", r(word, 28), ""},
		{"google-oauth", "", "ya" + "29.", r(word, 120), ""},
		{"stripe-key", "", "sk_" + "live_", r(alnum, 24), ""},
		{"stripe-key", "", "rk_" + "live_", r(alnum, 99), ""},
		{"webhook-secret", "", "wh" + "sec_", r(alnum, 32), ""},
		{"npm-token", "", "np" + "m_", r(alnum, 36), ""},
		{"pypi-token", "", "py" + "pi-AgE", "IcHlwaS5vcmc" + r(word, 150), ""},
		{"huggingface-token", "", "h" + "f_", r(alnum, 34), ""},
		{"sendgrid-key", "", "S" + "G.", r(word, 22) + "." + r(word, 43), ""},
		{"twilio-key", "", "S" + "K", r(hex, 32), ""},
		{"assigned-secret", "TWILIO_AUTH_" + "TOKEN=", "", r(hex, 32), ""},
		{"mailgun-key", "", "ke" + "y-", r(hex, 32), ""},
		{"digitalocean-token", "", "dop_" + "v1_", r(hex, 64), ""},
		{"azure-key", "AccountName=demo;Account" + "Key=", "", r(b64, 86) + "==", ";EndpointSuffix=core.windows.net"},
		{"jwt", jwt + ".", "", part(map[string]string{"sub": r(digit, 10), "name": r(alnum, 20)}) + "." + r(word, 43), ""},
		pem("RSA PRIVATE "+"KEY", "\n", true),
		pem("OPENSSH PRIVATE "+"KEY", "\n", true),
		pem("PRIVATE "+"KEY", `\n`, true),
		pem("EC PRIVATE "+"KEY", "\n", false),
		{"url-password", "postgres://app:", "", r(alnum, 16), "@db.internal:5432/app"},
		{"url-password", "https://deploy:", "", r(alnum, 24), "@git.example.com/x.git"},
		{"auth-header", "Authorization: Bearer ", "", r(alnum, 40), ""},
		{"auth-header", "Authorization: Basic ", "", r(alnum, 28) + "==", ""},
		{"bearer-token", "-H 'Proxy: Bearer ", "", r(alnum, 40), "'"},
		{"assigned-secret", "password=", "", r(alnum, 12), ""},
		{"assigned-secret", `"api_` + `key": "`, "", r(alnum, 32), `"`},
		{"assigned-secret", "DEPLOY_" + "TOKEN=", "", r(alnum, 32), ""},
		{"assigned-secret", "CLIENT_" + "SECRET='", "", r(alnum, 32), "'"},
		{"assigned-secret", "login --password ", "", r(alnum, 16), ""},
		{"assigned-secret", "INFINIUM_AGENT_" + "SECRET=", "", r(word, 43), ""},
		{"assigned-secret", `System.setProperty("DB_PASS` + `WORD", "`, "", r(alnum, 20), `")`},
		{"assigned-secret", `{"name": "API_` + `TOKEN", "value": "`, "", r(alnum, 24), `"}`},
		{"assigned-secret", "<api" + "Token>\n  ", "", r(alnum, 24), "\n</api" + "Token>"},
		{"assigned-secret", "const api" + `Token: string = "`, "", r(alnum, 24), `"`},
		{"assigned-secret", "process.env.TOK" + `EN || "`, "", r(alnum, 24), `"`},
		{"assigned-secret", "client_" + "secret: ", "", r(alnum, 40), ""},
		{"telegram-token", "12345678:", "AA", r(word, 33), ""},
		{"discord-token", "", "M" + "TIz" + base64.RawStdEncoding.EncodeToString([]byte("456789012345678")), "." + r(word, 6) + "." + r(word, 38), ""},
		{"discord-webhook", "https://discord" + ".com/api/webhooks/123456789012345678/", "", r(word, 68), ""},
		{"shopify-token", "", "shp" + "at_", r(hex, 32), ""},
		{"databricks-token", "", "da" + "pi", r(hex, 32), ""},
		{"linear-key", "", "lin_" + "api_", r(alnum, 40), ""},
		{"notion-token", "", "nt" + "n_", r(alnum, 46), ""},
		{"notion-token", "", "sec" + "ret_", r(alnum, 43), ""},
		{"vercel-token", "", "vc" + "p_", r(alnum, 56), ""},
		{"cloudflare-token", "", "cf" + "ut_", r(alnum, 48), ""},
		{"assigned-secret", "CLOUDFLARE_API_" + "TOKEN=", "", r(word, 40), ""},
		{"heroku-key", "", "HR" + "KU-", "AA" + r(word, 58), ""},
		{"groq-key", "", "gs" + "k_", r(alnum, 52), ""},
		{"xai-key", "", "xa" + "i-", r(alnum, 80), ""},
		{"perplexity-key", "", "pp" + "lx-", r(alnum, 48), ""},
		{"replicate-token", "", "r" + "8_", r(alnum, 37), ""},
		{"nvidia-key", "", "nv" + "api-", r(word, 64), ""},
		{"vault-token", "", "hv" + "s.", r(word, 90), ""},
		{"docker-token", "", "dckr_" + "pat_", r(word, 27), ""},
		{"atlassian-token", "", "ATA" + "TT3", r(word, 180), ""},
		{"grafana-token", "", "gl" + "sa_", r(alnum, 32) + "_" + r(hex, 8), ""},
		{"sentry-token", "", "sn" + "trys_", r(b64, 100), ""},
		{"langsmith-key", "", "lsv2_" + "pt_", r(hex, 32) + "_" + r(hex, 10), ""},
		{"supabase-token", "", "sb" + "p_", r(hex, 40), ""},
		{"age-key", "", "AGE-SECRET-" + "KEY-1", r("023456789ACDEFGHJKLMNPQRSTUVWXYZ", 58), ""},
		{"slack-token", "", "xa" + "pp-", "1-A" + r(upper+digit, 10) + "-" + r(digit, 13) + "-" + r(hex, 64), ""},
		{"azure-signature", "https://x.blob.core.windows.net/c?sv=2024-01-01&" + "sig=", "", r(alnum, 43) + "%3D", ""},
		{"google-refresh-token", "", "1/" + "/0", r(word, 60), ""},
		{"curl-password", "curl -s -u admin:", "", r(alnum, 16), " https://h.example"},
		{"1password-key", "", "A3-", r(upper+digit, 6) + "-" + r(upper+digit, 6) + "-" + r(upper+digit, 5) + "-" + r(upper+digit, 5) + "-" + r(upper+digit, 5) + "-" + r(upper+digit, 5), ""},
		{"1password-token", "", "ops_" + "eyJ", r(b64, 250), ""},
		{"adobe-secret", "", "p8" + "e-", r(alnum, 32), ""},
		{"airtable-token", "", "pa" + "t", r(alnum, 14) + "." + r(hex, 64), ""},
		{"alibaba-key", "", "LT" + "AI", r(alnum, 20), ""},
		{"artifactory-key", "", "AK" + "Cp", r(alnum, 69), ""},
		{"authress-key", "", "sc_", r(alnum, 12) + "." + r(alnum, 5) + ".acc_" + r(alnum, 20) + "." + r(alnum, 60), ""},
		{"aws-bedrock-key", "", "AB" + "SK", r(b64, 120), ""},
		{"azure-ad-secret", "", "aB3" + "4Q~", r(alnum+"_~.-", 32), ""},
		{"clickhouse-key", "", "4b" + "1d", r(alnum, 38), ""},
		{"clojars-token", "", "CLOJ" + "ARS_", r(alnum, 60), ""},
		{"defined-key", "", "dn" + "key-", r(word, 26) + "-" + r(word, 52), ""},
		{"doppler-token", "", "dp" + ".pt.", r(alnum, 43), ""},
		{"duffel-token", "", "duffel_" + "live_", r(word, 43), ""},
		{"dynatrace-token", "", "dt0" + "c01.", r(alnum, 24) + "." + r(alnum, 64), ""},
		{"easypost-key", "", "EZ" + "AK", r(alnum, 54), ""},
		{"facebook-token", "", "EAA" + "M", r(alnum, 120), ""},
		{"flutterwave-key", "", "FLW" + "SECK_TEST-", r(hex, 32) + "-X", ""},
		{"fly-token", "", "fo" + "1_", r(word, 43), ""},
		{"frameio-token", "", "fio" + "-u-", r(word, 64), ""},
		{"gitlab-token", "", "GR13" + "48941", r(word, 20), ""},
		{"grafana-token", "", "eyJ" + "rIjoi", r(alnum, 90), ""},
		{"harness-key", "", "pat" + ".", r(word, 22) + "." + r(alnum, 24) + "." + r(alnum, 20), ""},
		{"infracost-key", "", "ico" + "-", r(alnum, 32), ""},
		{"intra42-secret", "", "s-s4" + "t2ud-", r(hex, 64), ""},
		{"jwt", "", "ZXl" + "K", r(b64, 120), ""},
		{"newrelic-key", "", "NR" + "AK-", r(upper+digit, 27), ""},
		{"octopus-key", "", "AP" + "I-", r(upper+digit, 26), ""},
		{"openshift-token", "", "sha256" + "~", r(word, 43), ""},
		{"planetscale-token", "", "pscale_" + "tkn_", r(word, 43), ""},
		{"postman-key", "", "PM" + "AK-", r(hex, 24) + "-" + r(hex, 34), ""},
		{"prefect-key", "", "pn" + "u_", r(alnum, 36), ""},
		{"pulumi-token", "", "pu" + "l-", r(hex, 40), ""},
		{"readme-key", "", "rd" + "me_", r(lower+digit, 70), ""},
		{"rubygems-key", "", "ruby" + "gems_", r(hex, 48), ""},
		{"scalingo-token", "", "tk-" + "us-", r(word, 48), ""},
		{"brevo-key", "", "xkey" + "sib-", r(hex, 64) + "-" + r(alnum, 16), ""},
		{"settlemint-token", "", "sm_" + "aat_", r(alnum, 16), ""},
		{"shippo-token", "", "shippo_" + "live_", r(hex, 40), ""},
		{"sourcegraph-token", "", "sg" + "p_", r(hex, 40), ""},
		{"square-token", "", "EAA" + "A", r(word, 60), ""},
		{"teams-webhook", "https://x.webhook." + "office.com/webhookb2/", "", r(hex, 8) + "-" + r(hex, 28) + "@" + r(hex, 36) + "/IncomingWebhook/" + r(hex, 32) + "/" + r(hex, 36), ""},
		{"twitter-token", "", "AAAAAAAAAA" + "AAAAAAAAAAAA", r(alnum, 90), ""},
		{"typeform-token", "", "tf" + "p_", r(word, 59), ""},
		{"hashicorp-token", "", "Zm9vYmFyYmF6MT." + "atlasv1.", r(word, 67), ""},
		{"yandex-key", "", "AQ" + "VN", r(word, 36), ""},
		{"header-secret", `curl -H "X-Api-` + "Key: ", "", r(alnum, 32), `"`},
		{"aws-secret-key", "AK" + "IAIOSFODNN7EXAMPLE,", "", r(b64, 40), ",x"},
		{"encoded-json", "", "ey" + "J", r(b64, 220) + "==", ""},
		{"command-secret", "sshpass -p ", "", r(alnum, 14), " ssh dev@h.example"},
		{"command-secret", "redis-cli -h cache -a ", "", r(alnum, 24), " ping"},
		{"command-secret", "docker login -u dev -p ", "", r(alnum, 24), " r.example.com"},
		{"cookie", "Cookie: theme=dark; sessionid=", "", r(alnum, 32), "; lang=en"},
		{"cookie", "Set-Cookie: auth_token=", "", r(alnum, 32), "; Path=/"},
		{"auth-header", "Authorization: ", "", r(alnum, 32), ""},
		{"netrc-password", "machine h.example login deploy password ", "", r(alnum, 20), ""},
		{"parameter-value", `"Type": "Secure` + `String", "Value": "`, "", r(alnum, 24), `"`},
		{"sql-password", "CREATE USER app IDENTI" + "FIED BY '", "", r(alnum, 16), "'"},
		{"call-password", "req.SetBasicAuth(\"dev\", \"", "", r(alnum, 16), "\")"},
		{"secure-string", "ConvertTo-Secure" + "String \"", "", r(alnum, 16), "\" -AsPlainText"},
		{"oracle-password", "jdbc:oracle:thin:app/", "", r(alnum, 16), "@//db:1521/ORCL"},
		{"shadow-hash", "root:$6$", "", r(alnum, 16) + "$" + r(alnum, 86), ":19000:0:99999:7:::"},
		{"pgpass-password", "db.internal:5432:app:app_user:", "", r(alnum, 20), ""},
		{"query-code", "https://h.example/cb?co" + "de=", "", r(alnum, 32), "&state=1"},
		{"bind-password", "bind" + "pw ", "", r(alnum, 20), ""},
		{"plist-secret", "<key>Auth" + "Token</key><string>", "", r(alnum, 32), "</string>"},
		{"sasl-password", "[smtp.example.com]:587 dev@example.com:", "", r(alnum, 18), ""},
		{"composer-token", `{"gitlab-oauth": {"gitlab.com": "`, "", r(hex, 40), `"}}`},
		{"jwk-secret", `{"kty":"oct","k":"`, "", r(word, 43), `"}`},
		{"url-password", `https:\/\/deploy:`, "", r(alnum, 20), `@git.example.com`},
		{"url-password", "https://", "", r(alnum, 40), "@github.com/a/b"},
		{"url-token", "https://h.example/hooks/catch/", "", r(alnum, 32), "/"},
		{"smtp-password", "AUTH PLAIN ", "", r(alnum, 28), ""},
		{"imap-password", "a1 LOGIN dev@example.com ", "", r(alnum, 20), ""},
		{"oauth-parameter", "code_veri" + "fier=", "", r(word, 43), ""},
		{"totp-secret", "otpauth://totp/x?secret=", "", r("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 32), "&issuer=x"},
		{"login-pair", "Decoded: dev:", "", r(alnum, 20), ""},
		{"cas-ticket", "TGT-12-", "", r(alnum, 40), ""},
		{"password-hash", "$2b$12$", "", r(alnum, 53), ""},
		{"masked-value", "::add-mask::", "", r(alnum, 32), ""},
		{"openvpn-key", "-----BEGIN OpenVPN Static key V1-----\n", "", r(hex, 32) + "\n" + r(hex, 32), "\n-----END OpenVPN Static key V1-----"},
		{"jwt-secret", "jwt.sign(payload, '", "", r(alnum, 32), "')"},
		{"session-token", "session: ", "", r(alnum, 48), ""},
		{"network-secret", "snmp-server community ", "", r(alnum, 16), " RO"},
		{"configcat-key", "configcat-sdk-1/", "", r(word, 22) + "/" + r(word, 22), ""},
		{"fernet-key", `Fernet(b"`, "", r(word, 43) + "=", `")`},
		{"rsa-key", "<D>", "", r(alnum, 64), "</D>"},
		{"zapier-webhook", "https://hooks.zapier.com/hooks/catch/", "", "1234567/" + r(alnum, 8), "/"},
		{"irc-password", "OPER bob ", "", r(alnum, 20), ""},
		{"form-password", "form-data; name=\"password\"\r\n\r\n", "", r(alnum, 20), "\r\n"},
		{"wifi-password", "WIFI:T:WPA;S:x;P:", "", r(alnum, 20), ";;"},
		{"basic-credentials", `["Basic `, "", r(alnum, 28), `"]`},
		{"recovery-code", "Backup codes: ", "", r(digits, 10), " "},
		{"docker-config", ".dockerconfigjson: ", "", r(alnum, 40), ""},
		{"erlang-cookie", "erlang.cookie = ", "", r(alnum, 24), ""},
		{"swarm-key", "/base16/\n", "", r(hex, 64), ""},
		{"secret-key", "encrypted secret key\n", "", r(alnum, 100), ""},
		{"tls-crypt-key", "tls-crypt key ", "", r(hex, 128), ""},
		{"tls-crypt-key", "OpenVPN tls-crypt-v2 client key-----\n", "", r(alnum, 64), "\n-----END"},
		{"url-signature", "https://b.example/k?Signature=", "", r(alnum, 40), ""},
		{"key-vault-secret", `"https://v.example/secrets/db/1","value":"`, "", r(alnum, 20), `"`},
		{"acl-password", "ACL SETUSER app on >", "", r(alnum, 24), " ~*"},
	}...)
}

// plantPrefixes makes a key of each service of the table.
func plantPrefixes(r func(string, int) string) []planted {
	var out []planted
	for _, p := range prefixes() {
		out = append(out, planted{rule: p[0], lead: expand(p[2], r), random: expand(p[3], r)})
	}
	return out
}

// expand makes the shortest text that an expression matches.
func expand(pattern string, r func(string, int) string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return shortest(re, r)
}

func shortest(re *syntax.Regexp, r func(string, int) string) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpAlternate, syntax.OpCapture, syntax.OpPlus:
		return shortest(re.Sub[0], r)
	case syntax.OpCharClass:
		return r(members(re), 1)
	case syntax.OpRepeat:
		if re.Sub[0].Op == syntax.OpCharClass {
			return r(members(re.Sub[0]), re.Min)
		}
	case syntax.OpConcat:
		out := ""
		for _, sub := range re.Sub {
			out += shortest(sub, r)
		}
		return out
	}
	return ""
}

// members are the letters and digits of a class.
func members(re *syntax.Regexp) string {
	var b strings.Builder
	for _, c := range alnum {
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= c && c <= re.Rune[i+1] {
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

// settings put a text into what people and programs put it into.
var settings = map[string]func(string) string{
	"plain text":           func(s string) string { return "I will use " + s + " for this." },
	"alone":                func(s string) string { return s },
	"JSON value":           func(s string) string { return asJSON(map[string]string{"command": s, "z": "1"}) },
	"JSON inside JSON":     func(s string) string { return asJSON(map[string]string{"a": asJSON(map[string]string{"b": s})}) },
	"thrice nested":        func(s string) string { return asJSON([]string{asJSON([]string{asJSON([]string{"x " + s})})}) },
	"after a JSON \\n":     func(s string) string { return asJSON("first\n" + s + "\nlast") },
	"several lines":        func(s string) string { return "one\n" + s + "\nthree\n" },
	"shell export":         func(s string) string { return "export X='" + s + "' && run" },
	"shell without quotes": func(s string) string { return "KEY=" + s + " ./run" },
	"URL parameter":        func(s string) string { return "see https://h.example/p?k=" + s + "&z=1" },
	"percent-encoded =":    func(s string) string { return "https://h.example/p?q=k%3D" + s + "&z=1" },
	"ANSI colour":          func(s string) string { return "\x1b[31m" + s + "\x1b[0m" },
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// leak is the first stretch of eight random characters of p that stands in s.
func leak(p planted, s string) string {
	for i := 0; i+8 <= len(p.random); i++ {
		if piece := p.random[i : i+8]; strings.Contains(s, piece) {
			return piece
		}
	}
	return ""
}

func TestPlantedSecretsAreRemoved(t *testing.T) {
	r := New(nil)
	all := plant()
	if len(all) < 60 {
		t.Fatalf("only %d secrets", len(all))
	}
	for i, p := range all {
		for name, put := range settings {
			text := put(p.text())
			got := r.String(text)
			if l := leak(p, got); l != "" {
				t.Errorf("%d %s, %s: %q stayed in %q", i, p.rule, name, l, got)
				continue
			}
			if name == "alone" && !strings.Contains(got, markerHead+p.rule+"]") {
				t.Errorf("%d: want rule %s in %q", i, p.rule, got)
			}
			if again := r.String(got); again != got {
				t.Errorf("%d %s, %s: redacted again:\n%q\n%q", i, p.rule, name, got, again)
			}
			// What stands around a secret stays.
			for _, keep := range []string{"I will use ", " for this.", "three", "&& run", "\x1b[0m", `"z":"1"`} {
				if strings.Contains(text, keep) && !strings.Contains(got, keep) {
					t.Errorf("%d %s, %s: %q was lost: %q", i, p.rule, name, keep, got)
				}
			}
		}
	}
}

func TestTailOfTextCutAnywhere(t *testing.T) {
	r := New(nil)
	for i, p := range plant() {
		for name, put := range settings {
			text := put(p.text())
			start := strings.Index(text, p.random[:4])
			if start < 0 {
				start = 0
			}
			// Far inside a long secret one place is like the next.
			for end := start; end <= len(text); end += 1 + (end-start)/100 {
				for _, mark := range []string{"", "…", "...", "\n... [truncated]", "… [40032 bytes cut]\", and more\""} {
					got := r.Tail(text[:end] + mark)
					if l := leak(p, got); l != "" {
						t.Fatalf("%d %s, %s, mark %q: %q stayed in %q", i, p.rule, name, mark, l, got)
					}
					if again := r.Tail(got); again != got {
						t.Fatalf("%d %s, %s: redacted again:\n%q\n%q", i, p.rule, name, got, again)
					}
				}
			}
		}
	}
}

func TestPreviewCutAnywhere(t *testing.T) {
	r := New(nil)
	for i, p := range plant() {
		for _, name := range []string{"plain text", "JSON inside JSON", "shell export", "several lines"} {
			text := settings[name](p.text())
			for max := 1; max <= len(text)+1; max++ {
				got := r.Preview(text, max)
				if l := leak(p, got); l != "" {
					t.Fatalf("%d %s, %s, max %d: %q stayed in %q", i, p.rule, name, max, l, got)
				}
				if n := utf8.RuneCountInString(got); n > max {
					t.Fatalf("%d: %d runes, want at most %d", i, n, max)
				}
			}
		}
	}
}

// TestPreviewWindowEdge puts a secret across the end of what Preview looks at,
// behind one that shrinks so much that the edge comes into sight.
func TestPreviewWindowEdge(t *testing.T) {
	r := New(nil)
	const max = 200
	big := "export BIG_" + "TOKEN=" + strings.Repeat("a1b2c3d4", (max+edge)/8-25)
	for i, p := range plant() {
		for shift := 0; shift < 120; shift += 5 {
			pad := max + edge - len(big) - len(p.before+p.lead) - shift
			if pad < 0 {
				continue
			}
			text := big + strings.Repeat("\n", pad) + p.text() + strings.Repeat(" tail", 4000)
			got := r.Preview(text, max)
			if l := leak(p, got); l != "" {
				t.Fatalf("%d %s, shift %d: %q stayed in %q", i, p.rule, shift, l, got)
			}
			if !strings.HasSuffix(got, "…") {
				t.Fatalf("no mark of the cut at the end of %q", got)
			}
		}
	}
}

func TestPreview(t *testing.T) {
	r := New(nil)
	key := "gh" + "p_" + strings.Repeat("aB3d", 9)
	tests := []struct {
		name, text string
		max        int
		want       string
	}{
		{"short text is whole", "abc", 3, "abc"},
		{"long text is cut", "abcd", 3, "ab…"},
		{"runes, not bytes", "äöüß", 4, "äöüß"},
		{"runes, not bytes, cut", "äöüßé", 4, "äöü…"},
		{"one", "ab", 1, "…"},
		{"one of one", "a", 1, "a"},
		{"no limit", strings.Repeat("x", 20000), 0, strings.Repeat("x", 20000)},
		{"no limit either", "a " + key, -1, "a [REDACTED:github-token]"},
		{"empty", "", 5, ""},
		{"secret that the cut would split", "use " + key, 10, "use [REDA…"},
		{"secret shrinks into the limit", "use " + key + "!", 30, "use [REDACTED:github-token]!"},
		{"invalid UTF-8", "a\xffb", 5, "a\uFFFDb"},
		{"limit beyond the text", "abc", 1 << 30, "abc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.Preview(tt.text, tt.max); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEveryRuleIsPlanted(t *testing.T) {
	// The beginnings of keys that their end gives away have no form of their own; a
	// Secret of Kubernetes, a pipe and what is in the line before a secret are not one
	// piece: see TestString. What is left of a mnemonic at a cut are words: see TestKindsOfForms.
	have := map[string]bool{"maxmind-key": true, "azure-devops-token": true, "mailchimp-key": true, "kubernetes-secret": true, "piped-password": true, "printed-secret": true, "encoded-password": true, "new-password": true, "mnemonic": true}
	for _, p := range plant() {
		have[p.rule] = true
	}
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, rule := range slices.Concat(keyRules(), tokenRules(), serviceRules(), prefixRules(), contextRules()) {
		if !have[rule.name] {
			t.Errorf("no planted secret for %s", rule.name)
		}
		if !name.MatchString(rule.name) {
			t.Errorf("name %q", rule.name)
		}
		if rule.read == nil && regexp.MustCompile("^(?:"+rule.pattern+")").MatchString("") {
			t.Errorf("%s matches the empty text", rule.name)
		}
	}
}

func ExampleRedactor_String() {
	fmt.Println(New(nil).String("git clone https://me:" + "q8Zt51xWm@git.example.com/repo"))
	// Output: git clone https://me:[REDACTED:url-password]@git.example.com/repo
}
