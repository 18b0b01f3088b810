package redact

import "strings"

// tokenRules are the secrets that are known by their own form. The forms are
// those the issuers document, or that their keys have. Of two rules that fit at
// one place the first wins.
func tokenRules() []*rule {
	return []*rule{
		{name: "aws-secret-key", probes: []string{"A[KS]IA"}, left: true, read: awsNeighbours},
		{name: "aws-access-key", probes: []string{"A[KS]IA", "ABIA", "ACCA"}, pattern: `A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}`, left: true, right: true},
		{name: "github-token", probes: []string{"gh[pousr]_"}, pattern: `gh[pousr]_[A-Za-z0-9_]{36,}`},
		{name: "github-pat", probes: []string{"gith"}, pattern: `github_pat_[A-Za-z0-9_]{22,}`, lead: 11},
		{name: "gitlab-token", probes: []string{"gl[cdfiprsoa][abdfgmopt]"}, pattern: `gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|soat|oas|ffct|wt)-[A-Za-z0-9_.-]{20,}`, lead: 6},
		{name: "slack-webhook", probes: []string{"hook"}, pattern: `hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9_+/-]{20,})`, lead: 25},
		{name: "slack-token", probes: []string{"xox[abceoprsd]", "xapp"}, pattern: `(?:xox[abceoprsd](?:\.xox[a-z])?|xapp)-[A-Za-z0-9.-]{10,}`, lead: 5},
		{name: "anthropic-key", probes: []string{"sk-a"}, pattern: `sk-ant-[A-Za-z0-9_-]{20,}`, lead: 7},
		{name: "openai-key", probes: []string{"sk-"}, pattern: `sk-(?:(?:proj|svcacct|admin|None|or-v1|lf)-)?[A-Za-z0-9_-]{20,}`, left: true, lead: 3, ok: mixed},
		{name: "google-api-key", probes: []string{"AIza"}, pattern: `AIza[0-9A-Za-z_-]{35,}`},
		{name: "google-oauth", probes: []string{"GOCS", "ya29"}, pattern: `(?:GOCSPX-|ya29\.)[A-Za-z0-9_.-]{20,}`, lead: 5},
		{name: "google-refresh-token", probes: []string{"1//0"}, pattern: `1//0[A-Za-z0-9_-]{40,}`, left: true},
		{name: "stripe-key", probes: []string{"[sr]k_[ltp]"}, pattern: `[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}`, lead: 8},
		{name: "webhook-secret", probes: []string{"whse"}, pattern: `whsec_[A-Za-z0-9+/=_-]{24,}`, lead: 6},
		{name: "npm-token", probes: []string{"npm_"}, pattern: `npm_[A-Za-z0-9]{36,}`},
		{name: "pypi-token", probes: []string{"pypi"}, pattern: `pypi-AgE[A-Za-z0-9_-]{40,}`, lead: 8},
		{name: "huggingface-token", probes: []string{"hf_", "api_"}, pattern: `(?:hf|api_org)_[A-Za-z0-9]{30,}`, left: true, lead: 3},
		{name: "sendgrid-key", probes: []string{"SG."}, pattern: `SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,}`, left: true, lead: 3},
		{name: "twilio-key", probes: []string{"SK[0123456789abcdefABCDEF][0123456789abcdefABCDEF]", "AC[0123456789abcdef][0123456789abcdef]"}, pattern: `(?:SK[0-9a-fA-F]{32}|AC[0-9a-f]{32})`, left: true, right: true, lead: 2},
		{name: "mailgun-key", probes: []string{"key-"}, pattern: `key-[0-9a-f]{32}`, left: true, right: true},
		{name: "digitalocean-token", probes: []string{"do[opr]_"}, pattern: `do[opr]_v1_[a-fA-F0-9]{64}`, lead: 7},
		{name: "azure-key", probes: []string{"(?i)acco", "(?i)shar"}, pattern: `(?i:AccountKey|SharedAccessKey|SharedAccessSignature)=([A-Za-z0-9+/=%]{20,})`, lead: 11},
		{name: "azure-signature", probes: []string{"sig="}, pattern: `sig=([A-Za-z0-9+/=%_-]{24,})`, left: true, ok: mixed},
		{name: "jwt", probes: []string{"eyJ"}, pattern: `eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}`, left: true, lead: 3, reach: 8 << 10},
		{name: "telegram-token", probes: []string{":AA"}, pattern: `:(AA[A-Za-z0-9_-]{33,})`, lead: 3, ok: afterBotID},
		{name: "discord-token", probes: []string{"[MNO][DTjz][AEIMQUYcgk][wxyz012345]"}, pattern: `[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`, left: true, lead: 25, ok: mixed},
		{name: "discord-webhook", probes: []string{"disc"}, pattern: `discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/([A-Za-z0-9_-]{40,})`, lead: 25},
		{name: "shopify-token", probes: []string{"shp[acstp]"}, pattern: `shp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32,}`, lead: 6},
		{name: "databricks-token", probes: []string{"dapi"}, pattern: `dapi[a-f0-9]{32}(?:-\d)?`, left: true},
		{name: "linear-key", probes: []string{"lin_"}, pattern: `lin_(?:api|oauth)_[A-Za-z0-9]{32,}`, lead: 8},
		{name: "notion-token", probes: []string{"ntn_"}, pattern: `ntn_[A-Za-z0-9]{40,}`, left: true, ok: mixed},
		{name: "notion-token", probes: []string{"secr"}, pattern: `secret_[A-Za-z0-9]{43,}`, left: true, lead: 7, ok: func(m match) bool { return mixed(m) && !words(m.value()) }},
		{name: "vercel-token", probes: []string{"verc", "vc[pcirak]_"}, pattern: `(?:vercel_blob_rw_[A-Za-z0-9]{8,}_|vc[pcirak]_)[A-Za-z0-9]{24,}`, left: true, ok: mixed},
		{name: "cloudflare-token", probes: []string{"cf[uak]t", "cfk_", "v1.0"}, pattern: `(?:cf(?:ut|at|k)_[A-Za-z0-9_-]{40,}|v1\.0-[0-9a-f]{24}-[0-9a-f]{100,})`, left: true, lead: 5},
		{name: "heroku-key", probes: []string{"HRKU"}, pattern: `HRKU-[A-Za-z0-9_-]{36,}`, lead: 5},
		{name: "groq-key", probes: []string{"gsk_"}, pattern: `gsk_[A-Za-z0-9]{32,}`, left: true, ok: mixed},
		{name: "xai-key", probes: []string{"xai-"}, pattern: `xai-[A-Za-z0-9]{40,}`, left: true, ok: mixed},
		{name: "perplexity-key", probes: []string{"pplx"}, pattern: `pplx-[A-Za-z0-9]{40,}`, lead: 5},
		{name: "replicate-token", probes: []string{"r8_"}, pattern: `r8_[A-Za-z0-9]{37,}`, left: true, lead: 3},
		{name: "nvidia-key", probes: []string{"nvap"}, pattern: `nvapi-[A-Za-z0-9_-]{40,}`, lead: 6},
		{name: "vault-token", probes: []string{"hv[sbr]."}, pattern: `hv[sbr]\.[A-Za-z0-9_-]{24,}`, left: true, ok: mixed},
		{name: "docker-token", probes: []string{"dckr"}, pattern: `dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}`, lead: 9},
		{name: "atlassian-token", probes: []string{"ATAT", "ATCT", "ATBB"}, pattern: `(?:ATATT3|ATCTT3|ATBB)[A-Za-z0-9_=-]{24,}`, left: true, lead: 6},
		{name: "grafana-token", probes: []string{"gls[ac]", "glc_"}, pattern: `gl(?:sa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|c_eyJ[A-Za-z0-9+/=]{30,})`, lead: 5},
		{name: "sentry-token", probes: []string{"sntr"}, pattern: `sntry[su]_[A-Za-z0-9+/=_-]{40,}`, lead: 7},
		{name: "langsmith-key", probes: []string{"lsv2"}, pattern: `lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}`, lead: 8},
		{name: "supabase-token", probes: []string{"sbp_", "sb_s"}, pattern: `(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})`, left: true},
		{name: "age-key", probes: []string{"AGE-"}, pattern: `AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}`, lead: 16},
	}
}

// mixed distinguishes a random string from words: it holds a digit and a letter in
// one stretch without separators. A beginning may be too short to show it.
func mixed(m match) bool {
	if m.head {
		return true
	}
	letters, digits, longest := false, false, 0
	run := 0
	for _, c := range []byte(m.value()) {
		switch {
		case '0' <= c && c <= '9':
			digits = true
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			letters = true
		default:
			run = -1
		}
		run++
		longest = max(longest, run)
	}
	return letters && digits && longest >= 8
}

// afterBotID reports whether a Telegram bot's number is before the match.
func afterBotID(m match) bool { return m.digitsBefore() >= 6 }

// awsNeighbours reads the secret key and the session token that follow an AWS key's
// name in a table or a list.
func awsNeighbours(t *text, i int) []span {
	s := t.s
	j := endOf(s, i, 21, alnumBytes)
	if j-i != 20 {
		return nil
	}
	var out []span
	for n, end := 0, lineEnd(s, j, 1<<10); n < 6; n++ {
		for j < end && strings.IndexByte(" ,\t|\"^\\", s[j]) >= 0 {
			j++
			if j < end && s[j] == 't' && s[j-1] == '\\' || j < end && s[j] == 'I' && s[j-1] == '^' {
				j++
			}
		}
		lo := j
		j = endOf(s[:end], j, end, base64Bytes)
		v := s[lo:j]
		if n > 0 && len(v) >= 100 || len(v) == 40 || t.isCutAt(j) && len(v) >= headMin && len(v) < 40 {
			if (!wordy(v) || len(v) < 40 && hasDigit(v)) && !isHexText(v) {
				out = append(out, span{lo: lo, hi: j})
			}
			continue
		}
		for j < end && strings.IndexByte(" ,\t|\"\\^", s[j]) < 0 {
			j++
		}
	}
	return out
}
