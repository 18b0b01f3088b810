package security_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// ordinaryRows look for what is removed though it is no secret: a trace whose
// texts are full of holes is of no use.
var ordinaryRows = []proof.Row{
	{
		Name:  "each eighth file of Go's source, in the long run every file",
		Rule:  "at most ten places taken for secrets in 5 MB, test credentials counted apart",
		Short: 3 << 20, Long: 40 << 20, Run: goSource,
	},
	{
		Name:  "what programs print: listings, logs, diffs, checksums, identifiers, images in base64, minified scripts",
		Rule:  "at most one place taken for a secret in each MB",
		Short: 2 << 20, Long: 20 << 20, Run: programOutput,
	},
}

// credentialTests are the places of Go's source whose tests and test data hold
// keys, tokens and passwords on purpose. What is found there is right.
var credentialTests = []string{"cmd/go/internal/auth/", "cmd/go/internal/web/", "cmd/go/testdata/", "crypto/", "net/http/", "net/url/", "encoding/pem/", "vendor/golang.org/x/crypto/"}

func goSource(t *testing.T, r *proof.Result) {
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		r.Skip("no go command to ask for Go's source: %v", err)
	}
	clean := redact.New(nil)
	root := filepath.Join(strings.TrimSpace(string(out)), "src")
	read, taken, files, apart := 0, 0, 0, 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".txt", ".html", ".js", ".css", ".sh", ".py", ".json", ".yaml", ".s", ".c", ".h", ".mod", ".sum":
		default:
			return nil
		}
		// The short run takes a part from everywhere.
		if files++; r.N < 40<<20 && files%8 != 0 {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read += len(b)
		text := strings.ToValidUTF8(string(b), "\uFFFD")
		got := clean.Tail(text)
		n := strings.Count(got, "[REDACTED:") - strings.Count(text, "[REDACTED:")
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		test := strings.HasSuffix(name, "_test.go") || strings.Contains(path, "testdata")
		if n != 0 && test && within(filepath.ToSlash(name), credentialTests) {
			apart += n
		} else if n != 0 {
			taken += n
			t.Logf("%s: %s", name, removed(text, got))
		}
		// A preview must not invent anything either: it is a beginning of the whole.
		if p := strings.TrimSuffix(clean.Preview(text, 300), "…"); !strings.HasPrefix(got, p) {
			r.Break("%s: the preview %q does not begin the whole", name, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Trial(read)
	if allowed := 10 * max(1, read/(5<<20)); taken > allowed {
		r.Break("%d places taken for secrets in %d bytes, allowed %d", taken, read, allowed)
	}
	r.Note("bytes; %d places taken for secrets, %d in tests of credentials", taken, apart)
}

func within(name string, folders []string) bool {
	for _, f := range folders {
		if strings.HasPrefix(name, f) {
			return true
		}
	}
	return false
}

// removed is what stood in the place of the first markers.
func removed(text, got string) string {
	var b strings.Builder
	for range 5 {
		i := 0
		for i < len(text) && i < len(got) && text[i] == got[i] {
			i++
		}
		if i == len(text) || i >= len(got) {
			break
		}
		fmt.Fprintf(&b, "%q ", text[max(0, i-60):min(len(text), i+60)])
		_, after, _ := strings.Cut(got[i:], "]")
		next := strings.Index(text[i:], after[:min(len(after), 20)])
		if next < 0 {
			break
		}
		text, got = text[i+next:], after
	}
	return b.String()
}

// programOutput makes what an agent's commands print, from the same seed in
// every run, and adds what there is of real files.
func programOutput(t *testing.T, r *proof.Result) {
	clean := redact.New(nil)
	rng := rand.New(rand.NewPCG(8, 9)) //nolint:gosec // Nothing here is secret.
	kinds := map[string]int{}
	read, taken := 0, 0
	try := func(kind, text string) {
		read += len(text)
		kinds[kind]++
		got := clean.Tail(text)
		if n := strings.Count(got, "[REDACTED:"); n > 0 {
			taken += n
			t.Logf("%s: %s", kind, removed(text, got))
		}
	}
	for _, path := range []string{"../../go.sum", "../../internal/tools/go.sum"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		try("go.sum", string(b))
	}
	locks, err := filepath.Glob("../*/npm/*/package-lock.json")
	if err != nil || len(locks) == 0 {
		t.Fatalf("no lock files: %v", err)
	}
	for _, path := range locks {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		try("package-lock.json", string(b))
	}
	for read < r.N {
		for kind, text := range printed {
			try(kind, text(rng))
		}
	}
	r.Trial(read)
	if allowed := max(1, read>>20); taken > allowed {
		r.Break("%d places taken for secrets in %d bytes, allowed %d", taken, read, allowed)
	}
	r.Note("bytes; %d kinds of output, %d places taken for secrets", len(kinds), taken)
}

// printed make some KB of each kind of output.
var printed = map[string]func(*rand.Rand) string{
	"git log": func(rng *rand.Rand) string {
		return lines(40, func(i int) string {
			return fmt.Sprintf("commit %s\nAuthor: A. Developer <dev%d@example.org>\nDate:   Fri Nov 20 21:%02d:11 2026 +0000\n\n    %s\n", sha(rng)[:40], i, i, sentence(rng))
		})
	},
	"git log --oneline": func(rng *rand.Rand) string {
		return lines(80, func(int) string { return sha(rng)[:9] + " " + sentence(rng) })
	},
	"git diff": func(rng *rand.Rand) string {
		return lines(40, func(i int) string {
			return fmt.Sprintf("diff --git a/src/f%d.go b/src/f%d.go\nindex %s..%s 100644\n--- a/src/f%d.go\n+++ b/src/f%d.go\n@@ -%d,7 +%d,9 @@ func run() {\n-\ttoken := next(%d)\n+\ttoken, err := parser.nextToken(ctx, %d)\n", i, i, sha(rng)[:10], sha(rng)[:10], i, i, i, i, i, i)
		})
	},
	"ls -la": func(rng *rand.Rand) string {
		return lines(80, func(i int) string {
			return fmt.Sprintf("-rw-r--r--  1 dev  staff  %7d Nov 20 21:%02d %s-%d.%s", rng.IntN(1<<22), i%60, strings.ReplaceAll(sentence(rng), " ", "-"), i, []string{"go", "tsx", "json", "key.pub", "lock"}[i%5])
		})
	},
	"go test": func(rng *rand.Rand) string {
		return lines(60, func(i int) string {
			return fmt.Sprintf("=== RUN   TestToken/%s\n--- PASS: TestToken/%s (0.%02ds)\nok  \texample.org/m/internal/auth%d\t%d.%03ds\tcoverage: 81.2%% of statements", strings.ReplaceAll(sentence(rng), " ", "_"), sha(rng)[:6], i, i, i%9, i)
		})
	},
	"npm install": func(rng *rand.Rand) string {
		return lines(40, func(i int) string {
			return fmt.Sprintf("npm http fetch GET 200 https://registry.npmjs.org/@scope/pkg-%d/-/pkg-%d-1.%d.0.tgz %dms (cache miss)\nadded %d packages, and audited %d packages in %ds\n%d packages are looking for funding", i, i, i, rng.IntN(900), i, i, i, i)
		})
	},
	"UUIDs": func(rng *rand.Rand) string {
		return lines(60, func(i int) string {
			h := sha(rng)
			return fmt.Sprintf(`{"id":"%s-%s-4%s-a%s-%s","requestId":"req_%s","session_id":"%s","trace":"%s"}`, h[:8], h[8:12], h[13:16], h[17:20], h[20:32], h[32:56], h[:32], h[:32])
		})
	},
	"checksums": func(rng *rand.Rand) string {
		return lines(60, func(i int) string {
			return fmt.Sprintf("%s  dist/app-%d.tar.gz\nsha256:%s\nsha512-%s\nEtag: \"%s\"", sha(rng), i, sha(rng), base64.StdEncoding.EncodeToString([]byte(sha(rng))), sha(rng)[:32])
		})
	},
	"docker": func(rng *rand.Rand) string {
		return lines(40, func(i int) string {
			return fmt.Sprintf("%s   registry.example.org/team/app:1.%d   \"/docker-entrypoint.sh\"   %d hours ago   Up %d hours   0.0.0.0:80%02d->80/tcp   app_%d\n#%d [build 2/7] RUN go build\n#%d sha256:%s 31.4MB / 31.4MB 0.9s done", sha(rng)[:12], i, i, i, i, i, i, i, sha(rng))
		})
	},
	"an image": func(rng *rand.Rand) string {
		b := make([]byte, 12_000)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return "![logo](data:image/png;base64,iVBORw0KGgo" + base64.StdEncoding.EncodeToString(b) + ")"
	},
	"a minified script": func(rng *rand.Rand) string {
		return lines(8, func(int) string {
			var b strings.Builder
			for range 120 {
				n := func() string { return string("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[rng.IntN(52)]) }
				fmt.Fprintf(&b, "function %s(%s,t){return t.token=%s.next(%d),%s.password?%s.auth(t.key,e.secretKey):void 0}var %s=%s.%s.prototype;", n(), n(), n(), rng.IntN(999), n(), n(), n(), n(), n())
			}
			return b.String()
		})
	},
	"a stack trace": func(rng *rand.Rand) string {
		return lines(40, func(i int) string {
			return fmt.Sprintf("goroutine %d [running]:\nexample.org/m/auth.(*Token).Verify(0xc000%06x, {0x%x, 0x2})\n\t/home/dev/m/auth/token.go:%d +0x%x\nError: invalid token at position %d: expected identifier", i, rng.IntN(1<<24), rng.Uint64(), i, rng.IntN(4096), i)
		})
	},
	"settings": func(rng *rand.Rand) string {
		return lines(30, func(i int) string {
			return fmt.Sprintf("max_tokens: %d\n\"token_type\": \"bearer\", \"expires_in\": 3600\nPASSWORD_FILE=/run/secrets/db_password%d\n"+
				"TOKEN_URL=https://login.example.com/oauth2/v%d.0/token\nsecretName: my-app-secret-v%d\npassword: ${{ secrets.DB_PASSWORD_%d }}\n"+
				"api_key = os.environ[\"OPENAI_API_KEY_%d\"]\nexport GITHUB_TOKEN=$(gh auth token --hostname h%d)\nDB_PASSWORD=********\n"+
				"access_key_id: ${AWS_ACCESS_KEY_ID}\nPASSWORD_HASH=bcrypt\nx-api-key: <your-key-%d>\n", rng.IntN(9999), i, i, i, i, i, i, i)
		})
	},
	"source of a login": func(rng *rand.Rand) string {
		return lines(30, func(i int) string {
			return fmt.Sprintf("const password = await getPassword(user%d);\nlet accessToken: string = this.tokens.current%d;\nprivateKey := keys.Private(%d)\n"+
				"if (secretKey === undefined || tokenProvider.isExpired%d()) throw new InvalidTokenError('token expired');\n"+
				"self.auth_token = kwargs.pop('auth_token_%d', None)\n<input type=\"password\" name=\"password-confirmation-%d\">\n", i, i, i, i, i, i)
		})
	},
	"public keys": func(rng *rand.Rand) string {
		return lines(10, func(i int) string {
			b := make([]byte, 300)
			for j := range b {
				b[j] = byte(rng.Uint32())
			}
			e := base64.StdEncoding.EncodeToString(b)
			return "ssh-rsa AAAAB3NzaC1yc2E" + e + " dev@example.org\n-----BEGIN CERTIFICATE-----\nMIID" + e[:60] + "\n" + e[60:124] + "\n-----END CERTIFICATE-----"
		})
	},
}

func lines(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i) + "\n")
	}
	return b.String()
}

func sha(rng *rand.Rand) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(rng.Uint64())))
	return hex.EncodeToString(sum[:])
}

func sentence(rng *rand.Rand) string {
	words := strings.Fields("fix the login token check when a password is empty and the api key header has no secret value left in access list private module")
	var out []string
	for range 4 + rng.IntN(5) {
		out = append(out, words[rng.IntN(len(words))])
	}
	return strings.Join(out, " ")
}
