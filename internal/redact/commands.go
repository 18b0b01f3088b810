package redact

import (
	"slices"
	"strings"
)

// Signs of commands that hold their secrets in another way.
const (
	userInfo   = "@"      // user:password@host
	lastWord   = "last"   // the last word, if a flag says that it is one
	cookieForm = "cookie" // a cookie
	oracleUser = "/"      // user/password, with @host behind it
)

// command is a program that takes secrets on its command line.
type command struct {
	// probe finds it: four bytes of its name.
	probe string
	names []string
	// needs is a word that must be among the arguments, such as login.
	needs string
	// flags have the secret behind them: in the next word if they end with a
	// blank, in the same word if not.
	flags []string
	// sign is before the secret in an argument, as in user:password. If empty, the
	// whole argument is secret.
	sign string
	// words come right before a secret that is a word by itself; skip is how many
	// words are between.
	words []string
	skip  int

	// before has how many bytes each name has before the probe's.
	before []int
}

var commandTable = []command{
	{probe: "mysq", names: []string{"mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlshow"}, flags: []string{"-p"}},
	{probe: "mari", names: []string{"mariadb", "mariadb-dump"}, flags: []string{"-p"}},
	{probe: "lsh ", names: []string{"mysqlsh"}, sign: userInfo},
	{probe: "sshp", names: []string{"sshpass"}, flags: []string{"-p", "-p "}},
	{probe: "dock", names: []string{"docker"}, needs: "login", flags: []string{"-p ", "-p"}},
	{probe: "podm", names: []string{"podman", "buildah"}, needs: "login", flags: []string{"-p ", "-p"}},
	{probe: "helm", names: []string{"helm"}, needs: "login", flags: []string{"-p "}},
	{probe: "oras", names: []string{"oras"}, needs: "login", flags: []string{"-p "}},
	{probe: "skop", names: []string{"skopeo"}, flags: []string{"--src-creds ", "--dest-creds ", "--creds ", "--src-creds=", "--dest-creds=", "--creds="}, sign: ":"},
	{probe: "az [la]", names: []string{"az"}, needs: "login", flags: []string{"-p "}},
	{probe: "az k", names: []string{"az"}, needs: "secret", flags: []string{"--value ", "--value="}},
	{probe: "oc l", names: []string{"oc"}, needs: "login", flags: []string{"-p "}},
	{probe: "twin", names: []string{"twine"}, needs: "upload", flags: []string{"-p "}},
	{probe: "curl", names: []string{"curl"}, flags: []string{"-u ", "-u", "--user ", "--user=", "-U ", "-U", "--proxy-user ", "--proxy-user="}, sign: ":"},
	{probe: "curl", names: []string{"curl"}, flags: []string{"--oauth2-bearer ", "--pass "}},
	{probe: "curl", names: []string{"curl"}, flags: []string{"-E ", "--cert ", "--cert=", "--key "}, sign: ":"},
	{probe: "curl", names: []string{"curl"}, flags: []string{"-b ", "-b", "--cookie ", "--cookie="}, sign: cookieForm},
	{probe: "http", names: []string{"http", "https", "xh"}, flags: []string{"-a ", "--auth ", "--auth="}, sign: ":"},
	{probe: "http", names: []string{"http", "https"}, needs: "bearer", flags: []string{"-a "}},
	{probe: "redi", names: []string{"redis-cli"}, flags: []string{"-a ", "--pass "}},
	{probe: "mong", names: []string{"mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"}, flags: []string{"-p ", "-p"}},
	{probe: "ldap", names: []string{"ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami", "ldapdelete"}, flags: []string{"-w ", "-w"}},
	{probe: "sqlc", names: []string{"sqlcmd"}, flags: []string{"-P ", "-P"}},
	{probe: "bcp ", names: []string{"bcp"}, flags: []string{"-P ", "-P"}},
	{probe: "pack", names: []string{"impacket-psexec", "impacket-secretsdump", "impacket-wmiexec", "impacket-smbexec"}, sign: userInfo},
	{probe: "smbc", names: []string{"smbclient"}, flags: []string{"-U ", "--user=", "-U"}, sign: "%"},
	{probe: "lftp", names: []string{"lftp"}, flags: []string{"-u "}, sign: ","},
	{probe: "nssl", names: []string{"openssl"}, flags: []string{"-passin ", "-passout ", "-pass ", "-password "}, sign: "pass:"},
	{probe: "nssl", names: []string{"openssl"}, flags: []string{"-k ", "-K "}},
	{probe: "keyg", names: []string{"ssh-keygen"}, flags: []string{"-N ", "-P "}},
	{probe: "unzi", names: []string{"unzip"}, flags: []string{"-P "}},
	{probe: "zip ", names: []string{"zip"}, flags: []string{"-P "}},
	{probe: "7z[a ]", names: []string{"7z", "7za"}, flags: []string{"-p"}},
	{probe: "user", names: []string{"useradd", "usermod"}, flags: []string{"-p "}},
	{probe: "htpa", names: []string{"htpasswd"}, sign: lastWord},
	{probe: "rdes", names: []string{"rdesktop"}, flags: []string{"-p "}},
	{probe: "free", names: []string{"xfreerdp", "wlfreerdp"}, flags: []string{"/p:"}},
	{probe: "cmdk", names: []string{"cmdkey"}, flags: []string{"/pass:"}},
	{probe: "snmp", names: []string{"snmpwalk", "snmpget", "snmpset", "snmpbulkwalk"}, flags: []string{"-A ", "-X ", "-c "}},
	{probe: "ipmi", names: []string{"ipmitool"}, flags: []string{"-P "}},
	{probe: "etcd", names: []string{"etcdctl"}, flags: []string{"--user ", "--user="}, sign: ":"},
	{probe: "doct", names: []string{"doctl"}, flags: []string{"-t "}},
	{probe: "grad", names: []string{"gradle", "gradlew"}, flags: []string{"-PossrhPassword="}},
	{probe: "aws ", names: []string{"aws"}, needs: "secretsmanager", flags: []string{"--secret-string ", "--secret-binary "}},
	{probe: "aws ", names: []string{"aws"}, needs: "ssm", flags: []string{"--value ", "--value="}},
	{probe: "gh s", names: []string{"gh"}, needs: "secret", flags: []string{"--body ", "--body=", "-b ", "-b"}},
	{probe: "wran", names: []string{"wrangler", "vercel"}, words: []string{"<<<"}},
	{probe: "verc", names: []string{"vercel"}, words: []string{"<<<"}},
	// A word by itself.
	{probe: "vaul", names: []string{"vault"}, words: []string{"login", "unseal"}},
	{probe: "carg", names: []string{"cargo"}, words: []string{"login"}},
	{probe: "snyk", names: []string{"snyk"}, words: []string{"auth"}},
	{probe: "ngro", names: []string{"ngrok"}, words: []string{"add-authtoken", "authtoken"}},
	{probe: "AUTH", names: []string{"AUTH"}, words: []string{"AUTH", "default"}},
	{probe: "rabb", names: []string{"rabbitmqctl"}, words: []string{"add_user", "change_password"}, skip: 1},
	{probe: "wpa_", names: []string{"wpa_passphrase"}, words: []string{"wpa_passphrase"}, skip: 1},
	{probe: "mc a", names: []string{"mc"}, words: []string{"set"}, skip: 3},
	{probe: "poet", names: []string{"poetry"}, words: []string{"config"}, skip: 2},
	{probe: "net ", names: []string{"net"}, words: []string{"/user:"}},
	{probe: "gem ", names: []string{"gem"}, flags: []string{"--key ", "-k "}},
	// Signing, packages, databases, tests of servers.
	{probe: "secu", names: []string{"security"}, flags: []string{"-p ", "-P ", "-k ", "-w "}},
	{probe: "ignt", names: []string{"signtool"}, flags: []string{"/p ", "-p "}},
	{probe: "xcru", names: []string{"xcrun"}, flags: []string{"-p "}},
	{probe: "esig", names: []string{"azuresigntool"}, flags: []string{"-kvs "}},
	{probe: "eSig", names: []string{"AzureSignTool"}, flags: []string{"-kvs "}},
	{probe: "tuti", names: []string{"certutil"}, flags: []string{"-p "}},
	{probe: "dotn", names: []string{"dotnet"}, needs: "user-secrets", words: []string{"set"}, skip: 1},
	{probe: "nets", names: []string{"netsh"}, needs: "hostednetwork", flags: []string{"key=", "keyMaterial="}},
	{probe: "rasd", names: []string{"rasdial"}, words: []string{"rasdial"}, skip: 2},
	{probe: "psex", names: []string{"psexec", "psexec64"}, flags: []string{"-p "}},
	{probe: "PsEx", names: []string{"PsExec", "PsExec64"}, flags: []string{"-p "}},
	{probe: "scht", names: []string{"schtasks"}, flags: []string{"/rp ", "/p ", "/RP "}},
	{probe: "wmic", names: []string{"wmic"}, flags: []string{"/password:"}},
	{probe: "sc c", names: []string{"sc"}, flags: []string{"password= ", "password="}},
	{probe: "reg ", names: []string{"reg"}, flags: []string{"/d "}},
	{probe: "net ", names: []string{"net"}, words: []string{"user"}, skip: 1},
	{probe: "cqls", names: []string{"cqlsh"}, flags: []string{"-p "}},
	{probe: "nflu", names: []string{"influx"}, flags: []string{"-password ", "-p ", "-t "}},
	{probe: "neo4", names: []string{"neo4j-admin"}, words: []string{"set-initial-password"}},
	{probe: "cyph", names: []string{"cypher-shell"}, flags: []string{"-p "}},
	{probe: "isql", names: []string{"isql", "iusql"}, words: []string{"isql"}, skip: 2},
	{probe: "db2 ", names: []string{"db2"}, words: []string{"using"}},
	{probe: "sqlp", names: []string{"sqlplus"}, sign: oracleUser},
	{probe: "xpdp", names: []string{"expdp"}, sign: oracleUser},
	{probe: "mpdp", names: []string{"impdp"}, sign: oracleUser},
	{probe: "sqll", names: []string{"sqlldr"}, sign: oracleUser},
	{probe: "rpcc", names: []string{"rpcclient"}, flags: []string{"-U "}, sign: "%"},
	{probe: "obsc", names: []string{"obscure"}, words: []string{"obscure"}},
	{probe: "acry", names: []string{"veracrypt", "truecrypt"}, flags: []string{"-p "}},
	{probe: "dema", names: []string{"sendemail", "sendEmail"}, flags: []string{"-xp "}},
	{probe: "rman", names: []string{"rman"}, sign: oracleUser},
	{probe: "CONN", names: []string{"CONNECT", "CONN"}, sign: oracleUser},
	{probe: "fly ", names: []string{"fly"}, flags: []string{"-p "}},
	{probe: "poet", names: []string{"poetry"}, words: []string{"config"}, skip: 1},
	{probe: "poet", names: []string{"poetry"}, flags: []string{"-p "}},
	{probe: "mpos", names: []string{"composer"}, needs: "config", words: []string{"config"}, skip: 2},
	{probe: "mpos", names: []string{"composer"}, needs: "config", words: []string{"config"}, skip: 1},
	{probe: "nuge", names: []string{"nuget"}, flags: []string{"-k ", "-p ", "-ApiKey ", "-Password ", "-apikey "}},
	{probe: "nuge", names: []string{"nuget"}, words: []string{"setApiKey", "setapikey"}},
	{probe: "nuge", names: []string{"nuget"}, words: []string{"push"}, skip: 1},
	{probe: "onan", names: []string{"conan"}, flags: []string{"-p "}},
	{probe: "vsce", names: []string{"vsce", "ovsx"}, flags: []string{"-p "}},
	{probe: "ovsx", names: []string{"ovsx"}, flags: []string{"-p "}},
	{probe: "cpan", names: []string{"cpan-upload"}, flags: []string{"-p "}},
	{probe: "anac", names: []string{"anaconda"}, flags: []string{"-t "}},
	{probe: "bund", names: []string{"bundle"}, needs: "config", words: []string{"config", "set", "--global", "--local"}, skip: 1, sign: ":"},
	{probe: "cric", names: []string{"crictl"}, flags: []string{"--creds ", "--creds="}, sign: ":"},
	{probe: "ctr ", names: []string{"ctr"}, flags: []string{"--user ", "-u ", "--user="}, sign: ":"},
	{probe: "nerd", names: []string{"nerdctl"}, needs: "login", flags: []string{"-p "}},
	{probe: "hey ", names: []string{"hey"}, flags: []string{"-a "}, sign: ":"},
	{probe: "ab -", names: []string{"ab"}, flags: []string{"-A ", "-P "}, sign: ":"},
	{probe: "hydr", names: []string{"hydra", "medusa", "ncrack"}, flags: []string{"-p "}},
	{probe: "kmap", names: []string{"crackmapexec", "netexec"}, flags: []string{"-p "}},
	{probe: "evil", names: []string{"evil-winrm"}, flags: []string{"-p "}},
	{probe: "nikt", names: []string{"nikto"}, flags: []string{"-id "}, sign: ":"},
	{probe: "swak", names: []string{"swaks"}, flags: []string{"-ap ", "--auth-password ", "-ap="}},
	{probe: "unra", names: []string{"unrar", "rar"}, flags: []string{"-p"}},
	{probe: "rar ", names: []string{"rar"}, flags: []string{"-p", "-hp"}},
	{probe: "gpg ", names: []string{"gpg"}, flags: []string{"--passphrase ", "--passphrase="}},
	{probe: "b2 a", names: []string{"b2"}, words: []string{"authorize-account"}, skip: 1},
	{probe: "wand", names: []string{"wandb"}, words: []string{"login"}},
	{probe: "glab", names: []string{"glab"}, words: []string{"set"}, skip: 1},
	{probe: "glab", names: []string{"glab"}, flags: []string{"--value ", "-v "}},
	{probe: "dron", names: []string{"drone"}, flags: []string{"--data "}},
	{probe: "nsul", names: []string{"consul"}, needs: "put", words: []string{"put"}, skip: 1},
	{probe: "pulu", names: []string{"pulumi"}, needs: "--secret", words: []string{"--secret", "set"}, skip: 1},
	{probe: "ecov", names: []string{"codecov"}, flags: []string{"-t "}},
	{probe: "xh -", names: []string{"xh"}, flags: []string{"-a "}},
	{probe: "mosq", names: []string{"mosquitto_pub", "mosquitto_sub"}, flags: []string{"-P "}},
	{probe: "luen", names: []string{"confluent"}, flags: []string{"--api-secret ", "--secret "}, words: []string{"store"}, skip: 1},
	{probe: "nsul", names: []string{"consul"}, words: []string{"agent", "default", "replication"}},
	{probe: "nsul", names: []string{"consul"}, flags: []string{"-encrypt=", "-encrypt "}},
	{probe: "noma", names: []string{"nomad"}, needs: "keyring", words: []string{"install"}},
	{probe: "sona", names: []string{"sonar-scanner"}, flags: []string{"-Dsonar.login="}},
	{probe: "mkpa", names: []string{"mkpasswd"}, words: []string{"sha-512", "sha-256", "bcrypt", "yescrypt"}},
	{probe: "ldap", names: []string{"ldappasswd"}, flags: []string{"-s ", "-a ", "-w "}},
	{probe: "winr", names: []string{"winrs"}, flags: []string{"-p:", "/p:", "-password:"}},
	{probe: "plin", names: []string{"plink"}, flags: []string{"-pw "}},
	{probe: "pscp", names: []string{"pscp"}, flags: []string{"-pw "}},
}

func commandRules() []*rule {
	var rules []*rule
	table := slices.Clone(commandTable)
	for i := range table {
		c := &table[i]
		fixed := c.probe[:find(c.probe, 0, len(c.probe), "[ ")]
		for _, name := range c.names {
			c.before = append(c.before, max(0, strings.Index(name, fixed)))
		}
	}
	for rest := table; len(rest) > 0; {
		n := 1 // how many commands have the same probe
		for n < len(rest) && rest[n].probe == rest[0].probe {
			n++
		}
		list := rest[:n]
		rest = rest[n:]
		name := "command-secret"
		if list[0].probe == "curl" {
			name = "curl-password"
		}
		rules = append(rules, &rule{name: name, probes: []string{list[0].probe}, read: func(t *text, i int) (spans []span) {
			for n := 0; n < len(list) && len(spans) == 0; n++ {
				spans = t.command(&list[n], i)
			}
			return spans
		}})
	}
	return rules
}

// longestCommand bounds how far a command line is read.
const longestCommand = 600

// argument is a word of a command line, without the quotes around it.
type argument struct {
	lo, hi int
	quoted bool
	// flag is what is before the quotes: -p'x', --user="x".
	flag string
}

// command reads the command line with the name at i, or around it.
func (t *text) command(c *command, i int) []span {
	s := t.s
	lo, hi := c.nameAt(s, i)
	if hi < 0 || i < t.read[c] {
		return nil
	}
	words := t.words(lo)
	// What is read once needs no second look, even if it names the program again;
	// what is in quotes may be another command.
	if t.read == nil {
		t.read = map[*command]int{}
	}
	for _, w := range words {
		if t.read[c] = w.lo; w.quoted {
			break
		}
	}
	if c.needs != "" && !slices.ContainsFunc(words, func(w argument) bool { return s[w.lo:w.hi] == c.needs }) {
		return nil
	}
	var out []span
	for n := range words {
		if sp, ok := t.secretArgument(c, words, n); ok {
			out = append(out, sp)
		}
	}
	return out
}

// nameAt is where the command's name is, with a blank behind it, of which the probe
// fits at i; hi is -1 if it is none of the names.
func (c *command) nameAt(s string, i int) (lo, hi int) {
	for n, name := range c.names {
		lo := i - c.before[n]
		hi := lo + len(name)
		if lo >= 0 && byteIn(s, hi, " \t") && strings.HasPrefix(s[lo:], name) && boundaryBefore(s, lo) {
			return lo, hi
		}
	}
	return 0, -1
}

// secretArgument reads the secret of one word, if it has one or leads to one.
func (t *text) secretArgument(c *command, words []argument, n int) (span, bool) {
	s := t.s
	w := words[n]
	v := s[w.lo:w.hi]
	for _, lead := range c.words {
		if (v == lead || strings.HasSuffix(lead, ":") && strings.HasPrefix(v, lead)) && n+1+c.skip < len(words) {
			next := words[n+1+c.skip]
			if strings.HasPrefix(s[next.lo:], "--") {
				next = words[len(words)-1]
			}
			got := s[next.lo:next.hi]
			if t.isLiteral(next, got) && (c.skip > 0 || len(got) >= 10 && !wordy(got) || passwordKind.likely(got)) && !looksLikeCode(got, true) {
				return t.part(next, c.sign)
			}
		}
	}
	switch at := strings.LastIndexByte(v, '@'); {
	case c.sign == lastWord && len(v) > 1 && v[0] == '-' && strings.Contains(v, "b") && n+2 < len(words):
		return t.part(words[len(words)-1], "")
	case c.sign == oracleUser && n > 0:
		// user/password@host, also behind userid=.
		w.lo += strings.LastIndexByte(v[:max(0, strings.IndexByte(v, '/'))], '=') + 1
		if at > 0 {
			w.hi = w.lo + strings.LastIndexByte(s[w.lo:w.hi], '@')
		}
		return t.part(w, oracleUser)
	case c.sign == userInfo && n > 0 && at >= 0:
		w.hi = w.lo + at
		return t.part(w, ":")
	}
	for _, f := range c.flags {
		if w.flag != "" {
			if w.flag == f {
				return t.part(w, c.sign)
			}
			continue
		}
		flag, next := strings.CutSuffix(f, " ")
		rest, found := strings.CutPrefix(v, flag)
		switch {
		case !found:
		case next && rest == "" && n+1 < len(words):
			return t.part(words[n+1], c.sign)
		case !next && rest != "" && !(len(f) == 2 && f != "-p" && rest[0] == '-'):
			w.lo += len(f)
			return t.part(w, c.sign)
		}
	}
	return span{}, false
}

// part is the part of a word that is secret, behind the sign.
func (t *text) part(w argument, sign string) (span, bool) {
	s := t.s
	if sign == cookieForm {
		if spans := t.cookies(w.lo, false); len(spans) > 0 {
			return spans[0], true
		}
		return span{}, false
	}
	if sign != "" {
		user, password, found := strings.Cut(s[w.lo:w.hi], sign)
		switch {
		case !found, sign == "pass:" && user != "", sign == oracleUser && (user == "" || !only(user, wordBytes)):
			return span{}, false
		case len(password) <= 1 && sign == ":" && len(user) > 9 && unwordy(match{text: user, hi: len(user)}):
			// A key that needs no password is in the user's place.
			return span{lo: w.lo, hi: w.lo + len(user)}, true
		case user == password:
			return span{}, false
		}
		w.lo += len(user) + len(sign)
	}
	if !t.isLiteral(w, s[w.lo:w.hi]) {
		return span{}, false
	}
	return span{lo: w.lo, hi: w.hi}, true
}

// isLiteral is literalValue, with the beginning of one before a cut.
func (t *text) isLiteral(w argument, v string) bool {
	if t.isCutAt(w.hi) {
		return len(v) >= headMin && !placeholder(v) && strings.IndexByte("$-<", v[0]) < 0
	}
	return literalValue(v)
}

// words reads the words of a command from its name on: to the line's end, or to
// a sign that ends a command.
func (t *text) words(i int) []argument {
	s := t.s
	var out []argument
	for end := min(len(s), i+longestCommand); ; {
		if i = endOf(s[:end], i, end, oneOf(" \t")); i >= end {
			break
		}
		// A backslash joins two lines.
		if i > 0 && s[i-1:i+1] == "\\\n" {
			i++
			continue
		}
		if strings.HasPrefix(s[i:], "\\\n") {
			i += 2
			continue
		}
		if lineBreak(s, i) > 0 || strings.IndexByte("|;&)", s[i]) >= 0 {
			break
		}
		w, next := t.wordAt(i, end)
		if next == i || len(out) > 0 && s[w.lo:w.hi] == s[out[0].lo:out[0].hi] {
			break // Nothing, or the next command.
		}
		out = append(out, w)
		i = next
	}
	return out
}

// wordAt reads one word. Quotes around it, or around what follows a flag or a
// sign of assignment in it, do not belong to it.
func (t *text) wordAt(i, end int) (w argument, next int) {
	s := t.s
	j := i
	for j < end && s[j] > ' ' && strings.IndexByte("|;)", s[j]) < 0 && !(t.cut && ellipsis(s[j:])) && lineBreak(s, j) == 0 {
		q := closingQuotes(s[:min(end, j+8)], j)
		if q == j {
			if strings.HasPrefix(s[j:end], `\\`) {
				j++
			}
			j++
			continue
		}
		// What follows a quote goes to the next one of its kind.
		length := strings.IndexByte(s[q:end], s[q-1])
		switch {
		case length < 0 && j == i:
			return argument{lo: q, hi: q}, end
		case length < 0, j > i && strings.IndexByte("=:pPub", s[j-1]) < 0:
			return argument{lo: i, hi: j}, end // The quote closes a text around the command.
		case j == i, s[i] == '-':
			stop := q + len(strings.TrimRight(s[q:q+length], `\`))
			return argument{lo: q, hi: stop, quoted: true, flag: s[i:j]}, q + length + 1
		}
		j = q + length + 1
	}
	return argument{lo: i, hi: j}, j
}
