// Package secrets makes up secrets in the forms of real ones, the one list of all tests. Nothing
// in it is a secret, and every call makes the same values. Their parts are put together at run
// time, so that no secret scanner takes this package for a leak.
package secrets

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
)

// The letters of random parts.
const (
	Lower  = "abcdefghijklmnopqrstuvwxyz"
	Upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	Digit  = "0123456789"
	Alnum  = Upper + Lower + Digit
	Hex    = Digit + "abcdef"
	Word   = Alnum + "_-"
	Base64 = Alnum + "+/"
)

// Secret is a made-up secret in the form of a real one.
type Secret struct {
	// Rule is the name of the rule of internal/redact that removes it.
	Rule string
	// Before is in front of it, Lead the fixed part of the secret, Random the part that must
	// never be seen, After what follows.
	Before, Lead, Random, After string
}

// Text is the secret with what is around it.
func (s Secret) Text() string { return s.Before + s.Lead + s.Random + s.After }

// Piece is how many characters in a row of a random part count as a part of a secret: fewer
// help nobody, and texts hold them by chance.
const Piece = 8

// Random returns what draws texts of some letters. Each stretch of four has a digit in it, as
// nearly all stretches of real keys are mixed; no piece is of digits alone, which any time or
// number of an output could have.
func Random(seed uint64) func(set string, n int) string {
	rng := rand.New(rand.NewPCG(seed, 42)) //nolint:gosec // Nothing here is secret.
	return func(set string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[rng.IntN(len(set))]
			if i%4 == 1 && strings.Contains(set, Digit) {
				b[i] = Digit[rng.IntN(10)]
			}
			if letter := strings.Trim(set, Digit); i >= Piece-1 && letter != "" && strings.Trim(string(b[i-Piece+1:i+1]), Digit) == "" {
				b[i-2] = letter[0]
			}
		}
		return string(b)
	}
}

// privateKey is a PEM block, of which the end may be cut off.
func privateKey(r func(string, int) string, kind, newline string, end bool) Secret {
	var lines []string
	for range 6 {
		lines = append(lines, r(Base64, 64))
	}
	lines = append(lines, r(Base64, 30)+"==")
	s := Secret{Rule: "private-key", Lead: "-----BEGIN " + kind + "-----" + newline, Random: strings.Join(lines, newline)}
	if end {
		s.After = newline + "-----END " + kind + "-----"
	}
	return s
}

// part is a part of a JSON Web Token.
func part(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// Anywhere are secrets that are known wherever they are, at least one of each issuer's form.
func Anywhere() []Secret {
	r := Random(23)
	jwt := "ey" + part(map[string]string{"alg": "HS256", "typ": "JWT"})[2:]
	return []Secret{
		{"aws-access-key", "", "AK" + "IA", r(Upper+Digit, 16), ""},
		{"aws-access-key", "", "AS" + "IA", r(Upper+Digit, 16), ""},
		{"assigned-secret", "aws_secret_" + "access_key = ", "", r(Base64, 40), ""},
		{"assigned-secret", "AWS_SECRET_" + "ACCESS_KEY=", "", r(Base64, 40), ""},
		{"assigned-secret", "AWS_SESSION_" + "TOKEN=", "", r(Base64, 200), ""},
		{"github-token", "", "gh" + "p_", r(Alnum, 36), ""},
		{"github-token", "", "gh" + "o_", r(Alnum, 36), ""},
		{"github-token", "", "gh" + "s_", r(Alnum, 36), ""},
		{"github-pat", "", "github_" + "pat_", r(Alnum, 22) + "_" + r(Alnum, 59), ""},
		{"gitlab-token", "", "gl" + "pat-", r(Word, 20), ""},
		{"slack-token", "", "xo" + "xb-", r(Digit, 12) + "-" + r(Digit, 12) + "-" + r(Alnum, 24), ""},
		{"slack-token", "", "xo" + "xp-", r(Digit, 12) + "-" + r(Hex, 32), ""},
		{"slack-webhook", "https://hooks." + "slack.com/services/", "", "T" + r(Upper+Digit, 8) + "/B" + r(Upper+Digit, 8) + "/" + r(Alnum, 24), ""},
		{"openai-key", "", "s" + "k-", r(Alnum, 20) + "T3Bl" + "bkFJ" + r(Alnum, 20), ""},
		{"openai-key", "", "s" + "k-proj-", r(Word, 74) + "T3Bl" + "bkFJ" + r(Word, 74), ""},
		{"anthropic-key", "", "sk-" + "ant-api03-", r(Word, 93) + "AA", ""},
		{"google-api-key", "", "AI" + "za", r(Word, 35), ""},
		{"google-oauth", "", "GOC" + "SPX-", r(Word, 28), ""},
		{"google-oauth", "", "ya" + "29.", r(Word, 120), ""},
		{"stripe-key", "", "sk_" + "live_", r(Alnum, 24), ""},
		{"stripe-key", "", "rk_" + "live_", r(Alnum, 99), ""},
		{"webhook-secret", "", "wh" + "sec_", r(Alnum, 32), ""},
		{"npm-token", "", "np" + "m_", r(Alnum, 36), ""},
		{"pypi-token", "", "py" + "pi-AgE", "IcHlwaS5vcmc" + r(Word, 150), ""},
		{"huggingface-token", "", "h" + "f_", r(Alnum, 34), ""},
		{"sendgrid-key", "", "S" + "G.", r(Word, 22) + "." + r(Word, 43), ""},
		{"twilio-key", "", "S" + "K", r(Hex, 32), ""},
		{"assigned-secret", "TWILIO_AUTH_" + "TOKEN=", "", r(Hex, 32), ""},
		{"mailgun-key", "", "ke" + "y-", r(Hex, 32), ""},
		{"digitalocean-token", "", "dop_" + "v1_", r(Hex, 64), ""},
		{"azure-key", "AccountName=demo;Account" + "Key=", "", r(Base64, 86) + "==", ";EndpointSuffix=core.windows.net"},
		{"jwt", jwt + ".", "", part(map[string]string{"sub": r(Digit, 10), "name": r(Alnum, 20)}) + "." + r(Word, 43), ""},
		privateKey(r, "RSA PRIVATE "+"KEY", "\n", true),
		privateKey(r, "OPENSSH PRIVATE "+"KEY", "\n", true),
		{"url-password", "postgres://app:", "", r(Alnum, 16), "@db.internal:5432/app"},
		{"url-password", "https://deploy:", "", r(Alnum, 24), "@git.example.com/x.git"},
		{"auth-header", "Authorization: Bearer ", "", r(Alnum, 40), ""},
		{"auth-header", "Authorization: Basic ", "", r(Alnum, 28) + "==", ""},
		{"assigned-secret", "password=", "", r(Alnum, 12), ""},
		{"assigned-secret", "DEPLOY_" + "TOKEN=", "", r(Alnum, 32), ""},
		{"assigned-secret", "CLIENT_" + "SECRET='", "", r(Alnum, 32), "'"},
		{"assigned-secret", "login --password ", "", r(Alnum, 16), ""},
		{"assigned-secret", "INFINIUM_AGENT_" + "SECRET=", "", r(Word, 43), ""},
		{"assigned-secret", "client_" + "secret: ", "", r(Alnum, 40), ""},
		{"telegram-token", "12345678:", "AA", r(Word, 33), ""},
		{"discord-webhook", "https://discord" + ".com/api/webhooks/123456789012345678/", "", r(Word, 68), ""},
		{"shopify-token", "", "shp" + "at_", r(Hex, 32), ""},
		{"databricks-token", "", "da" + "pi", r(Hex, 32), ""},
		{"linear-key", "", "lin_" + "api_", r(Alnum, 40), ""},
		{"notion-token", "", "nt" + "n_", r(Alnum, 46), ""},
		{"vercel-token", "", "vc" + "p_", r(Alnum, 56), ""},
		{"cloudflare-token", "", "cf" + "ut_", r(Alnum, 48), ""},
		{"groq-key", "", "gs" + "k_", r(Alnum, 52), ""},
		{"xai-key", "", "xa" + "i-", r(Alnum, 80), ""},
		{"perplexity-key", "", "pp" + "lx-", r(Alnum, 48), ""},
		{"replicate-token", "", "r" + "8_", r(Alnum, 37), ""},
		{"nvidia-key", "", "nv" + "api-", r(Word, 64), ""},
		{"vault-token", "", "hv" + "s.", r(Word, 90), ""},
		{"docker-token", "", "dckr_" + "pat_", r(Word, 27), ""},
		{"atlassian-token", "", "ATA" + "TT3", r(Word, 180), ""},
		{"grafana-token", "", "gl" + "sa_", r(Alnum, 32) + "_" + r(Hex, 8), ""},
		{"sentry-token", "", "sn" + "trys_", r(Base64, 100), ""},
		{"langsmith-key", "", "lsv2_" + "pt_", r(Hex, 32) + "_" + r(Hex, 10), ""},
		{"supabase-token", "", "sb" + "p_", r(Hex, 40), ""},
		{"age-key", "", "AGE-SECRET-" + "KEY-1", r("023456789ACDEFGHJKLMNPQRSTUVWXYZ", 58), ""},
		{"slack-token", "", "xa" + "pp-", "1-A" + r(Upper+Digit, 10) + "-" + r(Digit, 13) + "-" + r(Hex, 64), ""},
		{"azure-signature", "https://x.blob.core.windows.net/c?sv=2024-01-01&" + "sig=", "", r(Alnum, 43) + "%3D", ""},
		{"google-refresh-token", "", "1/" + "/0", r(Word, 60), ""},
		{"curl-password", "curl -s -u admin:", "", r(Alnum, 16), " https://h.example"},
		{"1password-key", "", "A3-", r(Upper+Digit, 6) + "-" + r(Upper+Digit, 6) + "-" + r(Upper+Digit, 5) + "-" + r(Upper+Digit, 5) + "-" + r(Upper+Digit, 5) + "-" + r(Upper+Digit, 5), ""},
		{"1password-token", "", "ops_" + "eyJ", r(Base64, 250), ""},
		{"adobe-secret", "", "p8" + "e-", r(Alnum, 32), ""},
		{"airtable-token", "", "pa" + "t", r(Alnum, 14) + "." + r(Hex, 64), ""},
		{"alibaba-key", "", "LT" + "AI", r(Alnum, 20), ""},
		{"artifactory-key", "", "AK" + "Cp", r(Alnum, 69), ""},
		{"authress-key", "", "sc_", r(Alnum, 12) + "." + r(Alnum, 5) + ".acc_" + r(Alnum, 20) + "." + r(Alnum, 60), ""},
		{"aws-bedrock-key", "", "AB" + "SK", r(Base64, 120), ""},
		{"azure-ad-secret", "", "aB3" + "4Q~", r(Alnum+"_~.-", 32), ""},
		{"clickhouse-key", "", "4b" + "1d", r(Alnum, 38), ""},
		{"clojars-token", "", "CLOJ" + "ARS_", r(Alnum, 60), ""},
		{"defined-key", "", "dn" + "key-", r(Word, 26) + "-" + r(Word, 52), ""},
		{"doppler-token", "", "dp" + ".pt.", r(Alnum, 43), ""},
		{"duffel-token", "", "duffel_" + "live_", r(Word, 43), ""},
		{"dynatrace-token", "", "dt0" + "c01.", r(Alnum, 24) + "." + r(Alnum, 64), ""},
		{"easypost-key", "", "EZ" + "AK", r(Alnum, 54), ""},
		{"facebook-token", "", "EAA" + "M", r(Alnum, 120), ""},
		{"flutterwave-key", "", "FLW" + "SECK_TEST-", r(Hex, 32) + "-X", ""},
		{"fly-token", "", "fo" + "1_", r(Word, 43), ""},
		{"frameio-token", "", "fio" + "-u-", r(Word, 64), ""},
		{"gitlab-token", "", "GR13" + "48941", r(Word, 20), ""},
		{"grafana-token", "", "eyJ" + "rIjoi", r(Alnum, 90), ""},
		{"harness-key", "", "pat" + ".", r(Word, 22) + "." + r(Alnum, 24) + "." + r(Alnum, 20), ""},
		{"infracost-key", "", "ico" + "-", r(Alnum, 32), ""},
		{"intra42-secret", "", "s-s4" + "t2ud-", r(Hex, 64), ""},
		{"jwt", "", "ZXl" + "K", r(Base64, 120), ""},
		{"newrelic-key", "", "NR" + "AK-", r(Upper+Digit, 27), ""},
		{"octopus-key", "", "AP" + "I-", r(Upper+Digit, 26), ""},
		{"openshift-token", "", "sha256" + "~", r(Word, 43), ""},
		{"planetscale-token", "", "pscale_" + "tkn_", r(Word, 43), ""},
		{"postman-key", "", "PM" + "AK-", r(Hex, 24) + "-" + r(Hex, 34), ""},
		{"prefect-key", "", "pn" + "u_", r(Alnum, 36), ""},
		{"pulumi-token", "", "pu" + "l-", r(Hex, 40), ""},
		{"readme-key", "", "rd" + "me_", r(Lower+Digit, 70), ""},
		{"rubygems-key", "", "ruby" + "gems_", r(Hex, 48), ""},
		{"scalingo-token", "", "tk-" + "us-", r(Word, 48), ""},
		{"brevo-key", "", "xkey" + "sib-", r(Hex, 64) + "-" + r(Alnum, 16), ""},
		{"settlemint-token", "", "sm_" + "aat_", r(Alnum, 16), ""},
		{"shippo-token", "", "shippo_" + "live_", r(Hex, 40), ""},
		{"sourcegraph-token", "", "sg" + "p_", r(Hex, 40), ""},
		{"square-token", "", "EAA" + "A", r(Word, 60), ""},
		{"teams-webhook", "https://x.webhook." + "office.com/webhookb2/", "", r(Hex, 8) + "-" + r(Hex, 28) + "@" + r(Hex, 36) + "/IncomingWebhook/" + r(Hex, 32) + "/" + r(Hex, 36), ""},
		{"twitter-token", "", "AAAAAAAAAA" + "AAAAAAAAAAAA", r(Alnum, 90), ""},
		{"typeform-token", "", "tf" + "p_", r(Word, 59), ""},
		{"hashicorp-token", "", "Zm9vYmFyYmF6MT." + "atlasv1.", r(Word, 67), ""},
		{"yandex-key", "", "AQ" + "VN", r(Word, 36), ""},
		{"header-secret", `curl -H "X-Api-` + "Key: ", "", r(Alnum, 32), `"`},
		{"heroku-key", "", "HR" + "KU-", "AA" + r(Word, 58), ""},
	}
}

// InPlace are secrets that are known by what is around them, and further forms of issuers.
func InPlace() []Secret {
	r := Random(24)
	return []Secret{
		{"assigned-secret", `"SecretAccess` + `Key": "`, "", r(Base64, 40), `"`},
		{"github-token", "", "gh" + "u_", r(Alnum, 36), ""},
		{"github-token", "", "gh" + "r_", r(Alnum, 76), ""},
		{"openai-key", "", "s" + "k-svcacct-", r(Word, 100), ""},
		privateKey(r, "PRIVATE "+"KEY", `\n`, true),
		privateKey(r, "EC PRIVATE "+"KEY", "\n", false),
		{"bearer-token", "-H 'Proxy: Bearer ", "", r(Alnum, 40), "'"},
		{"assigned-secret", `"api_` + `key": "`, "", r(Alnum, 32), `"`},
		{"assigned-secret", `System.setProperty("DB_PASS` + `WORD", "`, "", r(Alnum, 20), `")`},
		{"assigned-secret", `{"name": "API_` + `TOKEN", "value": "`, "", r(Alnum, 24), `"}`},
		{"assigned-secret", "<api" + "Token>\n  ", "", r(Alnum, 24), "\n</api" + "Token>"},
		{"assigned-secret", "const api" + `Token: string = "`, "", r(Alnum, 24), `"`},
		{"assigned-secret", "process.env.TOK" + `EN || "`, "", r(Alnum, 24), `"`},
		{"discord-token", "", "M" + "TIz" + base64.RawStdEncoding.EncodeToString([]byte("456789012345678")), "." + r(Word, 6) + "." + r(Word, 38), ""},
		{"notion-token", "", "sec" + "ret_", r(Alnum, 43), ""},
		{"assigned-secret", "CLOUDFLARE_API_" + "TOKEN=", "", r(Word, 40), ""},
		{"aws-secret-key", "AK" + "IAIOSFODNN7EXAMPLE,", "", r(Base64, 40), ",x"},
		{"encoded-json", "", "ey" + "J", r(Base64, 220) + "==", ""},
		{"command-secret", "sshpass -p ", "", r(Alnum, 14), " ssh dev@h.example"},
		{"command-secret", "redis-cli -h cache -a ", "", r(Alnum, 24), " ping"},
		{"command-secret", "docker login -u dev -p ", "", r(Alnum, 24), " r.example.com"},
		{"cookie", "Cookie: theme=dark; sessionid=", "", r(Alnum, 32), "; lang=en"},
		{"cookie", "Set-Cookie: auth_token=", "", r(Alnum, 32), "; Path=/"},
		{"auth-header", "Authorization: ", "", r(Alnum, 32), ""},
		{"netrc-password", "machine h.example login deploy password ", "", r(Alnum, 20), ""},
		{"parameter-value", `"Type": "Secure` + `String", "Value": "`, "", r(Alnum, 24), `"`},
		{"sql-password", "CREATE USER app IDENTI" + "FIED BY '", "", r(Alnum, 16), "'"},
		{"call-password", "req.SetBasicAuth(\"dev\", \"", "", r(Alnum, 16), "\")"},
		{"secure-string", "ConvertTo-Secure" + "String \"", "", r(Alnum, 16), "\" -AsPlainText"},
		{"oracle-password", "jdbc:oracle:thin:app/", "", r(Alnum, 16), "@//db:1521/ORCL"},
		{"shadow-hash", "root:$6$", "", r(Alnum, 16) + "$" + r(Alnum, 86), ":19000:0:99999:7:::"},
		{"pgpass-password", "db.internal:5432:app:app_user:", "", r(Alnum, 20), ""},
		{"query-code", "https://h.example/cb?co" + "de=", "", r(Alnum, 32), "&state=1"},
		{"bind-password", "bind" + "pw ", "", r(Alnum, 20), ""},
		{"plist-secret", "<key>Auth" + "Token</key><string>", "", r(Alnum, 32), "</string>"},
		{"sasl-password", "[smtp.example.com]:587 dev@example.com:", "", r(Alnum, 18), ""},
		{"composer-token", `{"gitlab-oauth": {"gitlab.com": "`, "", r(Hex, 40), `"}}`},
		{"jwk-secret", `{"kty":"oct","k":"`, "", r(Word, 43), `"}`},
		{"url-password", `https:\/\/deploy:`, "", r(Alnum, 20), `@git.example.com`},
		{"url-password", "https://", "", r(Alnum, 40), "@github.com/a/b"},
		{"url-token", "https://h.example/hooks/catch/", "", r(Alnum, 32), "/"},
		{"smtp-password", "AUTH PLAIN ", "", r(Alnum, 28), ""},
		{"imap-password", "a1 LOGIN dev@example.com ", "", r(Alnum, 20), ""},
		{"oauth-parameter", "code_veri" + "fier=", "", r(Word, 43), ""},
		{"totp-secret", "otpauth://totp/x?secret=", "", r("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 32), "&issuer=x"},
		{"login-pair", "Decoded: dev:", "", r(Alnum, 20), ""},
		{"cas-ticket", "TGT-12-", "", r(Alnum, 40), ""},
		{"password-hash", "$2b$12$", "", r(Alnum, 53), ""},
		{"masked-value", "::add-mask::", "", r(Alnum, 32), ""},
		{"openvpn-key", "-----BEGIN OpenVPN Static key V1-----\n", "", r(Hex, 32) + "\n" + r(Hex, 32), "\n-----END OpenVPN Static key V1-----"},
		{"jwt-secret", "jwt.sign(payload, '", "", r(Alnum, 32), "')"},
		{"session-token", "session: ", "", r(Alnum, 48), ""},
		{"network-secret", "snmp-server community ", "", r(Alnum, 16), " RO"},
		{"configcat-key", "configcat-sdk-1/", "", r(Word, 22) + "/" + r(Word, 22), ""},
		{"fernet-key", `Fernet(b"`, "", r(Word, 43) + "=", `")`},
		{"rsa-key", "<D>", "", r(Alnum, 64), "</D>"},
		{"zapier-webhook", "https://hooks.zapier.com/hooks/catch/", "", "1234567/" + r(Alnum, 8), "/"},
		{"irc-password", "OPER bob ", "", r(Alnum, 20), ""},
		{"form-password", "form-data; name=\"password\"\r\n\r\n", "", r(Alnum, 20), "\r\n"},
		{"wifi-password", "WIFI:T:WPA;S:x;P:", "", r(Alnum, 20), ";;"},
		{"basic-credentials", `["Basic `, "", r(Alnum, 28), `"]`},
		{"recovery-code", "Backup codes: ", "", r(Digit, 10), " "},
		{"docker-config", ".dockerconfigjson: ", "", r(Alnum, 40), ""},
		{"erlang-cookie", "erlang.cookie = ", "", r(Alnum, 24), ""},
		{"swarm-key", "/base16/\n", "", r(Hex, 64), ""},
		{"secret-key", "encrypted secret key\n", "", r(Alnum, 100), ""},
		{"tls-crypt-key", "tls-crypt key ", "", r(Hex, 128), ""},
		{"tls-crypt-key", "OpenVPN tls-crypt-v2 client key-----\n", "", r(Alnum, 64), "\n-----END"},
		{"url-signature", "https://b.example/k?Signature=", "", r(Alnum, 40), ""},
		{"key-vault-secret", `"https://v.example/secrets/db/1","value":"`, "", r(Alnum, 20), `"`},
		{"acl-password", "ACL SETUSER app on >", "", r(Alnum, 24), " ~*"},
	}
}
