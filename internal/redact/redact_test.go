package redact

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// fake is 32 made-up characters that look random.
var fake = strings.Repeat("q7Rt", 4) + strings.Repeat("Z2mK", 4)

func TestOrdinaryTextIsLeftAlone(t *testing.T) {
	for _, text := range []string{
		"cd / && pwd && echo mj8nkvw4",
		"cd /&&pwd&&echo mj8nkvw4",
		"pwd -P&& ls mj8nkvw4",
		"pwd || echo mj8nkvw4",
		"pwd||echo mj8nkvw4",
		"pwd & echo mj8nkvw4",
		"passwd | tee mj8nkvw4",
		"gcloud auth print-access-token 2>&1 | head mj8nkvw4xY77abcdef",
		"pwd; ls; mj8nkvw4",
		"pwd\necho mj8nkvw4",
		"echo $SECRET_NAME mj8nkvw4",
		"jq .secretName mj8nkvw4",
		"docker run -v $(pwd):/app -w /app img-9f8e7d6c",
		`docker run -v "$(pwd)":/work node build-9f8e7d6c`,
		`password = getPassword()`,
		`password := os.Getenv("DB_PASSWORD")`,
		`const token = await getToken(user2)`,
		`token := lexer.next2()`,
		`api_key = os.environ["OPENAI_API_KEY_2"]`,
		`apiKey: process.env.API_KEY_V2`,
		`export TOKEN=$GITHUB_TOKEN`,
		`export TOKEN="${GITHUB_TOKEN:-none1}"`,
		`password: ${{ secrets.DB_PASSWORD1 }}`,
		`max_tokens: 4096, "input_tokens": 123456`,
		`{"token_type": "bearer", "expires_in": 3600}`,
		`PASSWORD_FILE=/run/secrets/db_password1`, "--- PASS: TestToken/13f1ba (0.00s)\nok  \texample.org/m/internal/auth0\t0.012s",
		`TOKEN_URL=https://login.example.com/oauth2/v2.0/token`,
		`secretName: my-app-secret-v2`,
		`<password>`, `password=<your-password-1>`, `password: ********`, `password=xxxxxxxxxxxx`,
		`"password": {"type": "string", "minLength": 8}`,
		`type Token struct { Pos token.Pos1 }`,
		`SyntaxError: Unexpected token: identifier2`,
		`The secret: be kind to everyone you meet`,
		`pip install scikit-learn sk-learn-contrib-lightning`,
		`task-force-one-hundred-and-twenty-three, disk-usage-1234567890123456`,
		`AKIA is the prefix of AWS keys, ghp_ that of GitHub's, sk-... OpenAI's`,
		`-----BEGIN PRIVATE KEY----- is how a key begins`,
		`if !strings.HasPrefix(s, "-----BEGIN RSA PRIVATE KEY-----") { return errors.New("not a key at all here") }`,
		"-----BEGIN CERTIFICATE-----\n" + strings.Repeat("MIIB"+fake, 4) + "\n-----END CERTIFICATE-----",
		`http://localhost:8080/path?x=1@2`, `https://{token}:x-access-token@git.example.com/a.git`, `ssh://git@github.com:22/x`, `postgres://user:password@localhost/db`,
		`git commit 3f786850e387550fdab836ed7e6dc881de23001b`,
		`sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
		`id 550e8400-e29b-41d4-a716-446655440000, toolu_01A09q90qw90lq917835lq9`,
		`Authorization: Bearer <token>`, `Authorization: Bearer $TOKEN`,
		`the bearer of this letter`, `data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA`,
		`hf_hub_download(repo_id="x")`, `r8_convert`, `SG.something`, `author: secretary2024group`,
		`--token-file ./creds1.json --password-stdin`,
		`[REDACTED:github-token]`, `password=[REDACTED:assigned-secret]`,
		`<PublicKeyToken>b77a5c561934e089</PublicKeyToken>`, `<UserSecretsId>550e8400-e29b-41d4-a716-446655440000</UserSecretsId>`,
		`"PasswordExpiryDays"=dword:0000005a`, `--password "@env:AC_PASSWORD"`, `<item name="passwordToggle" type="bool">true</item>`,
		"2026-11-22T16:50:39.123456789Z <key>x</key>\n2026-11-22T16:50:39.123456789Z <string>y</string>",
		"1:storePassword=<your store password>\n2:keyPassword=CHANGE_ME", `{"s":"storePassword=\u003cyour password\u003e"}`, `defaults.set("v2", forKey: "tokenSchema2")`, `{"s":"\u003citem name=\"passwordToggle\"\u003etrue\u003c/item\u003e"}`,
		// Translations, whose names tell as well.
		`"pass": "לאלמנט יש ילד שהוא כותרת"`, `"reset_password": "Нулиране на паролата"`, `"auth.reset_password": "パスワードを8文字以上で再設定"`,
		`"password" = "请输入6-20位密码";`, `'authPassword' => '¡Incorrecta!',`, "<key>forgot_password</key>\n<string>Грешна!</string>", `val passcode = "Գաղտնաբառ"`,
		`Release GPG key: 3ABC01543F22DD2239285CDD818674489FBC127E`, `gpg --default-key 7D061A4AA61436B40713D42EFF054DACD908493A --sign`,
	} {
		r := New(nil)
		if got := r.String(text); got != text {
			t.Errorf("String changed\n%s\nto\n%s", text, got)
		}
	}
}

// TestTailLeavesCompleteTextsAlone has texts that were not cut: Tail sees all texts.
func TestTailLeavesCompleteTextsAlone(t *testing.T) {
	r := New(nil)
	for _, text := range []string{
		"SyntaxError: Unexpected token: identifier", "Invalid password: wrong", "go test ./...", "see http://localhost:8080",
		"it ended with a key-value", "implicit grants and Bearer tokens.", "if secret_password", "npm_confi", "call hf_hub_down", "see https://packages.example.org", "open disk-image", `password = getPassword()`, "password=[REDACTED:assigned-secret]", "x [REDACTED:jwt]", "export TOKEN=$GITHUB_TOKEN",
		"var PathJoin = pathJoin", "on the patTern", "scan sc_something", "gh", "ghp_", "AKIA", "sk-", "-----BEGIN", "https://github.com/a/b", "",
	} {
		if got := r.Tail(text); got != text {
			t.Errorf("Tail changed %q to %q", text, got)
		}
	}
}

func TestString(t *testing.T) {
	key := "gh" + "p_" + strings.Repeat("aB3d", 9)
	tests := []struct{ name, text, want string }{
		{"two keys", key + " " + key, "[REDACTED:github-token] [REDACTED:github-token]"},
		{"line removed in a diff", "@@ -1 +1 @@\n-AK" + "IA7Q2W8E4R6T1Y3U5I\n+x", "@@ -1 +1 @@\n-[REDACTED:aws-access-key]\n+x"},
		{"diff in JSON", `"@@\n-sb` + `p_` + strings.Repeat("a1b2c3d4", 5) + `\n"`, `"@@\n-[REDACTED:supabase-token]\n"`},
		{"command line with quotes behind a flag's =", `curl -s -u="admin:q7RtZ2mK" https://h.example`, `curl -s -u="admin:[REDACTED:curl-password]" https://h.example`},
		{"command line with the user in quotes", `curl --user "admin":q7RtZ2mK https://h.example`, `curl --user "admin":[REDACTED:curl-password] https://h.example`},
		{"command line with user and password in quotes", `curl --user 'admin':'!Granite2024' https://h.example`, `curl --user 'admin':'[REDACTED:curl-password]' https://h.example`},
		{"command line with joined flags", "curl -sSu admin:q7RtZ2mK https://h.example", "curl -sSu admin:[REDACTED:curl-password] https://h.example"},
		{"command line with joined flags and a value", `curl -su'admin:q7RtZ2mK' h && ldapsearch -xw m0nkey5ee_9 && zip -rP m0nkey5ee_9 a.zip b && unzip -oP m0nkey5ee_9 a.zip && http -va admin:m0nkey5ee_9 h`, `curl -su'admin:[REDACTED:curl-password]' h && ldapsearch -xw [REDACTED:command-secret] && zip -rP [REDACTED:command-secret] a.zip b && unzip -oP [REDACTED:command-secret] a.zip && http -va admin:[REDACTED:command-secret] h`},
		{"command line with many joined flags", `curl -OJu admin:q7RtZ2mK h && curl -sZRu admin:q7RtZ2mK h && ldapsearch -xZZw m0nkey5ee_9 && unzip -nP m0nkey5ee_9 a.zip && unzip -pP m0nkey5ee_9 a.zip`, `curl -OJu admin:[REDACTED:curl-password] h && curl -sZRu admin:[REDACTED:curl-password] h && ldapsearch -xZZw [REDACTED:command-secret] && unzip -nP [REDACTED:command-secret] a.zip && unzip -pP [REDACTED:command-secret] a.zip`},
		{"command line with many joined flags and quotes", `curl -sSu'admin:q7RtZ2mK' h; curl -fsSLu"admin:q7RtZ2mK" h; {"command":"curl -fsSLu\"admin:q7RtZ2mK\" h"}`, `curl -sSu'admin:[REDACTED:curl-password]' h; curl -fsSLu"admin:[REDACTED:curl-password]" h; {"command":"curl -fsSLu\"admin:[REDACTED:curl-password]\" h"}`},
		{"command line with secrets of two kinds", "curl -u admin:q7RtZ2mK -b session=Zx81kkQ0Ma72LLbz -E a.pem:m0nkey5ee_9 --oauth2-bearer=Zx81kkQ0Ma72 https://h.example", "curl -u admin:[REDACTED:curl-password] -b session=[REDACTED:curl-password] -E a.pem:[REDACTED:curl-password] --oauth2-bearer=[REDACTED:curl-password] https://h.example"},
		{"command line with $ before the quotes", `curl -u $'admin:q7RtZ2mK' h; curl -u$'admin:q7RtZ2mK' h`, `curl -u $'admin:[REDACTED:curl-password]' h; curl -u$'admin:[REDACTED:curl-password]' h`},
		{"command line for a proxy", `curl -E"a.pem:m0nkey5ee_9" --proxy-cert a.pem:m0nkey5ee_9 --proxy-pass m0nkey5ee_9 --pass=m0nkey5ee_9 h`, `curl -E"a.pem:[REDACTED:curl-password]" --proxy-cert a.pem:[REDACTED:curl-password] --proxy-pass [REDACTED:curl-password] --pass=[REDACTED:curl-password] h`},
		{"command as a list of words", `["curl","-su","admin:q7RtZ2mK","h"], ['mysql', '-pm0nkey5ee_9'], {"a":"[\"redis-cli\",\"-a\",\"m0nkey5ee_9\"]"}`, `["curl","-su","admin:[REDACTED:curl-password]","h"], ['mysql', '-p[REDACTED:command-secret]'], {"a":"[\"redis-cli\",\"-a\",\"[REDACTED:command-secret]\"]"}`},
		{"command as a list of lines", "[\n  \"sshpass\",\n  \"-p\",\n  \"m0nkey5ee_9\"\n]", "[\n  \"sshpass\",\n  \"-p\",\n  \"[REDACTED:command-secret]\"\n]"},
		{"lists of words without a secret", `["curl","-u","$USER:$PASS1"], ["docker","run","-p","8080:80"], ["mysql","-p"], {"mysql": "-pm0nkey5ee_9"}, ["mysql"], "-pm0nkey5ee_9"`, `["curl","-u","$USER:$PASS1"], ["docker","run","-p","8080:80"], ["mysql","-p"], {"mysql": "-pm0nkey5ee_9"}, ["mysql"], "-pm0nkey5ee_9"`},
		{"command in the list behind its name", `spawn('curl', ['-su', 'admin:q7RtZ2mK']); {"command":"redis-cli","args":["-a","m0nkey5ee_9"]}; exec.Command("mysql", []string{"-pm0nkey5ee_9"}...); Command::new("mysql").args(&["-pm0nkey5ee_9"])`, `spawn('curl', ['-su', 'admin:[REDACTED:curl-password]']); {"command":"redis-cli","args":["-a","[REDACTED:command-secret]"]}; exec.Command("mysql", []string{"-p[REDACTED:command-secret]"}...); Command::new("mysql").args(&["-p[REDACTED:command-secret]"])`},
		{"command in the list of another line", "command: [\"mysql\"]\nargs: [\"-pm0nkey5ee_9\"]", "command: [\"mysql\"]\nargs: [\"-p[REDACTED:command-secret]\"]"},
		{"command as a list with what is no text", `["mysql", "-h", cfg.Host(), "-u" + user, *more, "-pm0nkey5ee_9"], ["sshpass", "-p", f"m0nkey5ee_9"], ["redis-cli", "-h", "", "-a", "m0nkey5ee_9"]`, `["mysql", "-h", cfg.Host(), "-u" + user, *more, "-p[REDACTED:command-secret]"], ["sshpass", "-p", f"[REDACTED:command-secret]"], ["redis-cli", "-h", "", "-a", "[REDACTED:command-secret]"]`},
		{"command as a list with quotes in its words", `["sshpass","-p","m0nkey'5ee_9"], ["sshpass","-p","m0nkey\"5ee_9"], {"a":"[\"sshpass\",\"-p\",\"m0nkey\\\"5ee_9\"]"}, ["mysql","-e","it's",'"a"',"-pm0nkey5ee_9"]`, `["sshpass","-p","[REDACTED:command-secret]"], ["sshpass","-p","[REDACTED:command-secret]"], {"a":"[\"sshpass\",\"-p\",\"[REDACTED:command-secret]\"]"}, ["mysql","-e","it's",'"a"',"-p[REDACTED:command-secret]"]`},
		{"command with its name in quotes", `& "C:\Program Files\MySQL\bin\mysql.exe" -uroot -pm0nkey5ee_9; 'mysql' '-pm0nkey5ee_9'`, `& "C:\Program Files\MySQL\bin\mysql.exe" -uroot -p[REDACTED:command-secret]; 'mysql' '-p[REDACTED:command-secret]'`},
		{"lists that begin with a word of a statement", `emit("connect", "rooms/lobby1"), ["connect", "users/v1beta2"], ["conn","text/html5"], ["we use mysql", "-pm0nkey5ee_9"]`, `emit("connect", "rooms/lobby1"), ["connect", "users/v1beta2"], ["conn","text/html5"], ["we use mysql", "-pm0nkey5ee_9"]`},
		{"header with escaped blanks", `curl -H Authorization:\ Bearer\ m0nkey5ee_9 h; curl -H Authorization:\ Token\ m0nkey5ee_9`, `curl -H Authorization:\ Bearer\ [REDACTED:auth-header] h; curl -H Authorization:\ Token\ [REDACTED:auth-header]`},
		{"header with escaped blanks in JSON", `{"command":"curl -H Authorization:\\ Bearer\\ m0nkey5ee_9 h"}`, `{"command":"curl -H Authorization:\\ Bearer\\ [REDACTED:auth-header] h"}`},
		{"command line in JSON, behind a letter that is a flag's", `{"command":"curl -u admin:q7RtZ2mKb","description":"Ask the server"}`, `{"command":"curl -u admin:[REDACTED:curl-password]","description":"Ask the server"}`},
		{"command line in JSON, behind a sign of assignment", `{"command":"docker login -u bob -p q7RtZ2mKabc=","description":"Ask"}`, `{"command":"docker login -u bob -p [REDACTED:command-secret]","description":"Ask"}`},
		{"flag in JSON, behind a letter that is a flag's", `{"command":"mysql -uroot -pq7RtZ2mKb","description":"Ask"}`, `{"command":"mysql -uroot -p[REDACTED:command-secret]","description":"Ask"}`},
		{"quotes behind a flag", `curl -U'a:q7RtZ2mK' h; ldapsearch -w"q7RtZ2mK" -x; rar a -hp"q7RtZ2mK" x`, `curl -U'a:[REDACTED:curl-password]' h; ldapsearch -w"[REDACTED:command-secret]" -x; rar a -hp"[REDACTED:command-secret]" x`},
		{"command line of two lines in JSON", `{"command":"curl --oauth2-bearer=q7RtZ2mK \\\n  -u 'admin':q7RtZ2mK \\\n  https://h.example"}`, `{"command":"curl --oauth2-bearer=[REDACTED:curl-password] \\\n  -u 'admin':[REDACTED:curl-password] \\\n  https://h.example"}`},
		{"command line of two lines in JSON in JSON", `{"a":"{\"command\":\"curl \\\\\\n  -u 'admin':q7RtZ2mK\\nls\"}"}`, `{"a":"{\"command\":\"curl \\\\\\n  -u 'admin':[REDACTED:curl-password]\\nls\"}"}`},
		{"quotes behind a flag with a sign", `xfreerdp /u:x /p:"q7RtZ2mK" /v:h`, `xfreerdp /u:x /p:"[REDACTED:command-secret]" /v:h`},
		{"command line in the quotes of Markdown", "use `docker login -p q7RtZ2mK` and `ls`", "use `docker login -p [REDACTED:command-secret]` and `ls`"},
		{"command line removed in a diff", "-curl -s -u admin:q7RtZ2mK https://h.example", "-curl -s -u admin:[REDACTED:curl-password] https://h.example"},
		{"key known by its end", "key a1B2c3_" + fake[:29] + "_mmk.", "key [REDACTED:maxmind-key]."},
		{"key known by the place at its end", "-0123456789abcdef0123456789abcdef-us" + "12 x", "-[REDACTED:mailchimp-key] x"},
		{"key known by its middle", "x=Zm9vYmFyYmF6MT.atlas" + "v1." + fake + fake, "x=[REDACTED:hashicorp-token]"},
		{"element with attributes", `<string name="api_token" translatable="false">` + fake + `</string>`, `<string name="api_token" translatable="false">[REDACTED:assigned-secret]</string>`},
		{"first child of an element", "<Setting Name=\"ServiceToken\" Scope=\"User\">\n  <Value Profile=\"x\">" + fake + "</Value>", "<Setting Name=\"ServiceToken\" Scope=\"User\">\n  <Value Profile=\"x\">[REDACTED:assigned-secret]</Value>"},
		{"value before its name", `store.set("` + fake + `", forKey: "authToken")`, `store.set("[REDACTED:assigned-secret]", forKey: "authToken")`},
		{"value before its name in Objective-C", `[d setObject:@"` + fake + `" forKey:@"accessToken"];`, `[d setObject:@"[REDACTED:assigned-secret]" forKey:@"accessToken"];`},
		{"pair of flags", `Set-ItemProperty HKCU:\x -Name ApiToken -Value ` + fake + ` -Force`, `Set-ItemProperty HKCU:\x -Name ApiToken -Value [REDACTED:assigned-secret] -Force`},
		{"pair in Kotlin", `mapOf("api_key" to "` + fake + `")`, `mapOf("api_key" to "[REDACTED:assigned-secret]")`},
		{"value with its type", `plutil -replace ClientSecret -string ` + fake + ` Info.plist`, `plutil -replace ClientSecret -string [REDACTED:assigned-secret] Info.plist`},
		{"setting of MSBuild", `msbuild a.csproj /p:AndroidSigningKeyPass=dragonfly18 /t:x`, `msbuild a.csproj /p:AndroidSigningKeyPass=[REDACTED:assigned-secret] /t:x`},
		{"secure string without quotes", `ConvertTo-SecureString -String m0nkey5ee_9 -AsPlainText`, `ConvertTo-SecureString -String [REDACTED:secure-string] -AsPlainText`},
		{"sign of a host before a member", "sqlplus a@b=scott/m0nkey5ee_9", "sqlplus a@b=scott/[REDACTED:command-secret]"},
		{"cells of a table", "| Password | admin m0nkey5ee_9 |", "| Password | admin [REDACTED:assigned-secret] |"},
		{"cells of a table in a wiki", "| password of deploy || m0nkey5ee_9", "| password of deploy || [REDACTED:assigned-secret]"},
		{"two names and a sign", "password & username are m0nkey5ee_9 and admin", "password & username are [REDACTED:assigned-secret] and admin"},
		{"password with the signs of a shell", "The password is R&&B7xy!q", "The password is [REDACTED:assigned-secret]"},
		{"key beside a marker", "[REDACTED:jwt]" + key, "[REDACTED:jwt][REDACTED:github-token]"},
		{"known form beats telling name", "GITHUB_" + "TOKEN=" + key, "GITHUB_" + "TOKEN=[REDACTED:github-token]"},
		{"key as a URL's user", "https://" + key + "@github.com/x", "https://[REDACTED:github-token]@github.com/x"},
		{"key as a URL's password", "https://me:" + key + "@github.com/x", "https://me:[REDACTED:github-token]@github.com/x"},
		{"short password in a URL", "redis://:" + "p4w@cache:6379", "redis://:[REDACTED:url-password]@cache:6379"},
		{"single quotes in YAML", "api_" + "key: '" + fake + "'", "api_" + "key: '[REDACTED:assigned-secret]'"},
		{"map index", `env["api_` + `key"] = "` + fake + `"`, `env["api_` + `key"] = "[REDACTED:assigned-secret]"`},
		{"flag with =", "--api-" + "key=" + fake, "--api-" + "key=[REDACTED:assigned-secret]"},
		{"flag with a blank", "--auth-" + "token " + fake, "--auth-" + "token [REDACTED:assigned-secret]"},
		{"header", "x-agent-" + "key: " + fake, "x-agent-" + "key: [REDACTED:assigned-secret]"},
		{"password with signs", "DB_" + "PASSWORD=tr0ub4dor&3", "DB_" + "PASSWORD=[REDACTED:assigned-secret]"},
		{"digits only", "DB_" + "PASSWORD=8412769053", "DB_" + "PASSWORD=[REDACTED:assigned-secret]"},
		{"marker that is not one", "[REDACTED:] [REDACTED:X] [REDACTED:a" + " " + key, "[REDACTED:] [REDACTED:X] [REDACTED:a [REDACTED:github-token]"},
		{"secret longer than a stretch", "API_" + "TOKEN=" + strings.Repeat(fake, 400) + " z", "API_" + "TOKEN=[REDACTED:assigned-secret] z"},
		{"invalid UTF-8", "a\xff" + key, "a\uFFFD[REDACTED:github-token]"},
		{"private key with line numbers", " 1 | -----BEGIN " + "PRIVATE KEY-----\n 2 | " + fake + fake + "\n 3 | " + fake + "abc\n 4 | Zm9v\n 5 | -----END " + "PRIVATE KEY-----\n 6 | x", " 1 | [REDACTED:private-key]\n 6 | x"},
		{"private key in joined literals", `"-----BEGIN ` + `PRIVATE KEY-----\n" +` + "\n\t\"" + fake + fake + `\n" +` + "\n\t\"Zm9v\\n\" +\n\t\"-----END " + "PRIVATE KEY-----\"", `"[REDACTED:private-key]"`},
		{"encrypted private key", "-----BEGIN " + "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n" + fake + "\n-----END " + "RSA PRIVATE KEY-----\n", "[REDACTED:private-key]\n"},
		{"values of a Secret", "apiVersion: v1\nkind: Secret\ndata:\n  conn: " + fake + "\n  user: YWRtaW4=\ntype: Opaque", "apiVersion: v1\nkind: Secret\ndata:\n  conn: [REDACTED:kubernetes-secret]\n  user: [REDACTED:kubernetes-secret]\ntype: Opaque"},
		{"values of a Secret in JSON", `{"data":{"conn":"` + fake + `"},"kind":"Secret"}`, `{"data":{"conn":"[REDACTED:kubernetes-secret]"},"kind":"Secret"}`},
		{"password in a pipe", "echo 'q7RtZ2mK' | sudo -S apt-get update", "echo '[REDACTED:piped-password]' | sudo -S apt-get update"},
		{"password in a here string", "sudo -S <<< 'q7RtZ2mK' apt update", "sudo -S <<< '[REDACTED:piped-password]' apt update"},
		{"word behind echo, nothing behind it", "please run: echo START", "please run: echo START"},
		{"secret that a command prints", "$ op read op://prod/db/password\nq7RtZ2mK\n$ ls", "$ op read op://prod/db/password\n[REDACTED:printed-secret]\n$ ls"},
		{"new value of a password", "Password for [elastic] was reset.\nNew value: q7RtZ2mK", "Password for [elastic] was reset.\nNew value: [REDACTED:new-password]"},
		{"map of a source in an address", "//# sourceMappingURL=data:application/json;base64,ey" + "J2ZXJzaW9uIjozLCJ" + strings.Repeat("zb3VyY2VzIjpbImEudHMiXSw", 9), "//# sourceMappingURL=data:application/json;base64,ey" + "J2ZXJzaW9uIjozLCJ" + strings.Repeat("zb3VyY2VzIjpbImEudHMiXSw", 9)},
		{"credentials in base64", `{"got":"ZGV2OnE3UnRaMm1LNHc5` + `c3g=="}`, `{"got":"[REDACTED:encoded-password]"}`},
		{"password in Russian", "Пароль: q7RtZ2mK", "Пароль: [REDACTED:assigned-secret]"},
		{"password with letters that are not ASCII", `"password": "Grüße!Welt", "passwort": "ключ2024"`, `"password": "[REDACTED:assigned-secret]", "passwort": "[REDACTED:assigned-secret]"`},
		{"value in the next line", "- name: DB_" + "PASSWORD\n  value: q7RtZ2mK\n- name: DB_HOST\n  value: db1", "- name: DB_" + "PASSWORD\n  value: [REDACTED:assigned-secret]\n- name: DB_HOST\n  value: db1"},
		{"value before its name", `{"value":"q7RtZ2mK","name":"DB_` + `PASSWORD"}`, `{"value":"[REDACTED:assigned-secret]","name":"DB_` + `PASSWORD"}`},
		{"column of a table", " user | password\n------+----------\n app  | q7RtZ2mK\n(1 row)", " user | password\n------+----------\n app  | [REDACTED:assigned-secret]\n(1 row)"},
		{"private key in a log", "api-1  | -----BEGIN " + "PRIVATE KEY-----\napi-1  | " + fake + fake + "\napi-1  | Zm9v\napi-1  | -----END " + "PRIVATE KEY-----\napi-1  | done", "api-1  | [REDACTED:private-key]\napi-1  | done"},
		{"private key without an end", "-----BEGIN " + "PRIVATE KEY-----\n" + fake + "\n" + fake + "\n\nand so on", "[REDACTED:private-key]\n\nand so on"},
	}
	r := New(nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := r.String(tt.text)
			if got != tt.want {
				t.Errorf("\ngot  %s\nwant %s", got, tt.want)
			}
			if again := r.String(got); again != got {
				t.Errorf("redacted again: %s", again)
			}
		})
	}
}

func TestTailOfAListOfWords(t *testing.T) {
	const secret = "m0nkey5ee_9"
	for _, text := range []string{
		`["mysql","-p` + secret, `["sshpass", "-p", "` + secret, `{"a":"[\"redis-cli\",\"-a\",\"` + secret, `spawn('sshpass', ['-p', '` + secret + "…", `["curl","-H","X: [...]","-su","a:` + secret,
	} {
		if got := New(nil).Tail(text); strings.Contains(got, secret[:6]) {
			t.Errorf("%s stays", got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, p := range plant() {
		f.Add(p.Text(), 40)
	}
	f.Add("[REDACTED:x]password=[REDACTED:", 3)
	f.Add("a\xff\x00://:\\u00", 0)
	user, err := ParseRules(strings.NewReader("mine INT-([0-9]{6,8})\nany [a-z0-9]{20}\n"))
	if err != nil {
		f.Fatal(err)
	}
	plain, withUser := New(nil), New(user)
	f.Fuzz(func(t *testing.T, s string, max int) {
		for _, r := range []*Redactor{plain, withUser} {
			whole, tail := r.String(s), r.Tail(s)
			if !utf8.ValidString(whole) || !utf8.ValidString(tail) {
				t.Errorf("not UTF-8: %q %q", whole, tail)
			}
			if again := r.String(whole); again != whole {
				t.Errorf("String again: %q to %q", whole, again)
			}
			// Not by Tail, which remembers what it returned.
			if again, _ := r.redact(tail, true, nil); again != tail {
				t.Errorf("Tail again: %q to %q", tail, again)
			}
			p := r.Preview(s, max)
			if !utf8.ValidString(p) || max > 0 && utf8.RuneCountInString(p) > max {
				t.Errorf("Preview(%d): %q", max, p)
			}
			if max <= 0 && p != tail {
				t.Errorf("Preview(%d) = %q, want %q", max, p, tail)
			}
		}
	})
}

// TestQuotesWhereALongCommandLineIsCutOff has quotes that begin within what is
// read of a command line and end behind it.
func TestQuotesWhereALongCommandLineIsCutOff(t *testing.T) {
	r := New(nil)
	for n := longestCommand - 20; n < longestCommand+5; n++ {
		text := "mysql " + strings.Repeat("a", n) + `"""x y`
		if got := r.String(text); got != text {
			t.Errorf("%d letters: %q", n, got)
		}
	}
}

// TestRunesEndCountsCharacters compares the cut with that by one character at a time.
func TestRunesEndCountsCharacters(t *testing.T) {
	for _, s := range []string{"", "seven b", "eight by", "nine byte", strings.Repeat("a", 40), strings.Repeat("é", 20), strings.Repeat("1234567é", 5), "12345678…12345678\U0001F600x\xff"} {
		for n := range len(s) + 2 {
			want, count := len(s), 0
			for i := range s {
				if count == n {
					want = i
					break
				}
				count++
			}
			if got := runesEnd(s, n); got != want {
				t.Errorf("%q: the first %d characters end at %d, want %d", s, n, got, want)
			}
		}
	}
}

// TestSpansHaveWholeCharacters has what a rule once began or ended in the middle of.
func TestSpansHaveWholeCharacters(t *testing.T) {
	r := New(nil)
	japanese := strings.TrimSpace(strings.Repeat("あいこくしん とうきゅう ", 12))
	for _, tt := range []struct{ name, text, want string }{
		{"a column that begins within a character", "NEMO:│ Priv\nkite4242\ufffd456789abcd", ""},
		{"words of a long list", "recovery phrase: " + japanese, "recovery phrase: [REDACTED:mnemonic]"},
		{"words of a long list before others", "recovery phrase: \"" + japanese + "\" and more", "recovery phrase: \"[REDACTED:mnemonic]\" and more"},
		{"a key longer than the steps", "x my_key_" + strings.Repeat("aB3dE5fG7h", 35) + " y", "x my_key_[REDACTED:prefixed-key] y"},
		{"a key with many signs behind it", "a EAAMM2f7Q2rtn3MLq5eEh9liD2DXj2Is84wsN3ziW4tAE58Fz3vbi22Hs2Buo77Ve4s0g8KGR4auK12hA6BfX3nAn7X0N3nmq7SJL3hKZc", ""},
	} {
		got := r.Tail(tt.text)
		if again, _ := r.redact(got, true, nil); !utf8.ValidString(got) || again != got {
			t.Errorf("%s: %q, again %q", tt.name, got, again)
		}
		if tt.want != "" && got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
