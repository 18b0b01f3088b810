package secretforms

// ordinaryKinds follow real output and real files in which names tell of
// secrets, or values look like them, and nothing is one.
var ordinaryKinds = []Kind{
	{"key algorithms", []string{
		"SigningKeyAlgorithm: ECDSA_P256_SHA256", "\"SigningAlgorithm\": \"RSASSA_PSS_SHA_256\"", "signing_key = ECDSA_P256_SHA256", "\"KeySpec\": \"ECC_NIST_P256\"",
		"token_signing_alg: RS256", "ssl_ciphers: ECDHE-RSA-AES256-GCM-SHA384", "private_key_type = \"ECDSA_P256\"", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
		"\"keyAlgorithm\": \"EC_prime256v1\"", "PasswordEncryption: SCRAM-SHA-256", "password_encryption = scram-sha-256", "auth: md5-hmac-sha1-96",
		"encryption_key_type: AES256_GCM96", "KEY_ALG=ed25519", "access_key_format: AWS4-HMAC-SHA256",
	}},
	{"ARNs and resource ids", []string{
		"arn:aws:secretsmanager:eu-west-1:123456789012:secret:app/db-AbCd<m>", "secretArn: arn:aws:secretsmanager:us-east-1:123456789012:secret:<word>-x7Yq<m>",
		"\"valueFrom\": \"arn:aws:ssm:eu-west-1:123456789012:parameter/<word>/db_password\"", "DB_SECRET_ARN=arn:aws:secretsmanager:eu-west-1:123456789012:secret:<word>-Ab12Cd",
		"kms_key_id = \"arn:aws:kms:eu-west-1:123456789012:key/<uuid>\"", "\"KeyId\": \"<uuid>\"", "\"VersionId\": \"<uuid>\"",
		"secret_id = \"projects/<word>/secrets/db-password/versions/3\"", "/subscriptions/<uuid>/resourceGroups/rg/providers/Microsoft.KeyVault/vaults/kv<m>",
		"keyVaultSecretId: https://kv.vault.azure.net/secrets/<word>/<md5>", "\"SecretId\": \"app/<word>/credentials\"", "master_user_secret_kms_key_id = <uuid>",
	}},
	{"references in Kubernetes and compose", []string{
		"secretName: my-tls", "secretName: <word>-tls-v2", "secretKeyRef:\n  name: db-credentials\n  key: password", "imagePullSecrets:\n- name: regcred-<word>",
		"volumes:\n- name: token\n  secret:\n    secretName: <word>-token-x2k9p", "serviceAccountToken:\n  path: token\n  expirationSeconds: 3607",
		"secrets:\n  - db_password\n  - <word>_api_key2", "POSTGRES_PASSWORD_FILE: /run/secrets/db_password", "envFrom:\n- secretRef:\n    name: <word>-secrets-v<m>",
		"automountServiceAccountToken: false", "passwordSecretRef:\n  name: <word>-admin-2\n  key: admin-password", "    key: api-token-<m>\n    name: <word>",
		"NAME                  TYPE     DATA   AGE\n<word>-token-8x7kq   Opaque   3      12d", "Mounts:\n  /var/run/secrets/kubernetes.io/serviceaccount from kube-api-access-x2k9p (ro)",
		"kind: ConfigMap\ndata:\n  LOG_LEVEL: debug\n  max_tokens: \"4096\"",
	}},
	{"references in settings", []string{
		"password: ${{ secrets.DB_PASSWORD }}", "token: ${{ secrets.GITHUB_TOKEN }}", "PASSWORD=$DB_PASSWORD", "PASSWORD=\"${DB_PASSWORD:?not set}\"", "api_key: ${API_KEY}",
		"password: {{ vault_db_password }}", "password = var.db_password", "password: !Ref DBPassword", "password: !vault |", "token = data.vault_generic_secret.app.data[\"token\"]",
		"password: {{resolve:secretsmanager:MyRDSSecret:SecretString:password}}", "export TOKEN=$(vault print token)", "GITHUB_TOKEN=`gh auth token`", "PASSWORD=%DB_PASSWORD%",
		"api_key: !secret openweather_api_key", "password = \"@Microsoft.KeyVault(SecretUri=https://kv.vault.azure.net/secrets/x)\"", "api_key: env:OPENAI_API_KEY", "password: file:/run/secrets/pw2",
		"- PASSWORD=${DB_PASSWORD}", "value: $(DB_PASSWORD)", "password: \"#{ENV['DB_PASSWORD']}\"", "password: <%= ENV[\"DB_PASSWORD\"] %>", "token: op://vault/item/token", "db_password = module.db.password",
	}},
	{"masked values", []string{
		"password: ********", "password=****", "token: ***", "AWS Secret Access Key [****************ABCD]: ", "PASSWORD=<redacted>", "\"password\": \"[FILTERED]\"", "secret: (sensitive value)", "password = (sensitive value)",
		"api_key: xxxxxxxxxxxxxxxx", "API_KEY=your-api-key-here", "TOKEN=<your token>", "password: changeme", "password: CHANGE_ME", "password: \"\"", "password: null", "\"token\": null",
		"Authorization: Bearer ***", "Authorization: [REDACTED]", "Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", "Cookie: [removed]", "DB_PASSWORD=", "DB_PASSWORD=''", "secret_key: TODO",
		"  + password = (known after apply)", "password: {{ password }}", "api_key=REPLACE_ME", "SECRET_KEY=insert-your-secret-here", "password: <PASSWORD>", "\"apiKey\": \"YOUR_API_KEY\"", "token: dummy", "password = ...",
	}},
	{"types in program text", []string{
		"password: string", "password: string;", "token?: string | null", "password: str = None", "token: Optional[str] = None", "secret: SecretStr", "api_key: Annotated[str, Field(min_length=8)]", "private String password;",
		"password String `json:\"password\"`", "Token    *oauth2.Token", "pub token: Option<String>,", "var apiKey: String?", "accessToken: AccessToken2", "password: PasswordField(label=\"Password\", validators=[x])",
		"password VARCHAR(255) NOT NULL", "token text NOT NULL DEFAULT ''", "\"password\": {\"type\": \"string\", \"minLength\": 12}", "type TokenKind int32", "secretKey: Uint8Array,", "func (t *Token) Key() [32]byte {",
		"password: z.string().min(8).max(128),", "token: PropTypes.string.isRequired,", "key: Buffer,", "password = models.CharField(max_length=128)", "passwd char(41) COLLATE utf8_bin", "`api_key` varchar(64) DEFAULT NULL,",
	}},
	{"calls in program text", []string{
		"token := os.Getenv(\"X\")", "password = getpass.getpass()", "const token = await getToken(user2);", "token = jwt.encode(payload, key1)", "secret := base64.StdEncoding.EncodeToString(buf[:32])", "apiKey = config.get('api_key')",
		"password := r.FormValue(\"password\")", "String token = request.getHeader(\"X-Auth-Token\");", "key = hashlib.pbkdf2_hmac('sha256', pw, salt, 100000)", "password = faker.internet.password2()", "token = secrets.token_urlsafe(32)",
		"let secret = thread_rng().gen::<[u8; 32]>();", "privateKey, err := rsa.GenerateKey(rand.Reader, 2048)", "api_key=os.environ[\"OPENAI_API_KEY\"],", "token: this.auth.token2,", "password: hash(password1),", "secret = self._load_secret_v2(name)",
		"access_key = boto3.Session().get_credentials().access_key", "passphrase := string(bytes.TrimSpace(raw))", "accessToken: session?.accessToken ?? '',", "credentials = service_account.Credentials.from_service_account_file(path)",
		"token = token.strip().split(' ')[1]", "if password != confirm_password2:", "return token == expectedToken1", "password = sha256Hex(password)", "auth.signIn({ password: passwordInput2.value })", "signingKey := keys[len(keys)-1].Key",
		"apiKey := strings.TrimPrefix(h, \"Bearer \")", "set_password(user, new_password1)", "password=user.password,", "token=token1, secret=secret1", "key = crypto.randomBytes(32).toString('hex')",
	}},
	{"names and enumerations", []string{
		"case TokenIdentifier2:", "TOKEN_TYPE_ACCESS = 1", "AuthMethod: PASSWORD_OR_KEY", "grant_type=password", "token_type: bearer", "tokenType=Bearer", "\"type\": \"password\"", "passwordPolicy: STRONG_V2", "auth_mode: api_key_v2", "credentialType: SERVICE_ACCOUNT_KEY_V1",
		"token_use: access", "secret_backend: vault_kv2", "password_hasher: argon2id", "token_endpoint_auth_method: client_secret_basic", "api_key_source: HEADER", "ApiKeySourceType: AUTHORIZER", "CredentialSource=EcsContainer",
		"accessKeyStatus: Inactive", "auth_provider: oauth2-proxy", "private_key_format: pkcs8", "key: value", "key=value", "KEY=value", "cache-key: node-modules-v<m>", "key: ${{ runner.os }}-go-<sha256>", "primary_key: user_id", "partition_key = account_id2",
		"foreign_key: user_uuid", "sort_key=created_at", "key: backspace", "i18n_key: login.password.title", "PRIMARY KEY (id)", "translationKey: errors.token.expired2",
	}},
	{"counts and limits", []string{
		"token_count: 1234", "max_tokens: 4096", "\"max_tokens\": <n>,", "input_tokens=<n> output_tokens=<n>", "\"prompt_tokens\": <n>, \"completion_tokens\": <n>, \"total_tokens\": <n>", "password_min_length: 12", "token_ttl: 86400", "token_expires_in=3600",
		"secret_rotation_days = 90", "access_token_lifetime: 900000", "PASSWORD_MAX_AGE=7776000", "key_length: 4096", "maxTokens=128000", "tokens/s: 123.45", "api_key_rate_limit=10000", "TOKEN_BUDGET=200000", "\"cache_read_input_tokens\": 123456",
		"credential_process_timeout=30000", "passwordResetTokenTTL: 3600000", "token_bucket_size: 20000000",
	}},
	{"paths and addresses", []string{
		"PASSWORD_FILE=/run/secrets/db_password", "key_file: /etc/ssl/private/server2.key", "private_key = ~/.ssh/id_ed25519", "ssl_certificate_key /etc/nginx/ssl/h.example.key;", "TOKEN_URL=https://login.example.com/oauth2/v2.0/token", "credentials_file = ./creds/service-account-2.json",
		"GOOGLE_APPLICATION_CREDENTIALS=/home/dev/.config/gcloud/key-2.json", "token_path: ${HOME}/.vault-token", "aws_credentials: ~/.aws/credentials", "https://github.com/<word>/<word2>/blob/main/password_reset2.go", "ssh://git@github.com:22/a/b.git", "git@github.com:<word>/<word2>.git",
		"http://localhost:8080/login?next=/account", "https://registry.npmjs.org/@babel/core/-/core-7.1.0.tgz", "postgres://user:password@localhost/db", "postgres://localhost:5432/app", "redis://cache:6379/0", "http://127.0.0.1:3000/@vite/client",
		"https://h.example:8443/a@b/c", "mongodb://mongo1:27017,mongo2:27017/?replicaSet=rs0", "jdbc:postgresql://db:5432/app", "file:///home/dev/project/key.pem", "https://user@h.example/a.git", "mailto:dev@example.com", "https://medium.com/@dev2024/secret-management-101",
		"api_key_path: config/keys/api_key_v2.json", "secretsDir: ./secrets/prod-eu-1", "apiTokenUrl: /api/v1/auth/token/refresh", "identity_file=C:\\\\Users\\\\dev\\\\.ssh\\\\id_rsa2", "sftp://files.example.com:22/pub", "amqp://guest:guest@localhost:5672/",
	}},
	{"checksums and identifiers", []string{
		"sha256:<sha256>", "<sha256>  dist/app.tar.gz", "\"integrity\": \"sha512-<sha512>\"", "commit <sha>", "h1:<b64-43>=", "Etag: \"<md5>\"", "\"etag\": \"W/\\\"<md5>\\\"\"", "X-Request-Id: <uuid>", "trace_id=<md5> span_id=<sha7>", "\"session_id\": \"<uuid>\"", "request_id: req_<md5>",
		"SHA256:<b64-43> dev@example.org (ED25519)", "fingerprint: <sha>", "Key fingerprint = 1234 5678 9ABC DEF0 1234  5678 9ABC DEF0 1234 5678", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI<b64-43> dev@example.org", "gpg: using RSA key <sha>", "key id: <uuid>", "kid: <md5>", "\"kid\": \"<sha>\"",
		"image: registry.example.org/app@sha256:<sha256>", "cacheKey: <word>-<sha256>", "Merge: <sha7> <sha7>", "index <sha7>..<sha7> 100644", "public_key: <b64-43>=", "PublicKey = <b64-43>=", "checksum: <sha256>", "\"digest\": \"<sha256>\"", "md5=<md5>", "\"AccessKeyId\": \"***\"", "x-amz-id-2: <b64-68>", "CF-RAY: <sha7>abc-FRA",
		"go.opentelemetry.io/otel v1.38.0 h1:<b64-43>=", "resolved \"https://registry.yarnpkg.com/<word>/-/<word>-1.2.3.tgz#<sha>\"", "  checksum: 10c0/<sha256><sha256>", "thumbprint: <sha>", "certificate serial: <md5>",
	}},
	{"public keys and certificates", []string{
		"-----BEGIN CERTIFICATE-----\nMIID<b64-43>ABCDEFGHIJKLMNOPq\n<b64-68>\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\nMFkw<b64-43>\n<b64-43>==\n-----END PUBLIC KEY-----", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC<b64-68><b64-68> dev@example.org",
		"the file must begin with -----BEGIN PRIVATE KEY-----", "if !strings.Contains(s, \"BEGIN RSA PRIVATE KEY\") { return ErrNoPrivateKeyFoundInInput1 }", "// ParsePKCS8PrivateKey parses an unencrypted private key in PKCS #8, ASN.1 DER form.\nfunc ParsePKCS8PrivateKey(der []byte) (key any, err error) {",
		"grep -r 'PRIVATE KEY' .\n./docs/README.md:12:Look for BEGIN PRIVATE KEY in your repository", "openssl: unable to load Private Key\n140735:error:0909006C:PEM routines:get_name:no start line", "case \"RSA PRIVATE KEY\":\n\treturn x509.ParsePKCS1PrivateKey(block.Bytes)", "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSU<b64-68>",
		"client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSU<b64-68>", "minisign public key RWQ<b64-43>", "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
	}},
	{"git", []string{
		"commit <sha>\nAuthor: A. Developer <dev@example.org>\nDate:   Fri Nov 20 21:16:57 2026 +0000\n\n    Fix the token check when the password is empty", "<sha7> Add password reset token (#<n>)", "diff --git a/<path> b/<path>\nindex <sha7>..<sha7> 100644\n--- a/<path>\n+++ b/<path>\n@@ -<m>,7 +<m>,9 @@ func login(token string) error {\n-\tpassword := readPassword()\n+\tpassword, err := readPassword(ctx)",
		" create mode 100644 internal/auth/token_test.go\n rename {secret => secrets}/key_<m>.go (98%)", "origin\tgit@github.com:<word>/<word2>.git (fetch)", "origin\thttps://github.com/<word>/<word2>.git (push)", "On branch feature/JIRA-<n>-rotate-api-keys\nYour branch is up to date with 'origin/feature/JIRA-<n>-rotate-api-keys'.",
		"remote: Resolving deltas: 100% (<m>/<m>), completed with 3 local objects.\nTo github.com:<word>/<word2>.git\n   <sha7>..<sha7>  main -> main", "^<sha7> (A. Developer 2026-11-22 16:50:39 +0000  1) func (p *Password) Check() bool {", "stash@{0}: WIP on main: <sha7> token refresh", "Signed-off-by: A. Developer <dev@example.org>", "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ<b64-43>\n -----END PGP SIGNATURE-----",
		"user.signingkey=<sha>", "user.signingkey=ABCDEF0123456789", "remote.origin.url=https://github.com/<word>/<word2>.git", "credential.helper=osxkeychain", "tree <sha>\nparent <sha>",
	}},
	{"compilers and tests", []string{
		"<path>:<m>:12: undefined: accessToken2", "<path>:<m>:5: cannot use password (variable of type string) as []byte value in argument", "error TS2322: Type 'string | undefined' is not assignable to type 'Token'.", "SyntaxError: Unexpected token '<' in JSON at position <n>", "SyntaxError: Unexpected token: identifier2",
		"=== RUN   TestPassword/too_short_<sha7>\n--- FAIL: TestPassword/too_short_<sha7> (0.01s)", "ok  \texample.org/m/internal/token\t0.<m>s", "FAIL src/auth/token.test.ts > refreshes the access token 2 times", "warning: unused variable: `secret_key1`", "E   AssertionError: assert 'token' == 'secret'",
		"expected token at position <n>: got identifier", "note: expected `&str`, found `SecretString`", "src/auth.rs:<m>:9 token: expected one of `!`, `.`, found `=`", "  ✓ rejects a wrong password (<m> ms)", "panic: runtime error: index out of range [<m>] with length 3\nmain.(*Token).Key(0xc000<sha7>)", "main.go:10:5:error:unused",
		"java.lang.IllegalArgumentException: Key must not be null at org.example.TokenService.validate2(TokenService.java:<m>)", "pkg/auth/password.go:12:34: G101: Potential hardcoded credentials (gosec)", "TypeError: Cannot read properties of undefined (reading 'accessToken')",
	}},
	{"logs of servers", []string{
		"<date> INFO  login succeeded user=app token_type=bearer method=password duration=<m>ms", "<date> WARN  token expired for session <uuid>", "level=info msg=\"rotated key\" key_id=<uuid> next=<date>", "127.0.0.1 - - [22/Nov/2026:16:50:39 +0000] \"POST /oauth/token HTTP/1.1\" 200 <n> \"-\" \"curl/8.5.0\"",
		"{\"level\":\"info\",\"ts\":<n>,\"msg\":\"token refreshed\",\"expires\":\"<date>\",\"user\":\"app\"}", "password authentication failed for user \"app\"", "FATAL:  password authentication failed for user \"postgres\"", "Authentication token manipulation error", "401 Unauthorized: invalid token",
		"WWW-Authenticate: Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\",scope=\"repository:a/b:pull\"", "WWW-Authenticate: Basic realm=\"Restricted area 2\"", "< HTTP/2 200\n< content-type: application/json\n< x-request-id: <uuid>", "Set-Cookie: theme=dark; Path=/", "Cookie: lang=en; theme=dark", "access-control-allow-headers: Authorization,X-Api-Key,X-Csrf-Token",
		"Access-Control-Expose-Headers: X-Auth-Token, X-Request-Id", "* Server auth using Basic with user 'dev'", "nginx: [warn] ssl_certificate_key \"/etc/ssl/h.key\" is group readable", "sshd[<n>]: Accepted publickey for dev from 10.0.0.<m> port <n> ssh2: ED25519 SHA256:<b64-43>", "sudo: pam_unix(sudo:auth): authentication failure; logname= uid=1000", "Refreshed access token in <m>ms, expires in 3599 seconds",
		"vary: Accept-Encoding, Authorization, Cookie", "Missing Authorization header", "key=<word>:<n> value=<m> ttl=300", "Authorization: missing",
	}},
	{"package managers", []string{
		"npm warn deprecated <word>-token@1.2.3: use @acme/<word>-token2 instead", "+ passport-jwt@4.0.1\n+ jsonwebtoken@9.0.2", "\"jsonwebtoken\": \"^9.0.2\",", "Successfully installed pyjwt-2.8.0 python-dotenv-1.0.1 tokenizers-0.15.2", "Collecting secretstorage>=3.2 (from keyring)", "added <m> packages, and audited <n> packages in 4s", "registry = https://registry.npmjs.org/",
		"//registry.npmjs.org/:_authToken=${NPM_TOKEN}", "   Compiling secrecy v0.8.0\n   Compiling password-hash v0.5.0", "go: downloading github.com/golang-jwt/jwt/v5 v5.2.1", "\"node_modules/js-tokens\": {\n  \"version\": \"4.0.0\",\n  \"integrity\": \"sha512-<sha512>\"", "Get:1 http://deb.debian.org/debian bookworm/main amd64 libsecret-1-0 amd64 0.20.5-3 [137 kB]",
		"Unpacking gnome-keyring (42.1-1+b2) ...", "password-hash = { version = \"0.5.0\", features = [\"rand_core\"] }", "name = \"tokenizers\"\nversion = \"0.15.2\"", "brew install pass-otp age sops2", "gem 'devise-two-factor', '~> 5.0'",
	}},
	{"help texts", []string{
		"  -p, --password string      password to log in with", "  --token-file string   file that holds the token (default \"/var/run/token2\")", "  -u, --user <user:password>  Server user and password", "      --api-key KEY         API key (env: API_KEY)", "usage: mysql [-pPASSWORD] [--password=PASSWORD]", "--password-stdin   Take the password from stdin", "  --secret-key=SECRET_KEY  AWS secret key", "  -a, --auth USER[:PASS]",
		"--access-token <ACCESS_TOKEN>  The access token to use", "docker login -u USERNAME -p PASSWORD REGISTRY", "curl -u username:password https://api.example.com", "sshpass -p PASSWORD ssh user@host", "redis-cli -a password ping", "mysql -p mydatabase", "mysql -u root -p", "docker run -p 8080:80 nginx", "ssh -p 2222 dev@h.example", "mkdir -p build/output2/<word>", "cp -pR a b", "curl -u \"$USER:$PASSWORD\" https://h.example",
		"git add -p internal/token.go", "curl -u admin https://h.example", "export PASSWORD=yourpassword", "nmap -p 22,80,443 10.0.0.<m>", "grep -a password2 file.bin", "redis-cli -p 6379 -h cache", "mongosh --port 27017 -p", "docker-compose -p <word>2 up", "tar -xpf a.tar", "gcc -pthread -passthrough2 x.c",
	}},
	{"prose", []string{
		"The password: be kind to everyone you meet", "Set the token in your settings; it expires after 24 hours.", "Never commit secrets: use a vault instead.", "The access token is refreshed every 15 minutes", "A private key must never leave the machine.", "Your password must contain 8-64 characters, 1 digit and 1 symbol.", "Passwords are hashed with bcrypt-12, tokens with SHA-256.", "Token: a string that identifies a session",
		"password is required", "password is incorrect", "The password is too short.", "token is invalid or has expired", "API key: see the account page", "Authorization: required for all endpoints", "Basic authentication: user and password.", "the api key is read from the environment", "| `--token` | string | the token to use |", "| Password | Passwort |", "Secrets: 3 found, 0 leaked", "Password strength: 87/100", "See RFC6749 section-4.3 for password grants",
		"the secret to good coffee is fresh beans", "the key is under the doormat", "Enter password:", "Password: ", "New password must differ.", "pass: 12, fail: 0", "PASS: TestLogin2", "PASS=12 FAIL=0 SKIP=1", "passed=41 failed=2", "pass = 98.7%",
	}},
	{"forms and translations", []string{
		"\"password\": \"Passwort\",", "\"forgotPassword\": \"Forgot your password?\",", "<input type=\"password\" name=\"password2\" autocomplete=\"current-password\">", "<label for=\"api-key-2\">API key</label>", "placeholder=\"Enter your password\"", "'token' => 'Jeton',", "password.label=Mot de passe", "error.password.mismatch2=The passwords do not match",
		"<PasswordInput value={password} onChange={setPassword2} />", "data-testid=\"password-input-2\"", ".password-field2 { color: #a1b2c3; }", "input[type=password]:focus { outline: 2px solid #1a73e8 }", "\"apiKeyLabel\": \"API-Schlüssel\"", "msgid \"Password\"\nmsgstr \"Contraseña\"", "id=\"csrf-token-field\" value=\"\"", "aria-label=\"Show password\"", "$(\"#password-confirmation-1\").val()",
	}},
	{"SQL and schemas", []string{
		"SELECT id, password_hash FROM users WHERE token = $1", "ALTER TABLE users ADD COLUMN api_token2 varchar(64);", "CREATE INDEX idx_token_hash2 ON tokens (token_hash);", " id | user | password_set | last_login\n----+------+--------------+-----------\n  1 | app  | t            | <date>", "INSERT INTO roles (name) VALUES ('token_reader2');", "UPDATE users SET password = crypt($1, gen_salt('bf'));", "CREATE USER app WITH PASSWORD :'pw';", "IDENTIFIED BY ?",
		"{\"type\":\"object\",\"required\":[\"password\",\"token\"]}", "message Token { string value = 1; int64 expires_at = 2; }", "field :password, :string, virtual: true", "t.string \"api_token\", null: false", "secret: { type: String, required: true, select: false },", "securitySchemes:\n  ApiKeyAuth:\n    type: apiKey\n    in: header\n    name: X-API-Key", "  - in: header\n    name: X-API-Key\n    required: true", "{\"name\":\"password\",\"in\":\"formData\",\"type\":\"string\"}",
		"{\"name\": \"token\", \"type\": \"string\", \"default\": null}", "{\"name\":\"PASSWORD_POLICY\",\"value\":\"strict\"}", "{\"name\":\"TOKEN_TTL\",\"value\":\"86400\"}", "{\"name\":\"DB_PASSWORD\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"db\",\"key\":\"password\"}}}", "- name: API_TOKEN\n  valueFrom:\n    secretKeyRef:\n      name: api\n      key: token-v2", "username,password_set,mfa_active\napp,true,false",
	}},
	{"cloud tools", []string{
		"aws_secretsmanager_secret.db: Refreshing state... [id=arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-Ab12Cd]", "random_password.db: Creation complete after 0s [id=none]", "vault_generic_secret.app: Reading...", "  + resource \"aws_ssm_parameter\" \"db_password\" {\n      + arn  = (known after apply)", "secret/db-credentials created", "secret \"<word>-token-2\" deleted", "serviceaccount/<word>-token-reader configured",
		"Key                 Value\n---                 -----\ncreated_time        2026-11-22T16:50:39.123456789Z\ndeletion_time       n/a\ndestroyed           false\nversion             3", "token_policies       [\"default\" \"app-read2\"]", "token_duration       768h", "token_renewable      true", "NAME          VERSION  ENABLED\ndb-password   3        true", "gcloud secrets versions access latest --secret=<word>-db-password", "aws secretsmanager get-secret-value --secret-id prod/<word>/db2", "az keyvault secret show --vault-name kv<m> --name db-password",
		"kubectl get secret <word>-tls2 -o yaml", "kubectl create secret generic db --from-file=password=./password2.txt", "helm upgrade x ./c --set existingSecret=<word>-secret-2", "docker run --env-file .env.prod2 app", "docker login --username dev --password-stdin r.example.com", "gh auth login --with-token < token2.txt", "vault kv get -field=password secret/app2", "{\"KeyMetadata\":{\"KeyId\":\"<uuid>\",\"KeyState\":\"Enabled\",\"KeySpec\":\"SYMMETRIC_DEFAULT\"}}",
		"\"SecretList\": [{\"Name\": \"prod/<word>/db2\", \"LastChangedDate\": \"<date>\"}]", "{\"Parameters\":[{\"Name\":\"/app/db/password\",\"Type\":\"SecureString\",\"Version\":3}]}", "gcloud auth activate-service-account --key-file=key-2.json", "ssh-add -l\n256 SHA256:<b64-43> dev@example.org (ED25519)",
	}},
	{"traces and metrics", []string{
		"gen_ai.usage.input_tokens=<n>", "http_requests_total{handler=\"/token\",code=\"200\"} <n>", "token_refresh_duration_seconds_bucket{le=\"0.25\"} <n>", "vault_token_count_by_policy{policy=\"app2\"} <m>", "traceparent: 00-<md5>-<sha7>abcdef123-01", "{\"traceId\":\"<md5>\",\"spanId\":\"<sha7>a1b2c3d4e\",\"name\":\"auth.token\"}", "tokens: 12.3k in, 4.5k out, cost: $0.1234", "auth_token_cache_hits_total 12345678",
		"cline.tokens.total=<n>", "key=value pairs: <m>", "secret_scan_duration_ms=<n>", "otel.resource.service.instance.id=<uuid>", "\"cacheKey\":\"<md5>\"",
	}},
	{"minified and generated", []string{
		"function a(e,t){return e.token=t.next(9),t.password?t.auth(e.key,t.secretKey):void 0}", "!function(e){var t={};e.apiKey=t.apiKey||n.defaultKey2}(window);", "_0x1a2b3c['token']=_0x4d5e6f(0x1f);", "//# sourceMappingURL=token.<sha7>.js.map", "e.accessToken&&(n.headers.Authorization=\"Bearer \"+e.accessToken)", "background:url(data:image/png;base64,iVBORw0KGgo<b64-68>)", "\"mappings\": \"AAAA,SAASA,GAAGC<b64-43>\"", "const n=e=>e.password.length>=8&&/[0-9]/.test(e.password);",
		"password:(0,r.string)().min(8)", "token:t.token,secret:t.secret", "Key:\"a\",Code:\"KeyA\"",
	}},
	{"Go source", []string{
		"tok := p.tok // one token look-ahead", "token.NoPos", "func (s *Scanner) Scan() (pos token.Pos, tok token.Token, lit string) {", "privKey, ok := key.(*ecdsa.PrivateKey)", "if got, want := tok.String(), \"IDENT\"; got != want {", "secret := make([]byte, 32)", "Password: cfg.Password,", "http.Header{\"Authorization\": {\"Bearer \" + token}}", "req.Header.Set(\"Authorization\", \"Bearer \"+token)", "req.SetBasicAuth(user, password)", "return fmt.Errorf(\"token %q: %w\", token, err)", "Key: \"password\", Value: attribute.StringValue(v)",
		"`json:\"access_token,omitempty\"`", "flag.StringVar(&token, \"token\", \"\", \"API token\")", "os.Setenv(\"API_TOKEN\", token2)", "case tokenString, tokenNumber64:", "var ErrInvalidToken2 = errors.New(\"invalid token\")", "keyPEM, err := os.ReadFile(keyFile2)",
	}},
	{"shell scripts", []string{
		"if [ -z \"$API_KEY\" ]; then echo 'API_KEY is not set'; fi", "read -s -p \"Password: \" PASSWORD", "TOKEN=$(curl -s https://h.example/token | jq -r .access_token)", "export API_KEY", "unset AWS_SECRET_ACCESS_KEY", "PASSWORD=$(openssl rand -base64 24)", "curl -H \"Authorization: Bearer $TOKEN\" https://h.example", "curl -H \"Authorization: Bearer ${TOKEN}\" \"https://h.example/v1?key=$API_KEY\"", "echo \"$PASSWORD\" | docker login -u dev --password-stdin", "PGPASSWORD=\"$DB_PASSWORD\" psql -h db", "sshpass -p \"$PW\" ssh dev@h.example",
		"mysql -u root -p\"$MYSQL_ROOT_PASSWORD\" app", "TOKEN=${TOKEN:-}", ": \"${API_KEY:?API_KEY is needed}\"", "KEY=$1; VALUE=$2", "secrets=( $(ls secrets/*.enc2) )", "while read -r key value; do export \"$key=$value\"; done < .env", "grep -q PASSWORD= .env2 || exit 1", "sed -i 's/^PASSWORD=.*/PASSWORD=/' .env", "[ \"$TOKEN\" = \"expected-value-2\" ]", "pass=$((pass+1))", "PASS=\"\\033[32mPASS\\033[0m\"", "KEY=\"${1#--key=}\"", "COMPOSE_PROJECT_NAME=<word>2 docker compose up", "MONKEY=banana42split", "KEYBOARD=us-intl2", "PASSENGERS=300000", "COMPASS_URL=http://h.example:8080",
	}},
	{"listings", []string{
		"-rw------- 1 dev dev  411 Nov 22 16:50 id_ed25519\n-rw-r--r-- 1 dev dev   99 Nov 22 16:50 id_ed25519.pub", "drwxr-xr-x 2 dev dev 4096 Nov 22 16:50 secrets-2026", "./internal/token/token_test.go:<m>:func TestToken(t *testing.T) {", "src/auth/password.ts:12:export const passwordPattern2 = /x/", "total <n>", "<n> dev  20   0 1234m 567m 89m S   3.0   1.2   0:12.34 node token-server2.js", "CONTAINER ID   IMAGE          COMMAND\n<sha7>a1b2c   vault:1.15     \"docker-entrypoint.s…\"",
		"/home/dev/.config/<word>/token-cache-2.json", "dev  <n>  0.0  0.1 sshd: dev@pts/0", "tcp  0  0 127.0.0.1:5432  0.0.0.0:*  LISTEN  <n>/postgres", "root:x:0:0:root:/root:/bin/bash\ndev:x:1000:1000:Dev,,,:/home/dev:/bin/bash", "db:5432 is ready", "PID TTY TIME CMD", "<sha7>-password-reset-email.eml",
	}},
	{"settings without secrets", []string{
		"user: app\nhost: db.internal\nport: 5432\nsslmode: require", "key: <word>-<m>\nrestore-keys: |\n  <word>-", "authentication: enabled\nauth_basic \"Restricted 2\";", "auth_basic_user_file /etc/nginx/.htpasswd2;", "PasswordAuthentication no\nPubkeyAuthentication yes", "IdentityFile ~/.ssh/id_ed25519_2", "token: enabled", "password: required", "api_key_required = true", "secret: false", "[auth]\nmethod = \"oauth2\"\nprovider = \"github2\"", "session.cookie_name = app_session_v2", "csrf_cookie_name: XSRF-TOKEN-2", "jwt:\n  issuer: https://auth.example.com\n  audience: api-v2",
		"client_id: my-client-2024", "client_id = \"<uuid>\"", "GOOGLE_CLIENT_ID=123456789-abc123def456.apps.googleusercontent.com", "aws_access_key_id: ${AWS_ACCESS_KEY_ID}", "STRIPE_PUBLISHABLE_KEY=pk_test_example", "username: deploy-bot-2024", "keyboard: us-intl", "keymap = \"emacs2\"", "hotkey: ctrl+shift+p", "keyspace: app_prod_2", "monkey: patch-2.0.1", "signature_version: s3v4", "auth-token-ttl=24h0m0s", "accountKeyRef: letsencrypt-prod-2", "privateKeySecretRef:\n  name: letsencrypt-prod-2",
	}},
	{"arithmetic and hashes", []string{
		"token = (a * 31 + b) % 1000003", "key ^= key >> 33; key *= 0xff51afd7ed558ccd", "const KEY_MASK = 0xFFFFFFFFFFFFFFFF", "hash_seed=0x9e3779b97f4a7c15", "secret_sum = p1*q1 + p2*q2", "tokens[i+1]=tokens[i]*2", "password_score=0.8734512", "keys=[1,2,3,4,5,6,7,8]",
	}},
	{"other languages", []string{
		"Passwort vergessen?", "Das Passwort muss mindestens 12 Zeichen haben.", "Bitte Kennwort eingeben:", "mot de passe oublié ?", "Le mot de passe est obligatoire.", "¿Olvidó su contraseña?", "La contraseña es incorrecta", "Esqueci minha senha",
		"A senha deve ter pelo menos 8 caracteres", "wachtwoord vergeten", "Hasło jest za krótkie (min. 10)", "Забыли пароль?", "Пароль: введите пароль", "Неверный пароль, попытка <m>", "密码不能为空", "密码长度必须大于8位", "请输入密码", "密码：********", "パスワードを忘れた場合", "パスワードは8文字以上で入力してください",
		"비밀번호를 잊으셨나요?", "Parola: la <word> del giorno <m>", "clave primaria: id_<word><m>", "clave: <word>_<m>", "ключ: <word>", "токен истёк через <n> секунд", "令牌已过期", "Schlüssel: <word>_<m>", "şifre en az 8 karakter olmalı", "'password' => 'Das Passwort ist falsch (<m>)'",
	}},
	{"addresses", []string{
		"https://github.com/<word>/hooks/commit/<sha>", "https://github.com/<word>/<word2>/blob/<sha>/hooks/use-<word>.ts#L<m>", "https://h.example/reset-password", "https://h.example/docs/webhooks/<word>-<word2>-events", "https://h.example/invite/<word>-<word2>-team-<m>",
		"https://h.example/assets/index-<sha7>.js?v=<n>", "https://cdn.example.com/npm/<word>@1.2.<m>/dist/<word>.min.js", "https://h.example/verify?email=dev@example.com&step=2", "https://registry.npmjs.org/<word>-hooks/-/<word>-hooks-1.2.<m>.tgz", "git+ssh://git@github.com/<word>/<word2>.git#<sha>",
		"https://h.example/runs/<n>/jobs/<uuid>", "https://h.example/api/v2/keys/<word>/rotate", "https://h.example/share/<word>-<m>", "https://h.example/t/<word>-thread/<n>", "import { use<Word> } from '@/hooks/use-<word>'", "image: ghcr.io/<word>/<word2>@sha256:<sha256>",
	}},
	{"calls by place", []string{
		"connect(\"localhost\", 5432, \"app_db\")", "sql.Open(\"sqlite3\", \"<word><m>.db\")", "getConnection(\"jdbc:h2:mem:test<m>\", \"sa\", \"\")", "client.connect(host, 22, username)", "socket.connect((\"127.0.0.1\", <n>))", "auth(\"<word>\", \"read\", \"write\")", "login(user, page)", "setPassword(newPassword2)",
		"setToken(response.data.token2)", "i18n.t(\"password.tooShort\", \"Password must have 8 characters\")", "expect(getByLabelText(\"Password\")).toBeVisible()", "credentials.get(\"<word>\", \"default-<m>\")", "authorize(\"admin\", \"<word>:write\")", "createConnection({ host, port: 3306, database: \"app_<m>\" })",
	}},
	{"commands", []string{
		"please run: echo START", "then type echo DONE<m>", "echo \"<word> <m>\" | tee out.log", "printf '%s\\n' \"$<word>\" | sort -u", "echo $PASSWORD | docker login --password-stdin", "mkdir -p src/<word>/v2 && cd src", "docker run -u 1000:1000 -p 8080:80 app", "$ git log --grep token\ncommit <sha>",
		"$ cat token_test.go\npackage <word>", "$ ls secrets\n<word>-<m>.enc", "$ grep -r password .\n./<word>.md", "ssh -p 2222 -l dev h", "chown -R <word>:<word> /srv/<word>", "New value: enabled", "curl -X POST https://h.example/hooks/<word>", "cp -p a<m>.txt b<m>.txt", "$ kubectl get secrets\nNAME   TYPE   DATA   AGE",
	}},
	{"chat", []string{
		"I renamed the password field to `passphrase2` and updated the tests.", "The token counter was off by <m>: it counted cached tokens twice.", "Your API key is read from OPENAI_API_KEY; I did not print it.", "Do you want me to rotate the key for user <word><m>?", "Fixed: the session key was built from `<word>_<m>`.",
		"Use `--token-file` and pass `/run/secrets/<word>`.", "Secret scanning found nothing in <n> files.", "credentials: see 1Password, vault <word>", "login: use your SSO account", "> the password is the same as last time", "The admin password is set by the installer.", "token is <word>, type is <word2>",
	}},
}
