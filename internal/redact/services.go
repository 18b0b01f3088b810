package redact

import (
	"slices"
	"strings"
)

// serviceRules are further keys that are known by their own form: those of
// services that fewer people use, and older forms.
func serviceRules() []*rule {
	return append(mnemonicRules(), []*rule{
		{name: "1password-key", probes: []string{"A3-"}, pattern: `A3-[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}`, left: true, lead: 3},
		{name: "1password-token", probes: []string{"ops_"}, pattern: `ops_eyJ[A-Za-z0-9+/]{40,}={0,3}`, lead: 7},
		{name: "adobe-secret", probes: []string{"p8e-"}, pattern: `p8e-[A-Za-z0-9]{32}`, left: true, right: true},
		{name: "airtable-token", probes: []string{"pat"}, pattern: `pat[A-Za-z0-9]{14}\.[a-f0-9]{64}`, left: true, lead: 3, ok: odd},
		{name: "alibaba-key", probes: []string{"LTAI"}, pattern: `LTAI[A-Za-z0-9]{12,}`, left: true, ok: mixed},
		{name: "artifactory-key", probes: []string{"AKCp", "cmVm"}, pattern: `(?:AKCp[A-Za-z0-9]{66,}|cmVmd[A-Za-z0-9]{59})`, left: true},
		{name: "authress-key", probes: []string{"sc_", "ext_", "scau", "auth"}, pattern: `(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,}`, left: true, ok: odd},
		{name: "aws-bedrock-key", probes: []string{"ABSK"}, pattern: `ABSK[A-Za-z0-9+/]{100,}={0,2}`, left: true},
		{name: "aws-bedrock-key", probes: []string{"bedr"}, pattern: `bedrock-api-key-[A-Za-z0-9+/=_-]{20,}`, left: true, lead: 16},
		{name: "aws-access-key", probes: []string{"A3T"}, pattern: `A3T[A-Z0-9]{17}`, left: true, right: true},
		{name: "azure-ad-secret", probes: []string{"[0123456789]Q~"}, pattern: `[0-9]Q~[A-Za-z0-9_~.-]{31,34}`, lead: 3, back: 3},
		{name: "clickhouse-key", probes: []string{"4b1d"}, pattern: `4b1d[A-Za-z0-9]{38}`, left: true, right: true},
		{name: "clojars-token", probes: []string{"CLOJ"}, pattern: `CLOJARS_[A-Za-z0-9]{60}`, lead: 8},
		{name: "clojars-token", probes: []string{"cloj"}, pattern: `clojars_[A-Za-z0-9]{60}`, lead: 8},
		{name: "defined-key", probes: []string{"dnke"}, pattern: `dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}`, left: true, lead: 6},
		{name: "doppler-token", probes: []string{"dp.p", "dp.s", "dp.c", "dp.a"}, pattern: `dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}`, lead: 6, ok: mixed},
		{name: "duffel-token", probes: []string{"duff"}, pattern: `duffel_(?:test|live)_[A-Za-z0-9_=-]{40,}`, lead: 12},
		{name: "dynatrace-token", probes: []string{"dt0c", "dt0s"}, pattern: `dt0[cs][0-9]{2}\.[A-Za-z0-9]{8,}\.[A-Za-z0-9]{64}`, lead: 7},
		{name: "easypost-key", probes: []string{"EZ[AT]K"}, pattern: `EZ[AT]K[A-Za-z0-9]{54}`, left: true},
		{name: "facebook-token", probes: []string{"EAA[MC]"}, pattern: `EAA[MC][A-Za-z0-9]{60,}`, left: true, ok: mixed},
		{name: "facebook-token", probes: []string{"[0123456789][0123456789][0123456789][|%]"}, pattern: `[0-9]{3}[|%][A-Za-z0-9_-]{27,40}`, right: true, ok: facebook},
		{name: "flutterwave-key", probes: []string{"FLW[SP]"}, pattern: `FLW(?:SECK|PUBK)(?:_TEST|_LIVE)?-[A-Za-z0-9]{12,}(?:-[Xx])?`, lead: 8},
		{name: "fly-token", probes: []string{"fo1_", "fm[12]"}, pattern: `(?:fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/]{60,}={0,3})`, left: true},
		{name: "frameio-token", probes: []string{"fio-"}, pattern: `fio-u-[A-Za-z0-9_=-]{60,}`, lead: 6},
		{name: "gitlab-token", probes: []string{"GR13"}, pattern: `GR1348941[A-Za-z0-9_-]{20,}`, lead: 9},
		{name: "gitlab-token", probes: []string{"_git"}, pattern: `_gitlab_session=([0-9a-z]{32})`, lead: 16},
		{name: "grafana-token", probes: []string{"eyJr"}, pattern: `eyJrIjoi[A-Za-z0-9]{60,}={0,3}`, left: true, lead: 8, reach: 1 << 10},
		{name: "grafana-token", probes: []string{"glc_"}, pattern: `glc_[A-Za-z0-9+/]{32,}={0,3}`, left: true},
		{name: "harness-key", probes: []string{"[ps]at."}, pattern: `[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}`, left: true, ok: odd},
		{name: "infracost-key", probes: []string{"ico-"}, pattern: `ico-[A-Za-z0-9]{32}`, left: true, right: true},
		{name: "intra42-secret", probes: []string{"s-s4"}, pattern: `s-s4t2(?:ud|af)-[A-Fa-f0-9]{64}`, lead: 9},
		{name: "jwt", probes: []string{"ZXlK"}, pattern: `ZXlK[A-Za-z0-9/+_-]{40,}={0,2}`, left: true, reach: 8 << 10},
		{name: "jwt", probes: []string{"ey"}, pattern: `ey[A-Za-z0-9_-]{16,}\.ey[A-Za-z0-9/+_-]{16,}(?:\.[A-Za-z0-9/+_-]*={0,2})?`, left: true, lead: 3, reach: 8 << 10, ok: odd},
		{name: "wallet-key", probes: []string{"[[][0123456789][0123456789,]"}, read: keyBytes},
		{name: "configcat-key", probes: []string{"-sdk"}, pattern: `-sdk-[12]/([A-Za-z0-9_-]{16,}/[A-Za-z0-9_-]{16,})`, lead: 7},
		{name: "maxmind-key", probes: []string{"_mmk"}, pattern: `_mmk`, right: true, back: 36, ok: maxmind},
		{name: "newrelic-key", probes: []string{"(?i)nrak", "(?i)nrii", "(?i)nrjs", "(?i)nrra"}, pattern: `(?i:NR(?:AK|II|JS|RA)-[A-Z0-9-]{19,})`, left: true, lead: 5, ok: mixed},
		{name: "octopus-key", probes: []string{"API-"}, pattern: `API-[A-Z0-9]{26}`, left: true, right: true, ok: mixed},
		{name: "openshift-token", probes: []string{"a256"}, pattern: `a256~[A-Za-z0-9_-]{43}`, lead: 5},
		{name: "planetscale-token", probes: []string{"psca"}, pattern: `pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{30,}`, lead: 10},
		{name: "postman-key", probes: []string{"PMAK"}, pattern: `PMAK-[A-Fa-f0-9]{24}-[A-Fa-f0-9]{34}`, lead: 5},
		{name: "prefect-key", probes: []string{"pnu_"}, pattern: `pnu_[A-Za-z0-9]{36}`, left: true},
		{name: "pulumi-token", probes: []string{"pul-"}, pattern: `pul-[a-f0-9]{40}`, left: true},
		{name: "readme-key", probes: []string{"rdme"}, pattern: `rdme_[a-z0-9]{60,}`, lead: 5},
		{name: "rubygems-key", probes: []string{"ruby"}, pattern: `rubygems_[a-f0-9]{48}`, lead: 9},
		{name: "scalingo-token", probes: []string{"tk-u", "tk-e"}, pattern: `tk-(?:us|eu)-[A-Za-z0-9_-]{48}`, left: true, lead: 6},
		{name: "sendgrid-key", probes: []string{"SG."}, pattern: `SG\.[A-Za-z0-9=_.-]{64,}`, left: true, lead: 3, ok: odd},
		{name: "brevo-key", probes: []string{"xkey", "xsmt"}, pattern: `x(?:keysib|smtpsib)-[a-f0-9]{64}-[A-Za-z0-9]{16}`, lead: 8},
		{name: "settlemint-token", probes: []string{"sm_[aps]"}, pattern: `sm_(?:aat|pat|sat)_[A-Za-z0-9]{16}`, left: true, lead: 7},
		{name: "shippo-token", probes: []string{"ship"}, pattern: `shippo_(?:live|test)_[A-Fa-f0-9]{40}`, lead: 12},
		{name: "slack-token", probes: []string{"xoxe"}, pattern: `xoxe[.-](?:[Xx][Oo][Xx][BbPp]-)?[0-9]-[A-Za-z0-9]{100,}`, lead: 5},
		{name: "sourcegraph-token", probes: []string{"sgp_"}, pattern: `sgp_(?:(?:[A-Fa-f0-9]{16}|local)_)?[A-Fa-f0-9]{40}`, left: true},
		{name: "square-token", probes: []string{"EAAA", "sq0a", "sq0c"}, pattern: `(?:EAAA[A-Za-z0-9_-]{22,}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,})`, left: true, lead: 6, ok: mixed},
		{name: "teams-webhook", probes: []string{".off"}, pattern: `\.office\.com/webhookb2/([A-Za-z0-9@/-]{40,})`, lead: 23},
		{name: "twitter-token", probes: []string{"AAAA"}, pattern: `A{20,22}[A-Za-z0-9%]{75,}`, left: true, lead: 22, ok: mixed},
		{name: "typeform-token", probes: []string{"tfp_"}, pattern: `tfp_[A-Za-z0-9_=.-]{40,}`, left: true, ok: mixed},
		{name: "hashicorp-token", probes: []string{".atl"}, pattern: `\.atlasv1\.[A-Za-z0-9_=-]{60,}`, lead: 9, back: 14},
		{name: "vault-token", probes: []string{"s."}, pattern: `s\.[A-Za-z0-9]{24}`, left: true, right: true, lead: 2, ok: func(m match) bool { return !m.head && digitRuns(m.value()) > 1 }},
		{name: "yandex-key", probes: []string{"AQVN", "t1."}, pattern: `(?:AQVN[A-Za-z0-9_-]{35,38}|t1\.[A-Za-z0-9_-]+={0,2}\.[A-Za-z0-9_-]{86}={0,2})`, left: true, ok: odd},
	}...)
}

// odd leaves words at a cut alone that begin as a key does.
func odd(m match) bool {
	v := m.value()
	return !m.head || !words(v[3:]) && (hasDigit(v) || random(v))
}

// longKeys finds stretches of random characters that are keys by their alphabet and length, or by
// the word before them.
func longKeys(s string, _ int) []span {
	var out []span
	const step, alnum = 22, isDigit | isLower | isUpper
	for i := step / 2; i+9 < len(s); i += step {
		// Most places have a blank or a sign near, or lower case letters alone.
		a, b, c, d := longOf[s[i]], longOf[s[i+3]], longOf[s[i+6]], longOf[s[i+9]]
		if (a&b&c&d>>7)*((a|b|c|d)&3) == 0 {
			continue
		}
		lo, hi := i, i
		for lo > 0 && classOf[s[lo-1]]&alnum != 0 && i-lo < 100 {
			lo--
		}
		for hi < len(s) && classOf[s[hi]]&alnum != 0 && hi-i < 100 {
			hi++
		}
		if hi-lo >= 30 {
			if name := longKey(s, lo, hi); name != "" {
				out = append(out, span{lo: lo, hi: hi, rule: name})
			}
		}
		i = max(i, hi-step)
	}
	return out
}

// longOf has a high bit for letters and digits, and a low one for capitals and digits.
var longOf = func() (of [256]uint8) {
	for c := range of {
		switch class := classOf[c]; class {
		case isDigit, isUpper:
			of[c] = 1<<7 | uint8(class&isDigit) | 2
		case isLower:
			of[c] = 1 << 7
		}
	}
	return of
}()

// Alphabets of keys.
var (
	base58 = set{others: "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"}
	base32 = upperBytes.or("234567")
)

// longKey is the rule's name for the stretch of letters and digits from lo to hi, or nothing.
func longKey(s string, lo, hi int) string {
	v := s[lo:hi]
	alone := boundaryBefore(s, lo) && !(lo > 0 && strings.IndexByte("/+.", s[lo-1]) >= 0) && !byteIn(s, hi, "_-+/=")
	switch n := len(v); {
	case alone && (n == 51 || n == 52 || n == 58) && strings.IndexByte("5KLc96", v[0]) >= 0 && only(v, base58) && random(v) && upperLower(v):
		return "wallet-key"
	case alone && (n == 56 || n == 58) && v[0] == 'S' && only(v, base32) && digitRuns(v) > 2:
		return "seed-key"
	case (n == 40 || n == 48) && lo > 1 && s[lo-1] == '|' && byteIn(s, lo-2, digits) && random(v) && digitRuns(v) > 2 && upperLower(v):
		return "personal-token"
	case isPrefixedKey(s, lo, hi):
		return "prefixed-key"
	}
	return ""
}

// isPrefixedKey reports random characters behind a word and a sign, as most services begin their
// keys. Many other things are named so; their words are known.
func isPrefixedKey(s string, lo, hi int) bool {
	v := s[lo:hi]
	if lo < 3 || strings.IndexByte("_-", s[lo-1]) < 0 || byteIn(s, hi, "_+/=") || digitRuns(v) < 2 || !upperLower(v) || !random(v) {
		return false
	}
	from := startOf(s, lo, 30, alnumBytes.or("_-"))
	head := s[from : lo-1]
	if len(head) < 2 || !boundaryBefore(s, from) || from > 0 && strings.IndexByte("/.=+", s[from-1]) >= 0 {
		return false
	}
	low := strings.ToLower(head)
	if !containsOne(low, "live", "sk", "key", "api", "tok", "secret", "pat", "acct") && digitRuns(v) < 3 {
		return false
	}
	return wordy(head) && (low == head || strings.ToUpper(head) == head) && !slices.Contains(idWords, low[strings.LastIndexAny(low, "_-")+1:])
}

// idWords come before random characters that are no key.
var idWords = []string{
	"toolu", "call", "msg", "resp", "req", "request", "chatcmpl", "cmpl", "run", "thread", "file", "sha1", "sha256", "sha384", "sha512", "md5", "asst", "evt", "event", "cus", "trace", "span", "id", "ref", "hash", "nonce", "etag", "build",
	"image", "img", "chunk", "cache", "blob", "snap", "snapshot", "conv", "item", "step", "batch", "vs", "fs", "rs", "ctx", "session", "price", "prod", "sub", "pi", "ch", "in", "seti", "pm", "public", "phc", "pub", "pk", "digest", "checksum", "fingerprint", "version", "server", "srv", "task", "job", "node", "user", "org", "project", "h1",
}

// keyBytes reads a wallet's file, of which the bracket is at i: the 64 bytes of a key.
func keyBytes(t *text, i int) []span {
	s := t.s
	n, seen, p := 0, map[string]bool{}, i
	for ; n < 65 && byteIn(s, p, "[,"); n++ {
		lo := endOf(s, p+1, 4, oneOf(" \n"))
		if p = endOf(s, lo, 3, digitBytes); p == lo || p-lo == 3 && s[lo:p] > "255" {
			return nil
		}
		seen[s[lo:p]] = true
	}
	if n != 64 || len(seen) < 32 || !byteIn(s, p, "]") {
		return nil
	}
	return []span{{lo: i + 1, hi: p}}
}

// maxmind distinguishes a licence key, which its end gives away, from other names.
func maxmind(m match) bool {
	i := m.at - 36
	return !m.head && i >= 0 && m.text[i+6] == '_' && only(m.text[i:i+6]+m.text[i+7:m.at], alnumBytes) && random(m.text[i+7:m.at])
}

// facebook distinguishes an app's token, which the app's number begins, from other
// digits.
func facebook(m match) bool {
	n := m.digitsBefore()
	return !m.head && (n == 12 || n == 13)
}

// random distinguishes letters and digits in no order from names, in which letters
// of one kind are together.
func random(v string) bool {
	const other, lowerCase, upperCase, number = 0, 1, 2, 3
	runs, n, kind, length := 0, 0, other, 0
	for _, c := range []byte(v) {
		k := other
		switch {
		case 'a' <= c && c <= 'z':
			k = lowerCase
		case 'A' <= c && c <= 'Z':
			k = upperCase
		case '0' <= c && c <= '9':
			k = number
		}
		if k == other {
			kind = k
			continue
		}
		n++
		// One capital and what follows it are a word's beginning.
		if k != kind && !(k == lowerCase && kind == upperCase && length == 1) {
			runs++
			length = 0
		}
		kind = k
		length++
	}
	return n >= 12 && float64(n) < 2.9*float64(runs)
}
