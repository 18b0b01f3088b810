package redact

import "strings"

// form is how a command's argument holds a secret.
type form int

const (
	whole      form = iota // all of it
	colon                  // behind the first colon: user:password
	percent                // behind a per cent sign
	comma                  // behind a comma
	passForm               // behind pass:
	userInfo               // user:password@host
	lastWord               // the last word, if a flag says that it is one
	cookieForm             // a cookie
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
	form  form
	// words come right before a secret that is a word by itself; skip is how many
	// words are between.
	words []string
	skip  int
}

var commandTable = []command{
	{probe: "mysq", names: []string{"mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlshow"}, flags: []string{"-p"}},
	{probe: "mari", names: []string{"mariadb", "mariadb-dump"}, flags: []string{"-p"}},
	{probe: "lsh ", names: []string{"mysqlsh"}, form: userInfo},
	{probe: "sshp", names: []string{"sshpass"}, flags: []string{"-p", "-p "}},
	{probe: "dock", names: []string{"docker"}, needs: "login", flags: []string{"-p ", "-p"}},
	{probe: "podm", names: []string{"podman", "buildah"}, needs: "login", flags: []string{"-p ", "-p"}},
	{probe: "helm", names: []string{"helm"}, needs: "login", flags: []string{"-p "}},
	{probe: "oras", names: []string{"oras"}, needs: "login", flags: []string{"-p "}},
	{probe: "skop", names: []string{"skopeo"}, flags: []string{"--src-creds ", "--dest-creds ", "--creds ", "--src-creds=", "--dest-creds=", "--creds="}, form: colon},
	{probe: "az [la]", names: []string{"az"}, needs: "login", flags: []string{"-p "}},
	{probe: "az k", names: []string{"az"}, needs: "secret", flags: []string{"--value ", "--value="}},
	{probe: "oc l", names: []string{"oc"}, needs: "login", flags: []string{"-p "}},
	{probe: "twin", names: []string{"twine"}, needs: "upload", flags: []string{"-p "}},
	{probe: "curl", names: []string{"curl"}, flags: []string{"-u ", "-u", "--user ", "--user=", "-U ", "-U", "--proxy-user ", "--proxy-user="}, form: colon},
	{probe: "curl", names: []string{"curl"}, flags: []string{"--oauth2-bearer ", "--pass "}},
	{probe: "curl", names: []string{"curl"}, flags: []string{"-b ", "-b", "--cookie ", "--cookie="}, form: cookieForm},
	{probe: "http", names: []string{"http", "https", "xh"}, flags: []string{"-a ", "--auth ", "--auth="}, form: colon},
	{probe: "redi", names: []string{"redis-cli"}, flags: []string{"-a ", "--pass "}},
	{probe: "mong", names: []string{"mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"}, flags: []string{"-p ", "-p"}},
	{probe: "ldap", names: []string{"ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami", "ldapdelete"}, flags: []string{"-w ", "-w"}},
	{probe: "sqlc", names: []string{"sqlcmd"}, flags: []string{"-P ", "-P"}},
	{probe: "bcp ", names: []string{"bcp"}, flags: []string{"-P ", "-P"}},
	{probe: "pack", names: []string{"impacket-psexec", "impacket-secretsdump", "impacket-wmiexec", "impacket-smbexec"}, form: userInfo},
	{probe: "smbc", names: []string{"smbclient"}, flags: []string{"-U ", "--user=", "-U"}, form: percent},
	{probe: "lftp", names: []string{"lftp"}, flags: []string{"-u "}, form: comma},
	{probe: "nssl", names: []string{"openssl"}, flags: []string{"-passin ", "-passout ", "-pass ", "-password "}, form: passForm},
	{probe: "nssl", names: []string{"openssl"}, flags: []string{"-k ", "-K "}},
	{probe: "keyg", names: []string{"ssh-keygen"}, flags: []string{"-N ", "-P "}},
	{probe: "unzi", names: []string{"unzip"}, flags: []string{"-P "}},
	{probe: "zip ", names: []string{"zip"}, flags: []string{"-P "}},
	{probe: "7z[a ]", names: []string{"7z", "7za"}, flags: []string{"-p"}},
	{probe: "user", names: []string{"useradd", "usermod"}, flags: []string{"-p "}},
	{probe: "htpa", names: []string{"htpasswd"}, form: lastWord},
	{probe: "rdes", names: []string{"rdesktop"}, flags: []string{"-p "}},
	{probe: "free", names: []string{"xfreerdp", "wlfreerdp"}, flags: []string{"/p:"}},
	{probe: "cmdk", names: []string{"cmdkey"}, flags: []string{"/pass:"}},
	{probe: "snmp", names: []string{"snmpwalk", "snmpget", "snmpset", "snmpbulkwalk"}, flags: []string{"-A ", "-X "}},
	{probe: "ipmi", names: []string{"ipmitool"}, flags: []string{"-P "}},
	{probe: "etcd", names: []string{"etcdctl"}, flags: []string{"--user ", "--user="}, form: colon},
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
}

func commandRules() []*rule {
	byProbe := map[string][]command{}
	var order []string
	for _, c := range commandTable {
		if byProbe[c.probe] == nil {
			order = append(order, c.probe)
		}
		byProbe[c.probe] = append(byProbe[c.probe], c)
	}
	var rules []*rule
	for _, probe := range order {
		list := byProbe[probe]
		name := "command-secret"
		if probe == "curl" {
			name = "curl-password"
		}
		rules = append(rules, &rule{name: name, probes: []string{probe}, read: func(t *text, i int) []span {
			for n := range list {
				if spans := t.command(&list[n], i); len(spans) > 0 {
					return spans
				}
			}
			return nil
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
	if hi < 0 || hi == len(s) || s[hi] != ' ' && s[hi] != '\t' || i < t.read[c] {
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
	if c.needs != "" {
		found := false
		for _, w := range words {
			found = found || s[w.lo:w.hi] == c.needs
		}
		if !found {
			return nil
		}
	}
	var out []span
	for n := range words {
		if sp, ok := t.secretArgument(c, words, n); ok {
			out = append(out, sp)
		}
	}
	return out
}

// nameAt is where the command's name is of which the probe fits at i; hi is
// -1 if it is none of the names.
func (c *command) nameAt(s string, i int) (lo, hi int) {
	fixed, _, _ := strings.Cut(strings.TrimRight(c.probe, " "), "[")
	fixed, _, _ = strings.Cut(fixed, " ")
	for _, name := range c.names {
		lo := i - strings.Index(name, fixed)
		hi := lo + len(name)
		if lo >= 0 && lo <= i && strings.HasPrefix(s[lo:], name) && boundaryBefore(s, lo) && (hi == len(s) || !isWord(s[hi]) && s[hi] != '-') {
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
			got := s[next.lo:next.hi]
			if t.isLiteral(next, got) && (len(got) >= 10 || c.skip > 0) && (!wordy(got) || c.skip > 0) {
				return span{lo: next.lo, hi: next.hi}, true
			}
		}
	}
	if c.form == lastWord {
		if last := words[len(words)-1]; len(v) > 1 && v[0] == '-' && strings.Contains(v, "b") && n+2 < len(words) {
			return t.part(last, whole)
		}
		return span{}, false
	}
	if c.form == userInfo && n > 0 {
		at := strings.LastIndexByte(v, '@')
		if at < 0 {
			return span{}, false
		}
		w.hi = w.lo + at
		return t.part(w, colon)
	}
	for _, f := range c.flags {
		if w.flag != "" {
			if w.flag == f {
				return t.part(w, c.form)
			}
			continue
		}
		rest, found := strings.CutPrefix(v, strings.TrimRight(f, " "))
		if !found {
			continue
		}
		if strings.HasSuffix(f, " ") {
			if rest != "" || n+1+c.skip >= len(words) {
				continue
			}
			return t.part(words[n+1+c.skip], c.form)
		}
		if rest == "" {
			// -p"$x": the quotes begin behind the flag.
			continue
		}
		w.lo += len(f)
		if len(f) == 2 && f != "-p" && strings.HasPrefix(rest, "-") {
			continue
		}
		return t.part(w, c.form)
	}
	return span{}, false
}

// part is the secret part of a word.
func (t *text) part(w argument, f form) (span, bool) {
	s := t.s
	if f == cookieForm {
		if spans := t.cookies(w.lo, false); len(spans) > 0 {
			return spans[0], true
		}
		return span{}, false
	}
	sign := map[form]string{colon: ":", percent: "%", comma: ",", passForm: "pass:"}[f]
	v := s[w.lo:w.hi]
	if f != whole {
		at := strings.Index(v, sign)
		if at < 0 || f == passForm && at != 0 {
			// A key that needs no password is in the user's place.
			return span{}, false
		}
		if at+1 == len(v) && f == colon && len(v) > 10 && unwordy(match{text: v, hi: at}) {
			return span{lo: w.lo, hi: w.lo + at}, true
		}
		w.lo += at + len(sign)
		if name := v[:at]; name == v[at+len(sign):] {
			return span{}, false
		}
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
	end := min(len(s), i+longestCommand)
	for i < end {
		i = endOf(s[:end], i, end, " \t")
		if i == end {
			break
		}
		if n := lineBreak(s, i); n > 0 {
			// A backslash before it joins two lines.
			if i > 0 && s[i-1] == '\\' && s[i] == '\n' {
				i += n
				continue
			}
			break
		}
		if s[i] == '\\' && i+1 < len(s) && s[i+1] == '\n' {
			i += 2
			continue
		}
		if strings.IndexByte("|;&)", s[i]) >= 0 {
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
	w.lo = i
	j := i
	for j < end && s[j] > ' ' && strings.IndexByte("|;)", s[j]) < 0 {
		if t.cut && ellipsis(s[j:]) || lineBreak(s, j) > 0 {
			break
		}
		q := closingQuotes(s[:min(len(s), j+8)], j)
		if q == j {
			if s[j] == '\\' && j+1 < end && s[j+1] == '\\' {
				j++
			}
			j++
			continue
		}
		// What follows a quote goes to the next one of its kind.
		quote := s[q-1]
		length := strings.IndexByte(s[q:end], quote)
		if length < 0 {
			if j == i {
				w.lo = q
			}
			// It closes a text around the command.
			w.hi = j
			if j == i {
				w.hi = q
			}
			return w, end
		}
		stop := q + len(strings.TrimRight(s[q:q+length], `\`))
		if j > i && strings.IndexByte("=:pPub", s[j-1]) < 0 {
			w.hi = j
			return w, end
		}
		if j == i || s[i] == '-' {
			if j == i {
				return argument{lo: q, hi: stop, quoted: true}, q + length + 1
			}
			// -p'x': the flag's own quotes.
			return argument{lo: q, hi: stop, quoted: true, flag: s[i:j]}, q + length + 1
		}
		j = q + length + 1
	}
	w.hi = j
	return w, j
}
