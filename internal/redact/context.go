package redact

import "strings"

// contextRules are the secrets that only their surroundings give away. Of
// those that fit at one place the first wins.
func contextRules() []*rule {
	rules := []*rule{
		{name: "url-password", probes: []string{"://", `:\`}, read: urlUser},
		{name: "auth-header", probes: []string{"(?i)auth"}, read: authHeader},
		{name: "cookie", probes: []string{"(?i)cook"}, read: cookieHeader},
		{name: "bearer-token", probes: []string{"(?i)bear"}, pattern: `(?i:bearer)[ \t,]+([A-Za-z0-9._~+/=-]{16,})`, left: true, lead: 7, ok: bearer},
		{name: "header-secret", probes: []string{"-H", "--he"}, pattern: `(?:-H|--header)[ \t=]*\\*["'](?i:[A-Za-z0-9_-]{0,40}(?:key|token|auth|secret|session)[A-Za-z0-9_-]{0,40}):[ \t]*([^\s"'\\]{8,})`, lead: 4, ok: notPlaceholder},
		{name: "kubernetes-secret", probes: []string{"kind"}, read: kubernetesSecret},
		{name: "netrc-password", probes: []string{"logi"}, needs: "password", plausible: netrcLogin, pattern: `login[ \t]+[^\s\\-][^\s\\]{0,100}(?:[ \t]+account[ \t]+[^\s\\]{1,80})?(?:[ \t]+|` + nextLineOf + `)password[ \t]+([^\s\\"\x1b]{4,})`, left: true, lead: 5, reach: 512, ok: literal},
		{name: "parameter-value", probes: []string{"Secu"}, pattern: `SecureString(?:(?:\t|\\+t|\^I)|[\\"',\s|:$]{1,60}(?:` + nextLineOf + `)?\\*["']?(?i:value)[\\"'\s|:]{1,60})([^\s"'\\|\x1b]{6,})`, left: true, lead: 12, ok: literal},
		{name: "sql-password", probes: []string{"(?i)tifi"}, pattern: `(?i:tified\s+(?:with\s+\w+\s+)?(?:by|as))\s+(?:(?i:password)\s+)?\\*["']?([^"'\\\s;]{4,})`, lead: 8, ok: sqlPassword},
		{name: "call-password", probes: []string{"[uU]th[=(]"}, pattern: `[uU]th(?:=\(|\()\s*\\*["'][^"'\\\s]{1,80}\\*["']\s*,\s*\\*["']([^"'\\\s]{4,})`, lead: 4, ok: literal},
		{name: "secure-string", probes: []string{"-Sec"}, pattern: `-SecureString\s+(?:-String\s+)?(?:\\*["'])?([^"'\\\s]{4,})`, lead: 13, ok: secureString},
		{name: "oracle-password", probes: []string{"thin"}, pattern: `thin:[^\s/@:]{1,60}/([^\s@"'\\]{4,})@`, lead: 5, ok: notPlaceholder},
		{name: "shadow-hash", probes: []string{":$", "$apr"}, pattern: `(?::\$[0-9a-z]{1,2}\$|\$apr1\$)([A-Za-z0-9./$=,]{20,})`, lead: 5},
		{name: "cookie", probes: []string{"TRUE", "FALS"}, pattern: `(?:TRUE|FALSE)(?:\t|\\+t|\^I)[0-9]{1,12}(?:\t|\\+t|\^I)[^\s\\]{1,80}(?:\t|\\+t|\^I)([^\s\\"]{8,})`, lead: 6, ok: literal},
		{name: "pgpass-password", probes: []string{":[0123456789][0123456789][0123456789]", ":*:"}, read: pgpass},
		{name: "piped-password", probes: []string{"echo", "rint", "yes "}, read: pipedPassword},
		{name: "piped-password", probes: []string{"<<< "}, read: herePassword},
		{name: "printed-secret", probes: []string{"$ [abcdefghijklmnopqrstuvwxyz]"}, read: printedSecret},
		{name: "bind-password", probes: []string{"bind"}, pattern: `bindpw[ \t]+([^\s"'\\\x1b]{4,})`, lead: 6, ok: literal},
		{name: "plist-secret", probes: []string{"key>"}, pattern: `key>[^<\\]{0,40}(?i:pass|passw(?:or)?d|token|secret|api[_ -]?key|secret[_ -]?key|passphrase)\s*</key>(?:\s*|` + nextLineOf + `)<string>([^<\s]{4,})`, lead: 4, ok: literal},
		{name: "sasl-password", probes: []string{"]:[0123456789]"}, pattern: `\]:\d{2,5}[ \t]+[^\s:]{1,100}:([^\s"\\\x1b]{4,})`, lead: 3, ok: literal},
		{name: "composer-token", probes: []string{"-oau", "-tok"}, pattern: `-(?:oauth|token)\\*":\s*\{\s*\\*"[^"\\]{1,80}\\*":\s*\\*"([^"\\]{10,})`, lead: 6, ok: literal},
		{name: "query-code", probes: []string{"[?&]cod"}, pattern: `[?&]code=([A-Za-z0-9_.~%-]{16,})`, lead: 6, ok: unwordy},
		{name: "jwk-secret", probes: []string{`"[kd]["\]`}, pattern: `"[kd]\\*":\s*\\*"([A-Za-z0-9_-]{40,})`, lead: 5, ok: unwordy},
	}
	rules = append(rules, []*rule{
		{name: "url-token", probes: []string{"://", `:\`}, read: pathTokens},
		{name: "url-password", probes: []string{"@tcp", "@uni", "@udp", "@/[abcdefghijklmnopqrstuvwxyz]"}, read: dsn},
		{name: "oracle-password", probes: []string{":152"}, read: oracle},
		{name: "encoded-password", probes: []string{"==[\"'\n<,&\\]"}, read: paddedCredentials},
		{name: "call-password", probes: []string{"(?i)cred", "(?i)auth", "(?i)ogin", "nnec", "[pP][dD][oO](", "sqli", "ogon", "igni", "egin", "eliz"}, read: credentialCall},
		{name: "smtp-password", probes: []string{"AUTH", "UGFz"}, pattern: `(?:AUTH (?:PLAIN|LOGIN|XOAUTH2) |UGFzc3dvcmQ6\s+(?:C: |> )?)([A-Za-z0-9+/=]{8,})`, lead: 5, ok: mixed},
		{name: "imap-password", plausible: imapLogin, probes: []string{"LOGI", "logi"}, pattern: `(?:LOGIN \\*"?[^\s"\\]{1,100}|login [^\s"\\]{1,60}@[^\s"\\]{1,60})\\*"? \\*"?([^\s"\\\x1b]{6,})`, left: true, lead: 6, ok: literal},
		{name: "oauth-parameter", probes: []string{"_ver", "_ass", "ce_c", "\"ass"}, pattern: `(?:_verifier|_assertion|ce_code|"assertion)\\*"?\s{0,3}[=:]\s{0,3}\\*"?([A-Za-z0-9._~+/=%-]{32,})`, lead: 9, ok: unwordy},
		{name: "totp-secret", plausible: func(s string) bool { return s[0] != 'e' || strings.HasPrefix(s, "ecret key is") }, probes: []string{"otpa", "totp", "ecre"}, pattern: `(?:otpauth://[^\s"'<]{0,200}[?&]secret=|totp [^\n]{0,40}? |ecret key is:? )([A-Z2-7a-z]{16,})`, lead: 8, ok: base32Seed},
		{name: "login-pair", plausible: pairBehind, probes: []string{"ecod", "dent", "user", "(?i)cred", "-u ", "-a ", "-[AU] ", "(?i)rpwd"}, pattern: `(?:ecoded|dent|user|(?i:cred(?:ential)?s?)|(?i:rpwd)|-[uaAU])\\*["']?(?:\s{0,3}[:=,]|\s)\s{0,3}\\*["'\x60]?[\w.@-]{1,40}[:%]([^\s"'\\\x1b:/\x60]{8,})`, ok: chosen},
		{name: "login-pair", probes: []string{"dmin", "root"}, read: userPair},
		{name: "login-pair", probes: []string{"-[pP] "}, read: userAndPassword},
		{name: "cas-ticket", probes: []string{"TGT-", "ST-[0123456789]", "PGT-"}, pattern: `(?:TGT|ST|PGT)-[0-9]+-([A-Za-z0-9-]{20,})`, left: true},
		{name: "password-hash", probes: []string{"$[1567y]$", "$2[abxy]", "$arg", "$scr", "SCRA", "\"md5"}, pattern: `(?:\$(?:[1567y]|2[abxy])\$[0-9]{0,2}|\$argon2[a-z]{1,2}\$|\$scrypt\$|SCRAM-SHA-[0-9]+\$|"md5)([A-Za-z0-9./$=,+:-]{20,})`, ok: mixed},
		{name: "new-password", plausible: func(s string) bool { return s[4] == ' ' || s[4] == 'a' }, probes: []string{"ew v", "send"}, pattern: `(?:ew value: +|send (?:-- )?\\*["'])([^\s"'\\\x1b]{8,})`, ok: afterPassword},
		{name: "masked-value", probes: []string{"::ad", "::se", "::sa", "isse", "setv"}, pattern: `(?:::add-mask|::(?:set|save)-[a-z]+ name=[^:\s]{1,60}|issecret=true\]|setvariable variable=[^\]\s]{1,60}\])(?:::)?([^\s"'\\\x1b]{8,})`, ok: unwordy},
		{name: "openvpn-key", probes: []string{"nVPN"}, pattern: `nVPN Static key V1-----(?:\s|\\+[nr])+((?:[0-9a-f]{32}(?:\s|\\+[nr])+)*[0-9a-f]{5,32})`, reach: 2 << 10, lead: 23},
		{name: "azure-key", probes: []string{"key[12]"}, pattern: `key[12](?:\\*",\s*\\*"permissions\\*":\s*\\*"[A-Za-z]+\\*",\s*\\*"value\\*":\s*\\*"|[\s,:|"\\]+(?i:full)?[\s,|"]*)([A-Za-z0-9+/]{86}==|[0-9a-f]{32})`},
		{name: "jwt-secret", probes: []string{"jwt."}, pattern: `jwt\.(?:sign|encode|verify|decode)\([^,\n]{1,60},\s*b?\\*["']([^"'\\\s]{8,})`, ok: literal},
		{name: "session-token", probes: []string{"(?i)sess"}, plausible: sessionValue, pattern: `(?i:session(?:_?id)?)\\*["']?\s{0,2}[=:]\s{0,2}\\*["']?([A-Za-z0-9+/=]{40,})`, lead: 9, ok: sessionToken},
		{name: "network-secret", probes: []string{"-ser"}, pattern: `-server (?:community|(?:host \S{1,60} )?key)(?: [0-9])? ([^\s"'\\\x1b]{8,})`, ok: literal},
		{name: "acl-password", probes: []string{"n >[" + alphanumeric + "]", `n \`}, pattern: `n (?:>|\\+u003e)([^\s"'\\\x1b]{8,})`, ok: func(m match) bool { return m.at > 0 && m.text[m.at-1] == 'o' && literal(m) }},
	}...)
	rules = append(rules, commandRules()...)
	return append(rules, &rule{name: "assigned-secret", probes: []string{
		"(?i)pass", "(?i)pwd", "(?i)secr", "(?i)toke", "(?i)api[_ -]", "(?i)apik", "(?i)acce", "(?i)priv", "(?i)acco",
		"(?i)encr", "(?i)sign", "(?i)agen", "(?i)auth", "(?i)cred", `(?i)key[=:"'\]`, `(?i)key[)> ]`, "key-", "(?i)psk", "(?i)sess", `sid["'\]`, "(?i)xsrf", `pw["']:`, "pw ", "PW ", `[_-][pP][wW][=: "'\]`, "(?i)unse", "(?i)pw: ", "(?i)pw=", "seed", "pepp", "key[12]", "(?i)shar", "(?i)salt", "(?i)pswd", "(?i)saml", "(?i)jses", "(?i)phps", "(?i)csrf",
		// Other languages.
		"(?i)kenn", "(?i)mot[_ -]", "(?i)motd", "(?i)rase", "(?i)clav", "(?i)senh", "(?i)pala", "(?i)wach", "(?i)hasl", "[hH]as\xc5", "(?i)hesl", "(?i)seno", "(?i)adga",
		"(?i)sala", "(?i)arol", "aroo", "(?i)jels", "(?i)sifr", "\xc5[\x9e\x9f]if", "(?i)lozi", "(?i)gesl", "(?i)slap", "(?i)kata", "\xe1\xba\xadt", "\xd0\xb0\xd1\x80", "\xd0\x90\xd0\xa0", "\xd0\xbe\xd0[\xb7\xba]",
		"\xcf\x89\xce\xb4", "密", "口", "パ", "暗", "비", "암", "패", "\xd9\x83\xd9\x84", "\xda\xaf\xd8\xb0", "\xd7\xa1\xd7\x99", "ร", "प", "প", "(?i)schl", "[cC][lL]\xc3", "(?i)jeto", "(?i)chav",
		"(?i)chia", "(?i)sleu", "(?i)kluc", "(?i)zuga", "fian", "(?i)anah", "키", "令", "秘", "金", "キ", "ト", "シ", "토", "\xd0\xb5\xd0\xba", "\xd0\xbb\xd1\x8e",
	}, read: assignedSecret})
}

// nextLineOf is what is between two lines of a file that is shown or quoted:
// what a frame puts at a line's end, a line end, escaped or not, and what the frame
// puts before the next line: quotes, signs, line numbers, a log's prefix.
const nextLineOf = `[^\r\n\\]{0,20}(?:\r?\n|\\+r\\+n|\\+[nr])[^\r\n\\]{0,130}?[ \t\r\n"'>|:+*/#]`

// netrcLogin reports whether a password or an account can follow the name of a
// login: as the next word, or on the next line, which begins within 20 characters.
func netrcLogin(s string) bool {
	s = strings.TrimLeft(strings.TrimPrefix(s, "login"), " \t")
	end := strings.IndexAny(s, " \t\r\n\f\v\\")
	if end < 0 {
		return false
	}
	next := strings.TrimLeft(s[end:], " \t")
	if strings.HasPrefix(next, "password") || strings.HasPrefix(next, "account") {
		return true
	}
	chars := 0
	for _, c := range s[end:] {
		if chars++; strings.ContainsRune("\r\n\\", c) {
			return true
		}
		if chars > 20 {
			break
		}
	}
	return false
}

func notPlaceholder(m match) bool { return !placeholder(m.value()) }

// secureString distinguishes a text, in quotes or not, from a variable and a word.
func secureString(m match) bool {
	return m.lo > 0 && strings.IndexByte("\"'", m.text[m.lo-1]) >= 0 && notPlaceholder(m) || literal(m)
}

// sqlPassword is secureString for a statement in capitals, and literal for one that may be prose.
func sqlPassword(m match) bool {
	return m.text[m.at:m.at+4] == "TIFI" && secureString(m) || literal(m)
}

// base32Seed distinguishes the seed of one-time passwords from words.
func base32Seed(m match) bool { return m.head || strings.ContainsAny(m.value(), "234567") }

// sessionToken distinguishes a random value from a session's number.
func sessionToken(m match) bool {
	v := m.value()
	return m.head && len(v) >= 8 && upperLower(v) && hasDigit(v) || !m.head && unwordy(m)
}

// imapLogin reports whether one blank and, behind a word in lower case, an address
// is behind the word.
func imapLogin(s string) bool {
	return byteIn(s, 5, " ") && (s[0] == 'L' || strings.IndexByte(s[6:min(len(s), 68)], '@') > 0)
}

// pairBehind reports whether a name with a sign and another word is behind a word.
func pairBehind(s string) bool {
	i := endOf(s, endOf(s, 0, 12, letterBytes.or("-")), 8, oneOf(" \t\\\"'`:=,"))
	j := endOf(s, i, 41, wordBytes.or(".@-"))
	return j > i && byteIn(s, j, ":%") && j+5 < len(s) && s[j+1] > ' '
}

// sessionValue reports whether a sign of assignment is behind the word session.
func sessionValue(s string) bool {
	return len(s) > 16 && strings.ContainsAny(s[7:14], "=:")
}

// chosen distinguishes a password that a person may have chosen.
func chosen(m match) bool {
	v := m.value()
	return passwordKind.likely(v) || m.head && hasDigit(v) && !placeholder(v) && !isVersion(v)
}

// afterPassword reports whether a text before the match says that it is a secret.
func afterPassword(m match) bool {
	return !m.head && literal(m) && containsOne(m.text[max(0, m.at-300):m.at], "expect", "spawn", "assword", "assphrase", "ecret", "oken")
}

// userAndPassword reads the password behind the flag at i, if the command's user is
// before it.
func userAndPassword(t *text, i int) []span {
	s := t.s
	before := s[lineStart(s, i, 200):i]
	if !containsOne(before, " -u ", " -U ", "--user", "--login", " login") {
		return nil
	}
	w, _ := t.wordAt(blanks(s, i+2), min(len(s), i+longestCommand))
	if v := s[w.lo:w.hi]; w.flag != "" || !passwordKind.likely(v) || strings.ContainsAny(v, ":/=,") {
		return nil
	}
	return []span{{lo: w.lo, hi: w.hi}}
}

// unwordy distinguishes random values from names.
func unwordy(m match) bool { return m.head || !placeholder(m.value()) && !wordy(m.value()) }

// literal distinguishes a value from a word or a variable.
func literal(m match) bool { return m.head || literalValue(m.value()) }

// literalValue reports whether a value where a password is expected is one, not
// a word, a reference or a variable.
func literalValue(v string) bool {
	if len(v) < 4 || placeholder(v) || strings.IndexByte("$-<%({[", v[0]) >= 0 {
		return false
	}
	letters, digits, symbols := count(v)
	return digits > 0 && letters > 0 || symbols > 0 && strings.ContainsAny(v, "!@#$%^&*?~+") || letters == 0 && digits >= 8 || upperLower(v) && random(v)
}

// bearer distinguishes tokens from prose about bearers.
func bearer(m match) bool {
	v := m.value()
	if m.head {
		return !placeholder(v) && !words(v)
	}
	return hasDigit(v) && !placeholder(v)
}
