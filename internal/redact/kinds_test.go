package redact

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/secrets"
)

// TestKindsOfForms tries forms of each kind with values that are drawn: {r} is random, {w} letters
// and digits as a generator draws ten of them, {p} what a person chooses, {q} that or with
// a sign first or as words without signs, {d}
// the same with a full stop, {m} words of a wallet, {s} a line
// of base64, {n} numbers.
func TestKindsOfForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	draw := func(set string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(set[rng.IntN(len(set))])
		}
		return b.String()
	}
	value := func(place byte) string {
		switch place {
		case 'r':
			return "k7" + draw(secrets.Alnum, 26) + "Q4x"
		case 'w':
			return "k7" + draw(secrets.Alnum, 8)
		case 'h':
			return draw(secrets.Hex, 16) + "a7b1" + draw(secrets.Hex, 12)
		case 's':
			return "Ab3/" + draw(secrets.Alnum+"+/", 60)
		case 'n':
			return "1, 22, 33, 4, 55, 6, 77, 8, 9, 10, 11, 12, 131, 140, 215, 16"
		case 'd':
			return []string{"river.stone_4711", "river_stone.4711", "river-stone_472"}[rng.IntN(3)]
		case 'm':
			words := strings.Fields(mnemonicList)
			out := []string{words[rng.IntN(mnemonicProbes)]}
			for range 11 {
				out = append(out, words[rng.IntN(len(words))])
			}
			return strings.Join(out, " ")
		}
		chosen := []string{"Granite2024!", "maple-otter-42", "Blue.Kite.42", "!Granite2024", "dragonsummeroffice"}
		if place == 'q' {
			return chosen[rng.IntN(5)]
		}
		return chosen[rng.IntN(3)]
	}
	for kind, forms := range map[string][]string{
		"declarations": {
			`const API_KEY: &str = "{r}";`, `static KEY_SECRET: &[u8] = b"{r}";`, `pub const api_token: [:0]const u8 = "{r}";`, `api_key: str | None = "{r}"`, `public string Password { get; set; } = "{p}";`,
			`local api_key <const> = "{r}"`, `v_password VARCHAR2(30) := '{p}';`, `my $password = q({p});`, `SET PASSWORD FOR 'app'@'%' = '{p}';`, "[\"password\"]=>\n  string(12) \"{p}\"",
			"const token =\n    \"{r}\";", "api_key = \\\n    \"{r}\"", `token = "{r}" + "{r}"`, "SECRET = (\"{r}\"\n          \"{r}\")", `API_KEYS = ["{r}", "{r}", "{r}"]`, "secrets:\n  - {r}\n  - {r}", `password <<- "{p}"`,
		},
		"certain syntax": {
			`tool --db-password={p} --host x`, `ALTER USER app WITH PASSWORD '{p}';`, `java -Ddb.password={p} -jar x`, `TF_VAR_password={p} terraform plan`,
			`PGPASSWORD={d} psql`, `tool --password={d} x`, `java -Djavax.net.ssl.keyStorePassword={d} -jar x`, "[Account]\nPassword={d}\n", `<password>{d}</password>`, `DefaultPassword    REG_SZ    {d}`, `la contraseña es {d}`,
			`BORG_PASSPHRASE='correct-horse-battery-staple{p}'`, "OPER bob {p}", `enable secret 0 {p}`, `WIFI:T:WPA;S:x;P:{p};;`, `SELECT pgp_sym_decrypt(x, '{p}')`,
		},
		"tables": {
			`{"columns":["user","password"],"data":[["bob","{p}"]]}`, `{"user":{"0":"bob"},"password":{"0":"{p}"}}`, `INSERT INTO users (name, password) VALUES ('bob', '{p}')`, "usuario,contraseña\nbob,{p}\n", "用户,密码\nbob,{p}\n",
			"│ user ┆ password │\n│ bob  ┆ {p} │\n", "user & password \\\\\nbob & {p} \\\\\n", " user | uid | pass\n bob | 7 | {p}\n", "User name,Password,Access key ID,Secret access key\nbob,{p},x,{r}\n",
		},
		"kinds of tables": {
			"||User||Password||\n|bob|{p}|", "{| class=\"wikitable\"\n! User !! Password\n|-\n| bob || {p}\n|}", "┃ User ┃ Password ┃\n┡━━━━━━╇━━━━━━━━━━┩\n│ bob  │ {p} │", "  user password\n0  bob {p}\n", " Row │ user    password\n─────┼─────────────────\n   1 │ bob     {p}",
			"<table><tr><th>User</th><th>Password</th></tr><tr><td>bob</td><td>{p}</td></tr></table>", "<tr><td>Password:</td><td>{p}</td></tr>", "<li><b>Password:</b> {p}</li>", "host:port:user:password\n10.0.0.4:22:root:{p}", "|===\n|User |Password\n\n|bob\n|{p}\n|===",
		},
		"calls and typed texts": {
			`crypto.createHmac('sha256', '{r}')`, `EXEC sp_addlogin 'bob', '{p}'`, `SELECT * FROM mysql('h:3306', 'd', 't', 'bob', '{p}')`, `page.getByRole('textbox', { name: 'Password' }).fill('{p}')`, `I type "{p}" into the password field`,
		},
		"keys": {
			`mlsn.{h}{h}`, `"priv":"{h}{h}"`, `nsupdate -y hmac-sha256:k:{r}`, `wandb key {h}`,
		},
		"structures": {
			`{"name":"session","value":"{r}","path":"/"}`, `{"name":"connect.sid","httpOnly":true,"value":"{r}"}`, `{"name":"Password","type":"textbox","value":"{p}"}`, `{"element":"Password input","ref":"e1","text":"{p}"}`,
			`{"selector":"input[name=password]","text":"{p}"}`, `{"label":"password","value":"{p}"}`, "Name      Password\n========  ============\napp       {p}", "   id  user         api_key\n0   1   app  {r}", "PC       Password     Expires\n-------- ------------ -------\nPC01     {p}",
			" api_key\n-----------------\n {r}\n(1 row)", `userPassword:: {r}`,
		},
		"answers": {
			"bw get password github\n{q}", "op read op://vault/db/password\n{q}", "$ pass show servers/nas\n{q}\nuser: admin", "kubectl get secret db -o jsonpath='{.data.password}' | base64 -d\n{q}", "jq -r .password creds.json\n{q}",
			"aws ssm get-parameter --name /prod/db/password --query Parameter.Value --output text\n{q}", "gcloud secrets versions access latest --secret=db\n{q}", "vault kv get -field=password secret/db\n{q}", "echo $DB_PASSWORD\n{q}",
			"openssl rand -base64 32\n{r}", "pwgen -s 20 1\n{w}", "wg genkey\n{r}=", "cat /run/secrets/db_password\n{q}", ">>> settings.SECRET_KEY\n'{r}'", "In [3]: os.environ['API_KEY']\nOut[3]: '{r}'", "> process.env.JWT_SECRET\n'{r}'",
			"127.0.0.1:6379> GET session:8842:token\n\"{r}\"", "localStorage.getItem('refreshToken')\n< \"{r}\"",
		},
		"certain places": {
			`"SecretString": "{q}"`, `<keyMaterial>{q}</keyMaterial>`, `ldapsearch -D cn=reader -w '{q}' -b dc=x`, `signtool.exe sign /f code.pfx /p "{q}" setup.exe`, `cryptsetup luksOpen /dev/sdb1 data <<< "{q}"`, "utilisateur;mot_de_passe\nclaire;{q}",
			`ATTACH DATABASE 'enc.db' AS enc KEY '{q}';`, "ALTER USER system IDENTIFIED BY {p} REPLACE {p};", `psql "host=db user=app password=cLVg*p*ONyK*D dbname=app"`, `{"columns":["user","password"],"rows":[["anna","{q}"],["ben","{q}"]]}`, `df = pd.DataFrame([["root", "{q}"]], columns=["user", "password"])`,
			`rocommunity {p} 10.0.0.0/8`, `vpnuser : EAP "{q}"`, `a0="curl" a1="-u" a2="admin:{p}"`, `["curl", "-u", "bob:{p}"]`, "Zugangsdaten\n  Benutzer ..... admin\n  Passwort ..... {p}", `vault kv put secret/payments webhook={r}`, `steamcmd +login buildbot {p} +quit`,
			`gomail.NewDialer("smtp.example.com", 587, "a@example.com", "{q}")`, `hmac.new(b"{r}", msg=x)`, `erlang:set_cookie(node(), '{r}').`, `let key = hex!("{h}{h}");`, `btoa("bob:{p}")`, `PDO->__construct('mysql:host=127.0...', 'forge', '{q}', Array)`, `cy.get('input[type=password]').type('{p}{enter}')`,
			`const MASTER_KEY: [u8; 16] = [{n}];`, `static const uint8_t aes_key[16] = { {n} };`, "secp256k1 private: 0x{h}{h}", "keybase paperkey: {m}", "{s}\n{s}\n-----END OPENSSH PRIVATE KEY-----",
			"frase de recuperação: abaular abdominal abelha abismo abono abraçar acabar acalmar acanhar acetona achado acionar", "le mot de passe de la base de prod est welcome05111980", "přihlas se s heslem {p}", "cambia la pass del router a {p} por favor", "parola bazei de date este {p}",
		},
		"formats": {`{m}`, `seed phrase is {m}`, `12|{r}abcdefghi`, `nyk_v0_{r}k`, `acme_live_{r}9`},
		"prompts": {
			`my key for the weather API: {h}`, `here is my api key {h}`, `openai key {r}`, `the password is {p}`, `admin / {p}`, `please use {r} as the password`, `change the password from {p} to {p}`, `creds are app:{p}`,
			`setze das DB-Passwort auf {p}`, `gebruik {p} als wachtwoord`, `le mdp de la base est {p}`, `La nueva contraseña será {p}`, `смени пароль на {p}`, `my account bob / {p}`, `it asks for a password, enter {p}`, `密码是{p}`, `用户admin，密码{r}`, `パスワードは{p}です`, `비밀번호는 {p} 입니다`, `мой пароль от базы {r}`, `Zugangsdaten: admin / {p}`, `le mot de passe est {p}`, `ma clé API {r}`, `minha chave de API {r}`, `hasło to {p}`, `API anahtarım {r}`, `mật khẩu là {p}`, `รหัสผ่านคือ {p}`,
		},
	} {
		for _, form := range forms {
			text, secrets := "", []string{}
			for rest := form; rest != ""; {
				head, tail, found := strings.Cut(rest, "{")
				text += head
				if !found {
					break
				}
				if len(tail) < 2 || tail[1] != '}' {
					text, rest = text+"{", tail
					continue
				}
				secrets = append(secrets, value(tail[0]))
				text, rest = text+secrets[len(secrets)-1], tail[2:]
			}
			got := New(nil).String(text)
			for _, secret := range secrets {
				if strings.Contains(got, secret) {
					t.Errorf("%s: %q stayed in %q", kind, secret, got)
				}
			}
		}
	}
}

func TestNamesThatOnlySoundSecretAreLeftAlone(t *testing.T) {
	for _, text := range []string{
		`10.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "POST /login HTTP/1.1" 200 12 "https://example.com/password" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"`,
		"BuildId: 1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d", "token_id=6f1c2b0e-8d5e-4f7a-9c3b-2a1d0e9f8b7c", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
		"about above absent absorb abstract absurd abuse access accident account accuse achieve acid", // a list in order
		"@field_validator(\"password\")\n    @classmethod\n    def strong(cls, v: str) -> str:", "NAME          DIGEST            CREATED AT\nDB_PASSWORD   653c578421738d72  2h ago", `"token_last_eight":"x7Kq29Lm"`, "proxy_pass http://backend:8080;",
		"ipfs://QmxbDxN9m2Z1rMW9eDmxDQYAAa52Aff6Kftxs3FuG5qLFd", "CREATE USER app IDENTIFIED BY :password", "//# sourceMappingURL=data:application/json;charset=utf-8;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbIi4uLy4uL2xpYi9oYW5kbGViYXJzL2xvZ2dlci5qcyJd",
		"#define gcm_camellia128_set_key nettle_gcm_camellia128_set_key\n#define gcm_camellia256_set_key nettle_gcm_camellia256_set_key\n", "cat secret.yaml\nkind:", "echo \"password changed\"\nrestart_service_2", "bw get password x\nundefined", "op read op://vault/db/password\n[ERROR] 2026/01/03 not found",
		`{"name":"session","value":"12 minutes"}`, `{"name":"session_id","value":"6f1c2b0e-8d5e-4f7a-9c3b-2a1d0e9f8b7c"}`, `{"name":"Password","type":"textbox","value":""}`,
		"toolu_01A09q90qw90lq917835lq9xK3mZ7tYvB2n", "chatcmpl-9aXJq7Kz3mR8tYvB2nLw5cPd6eHf1gU0", "Passwords are hashed with bcrypt-12, tokens with SHA-256.",
		"Signature: sig1=:gHim9e5Pk2H7c9BStOmxSmkyc8+ioZgoxynu3d4INAT4dwfj5LhvaV9DFnEQ9p7C0hzW4o4Qpkm5aApd6WLLCw==:", "SSH key fingerprint: SHA256:pGkXZW8l43cqFaM8yV0aYbW1E6dK0pN4h2h1jv9xQ2s", "{.users[?(@.name==\"e2e\")].user.password}",
		"Der Schlüssel im Cache ist 0123456789abcdef0123456789abcdef.", "De cachesleutel is 0123456789abcdef0123456789abcdef.", "La clé du cache est 0123456789abcdef0123456789abcdef.", "キャッシュのキーは0123456789abcdef0123456789abcdefです。",
		`curl -u admin:"$PASS1" https://h.example`, `curl -u "$USER":"$PASS1" https://h.example`, "curl -u admin:`cat pw1` https://h.example", `curl -sSu "$A:$B1" https://h.example`, `curl -XDELETE http://localhost:9200/idx1`, `curl -sSfLO https://h.example:8443/a1`,
		`tool login <user> <password> --data-urlencode "q=x"`, `mysql -uroot -p<password> --default-character-set=utf8 db`, `{"command":"docker login -p $PASS \u0026\u0026 docker push x"}`, `{"command":"echo $PASSWORD \u003e\u003e out"}`,
		`{"command":"docker login -u u -p \u003cDOCKER_TOKEN_2\u003e h"}`, `{"command":"export TOKEN=\u003cDOCKER_TOKEN_2\u003e"}`, `{"command":"curl -u user:\u003cpassword1\u003e h"}`,
		`xfreerdp /u:x /p:"$PASS1" /v:h`, `cmdkey /add:h /user:x /pass:"%PASS1%"`, "docker login -u AWS -p `aws ecr get-login-password --region us-east-1` h", "docker login -u AWS -p \"`aws ecr get-login-password --region us-east-1`\" h",
		`--password=PASSWORD`, `--password=<password>`, `--password=$DB_PASS`, `--password string   the password`, "the password is utf8-encoded", "Passwort vergessen? Klicken Sie hier", "密码长度为8到16个字符", "パスワードは8文字以上です",
		"\tpw           *io.PipeWriter\n}\n\nfunc (r *response) finish() {\n\tif !r.wrote {", "// result: (Equal (CMPW (SignExt16to32 x) (ZeroExt16to32 y)))", `identified by "title" is overwritten`,
		"password = config.get_value", "if user.password == other.password_2", "func TokenReviews() v1beta1.TokenReviewInterface {", `func login(user, password) { run('bob', 'step-1234') }`, "authentication: python3.11",
		"9ad83f03a in password when private value\nb051d63a5 fix the login", "861176 Nov 20 21:16 password-header-password-login-header-has-when-76.tsx\n-rw-r--r--  1 dev  staff  3411842 Nov 20 21:17 x.go\n",
	} {
		if got := New(nil).Tail(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
