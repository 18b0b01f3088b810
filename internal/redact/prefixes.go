package redact

import "strings"

// prefix is a service's key: a fixed beginning, and so many characters of a set
// behind it. The forms are those that the issuers document, or that public
// scanners look for.
type prefix struct {
	name, probe, head, random string
	ok                        func(match) bool
}

const uuid = `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`

var prefixes = []prefix{
	// Models and search.
	{"tavily-key", "tvly", `tvly-(?:dev-|prod-)?`, `[A-Za-z0-9]{28,}`, nil},
	{"cerebras-key", "csk-", `csk-`, `[a-z0-9]{40,}`, mixed},
	{"together-key", "tgp_", `tgp_v1_`, `[A-Za-z0-9_-]{32,}`, nil},
	{"jina-key", "jina", `jina_`, `[A-Za-z0-9]{48,}`, nil},
	{"firecrawl-key", "fc-[0123456789abcdef]", `fc-`, `[0-9a-f]{32}`, nil},
	{"e2b-key", "e2b_", `e2b_`, `[0-9a-f]{40}`, nil},
	{"runpod-key", "rpa_", `rpa_`, `[A-Z0-9]{32,}`, mixed},
	{"llamacloud-key", "llx-", `llx-`, `[A-Za-z0-9]{40,}`, nil},
	{"voyage-key", "pa-", `pa-`, `[A-Za-z0-9_-]{40,48}`, dense},
	{"fireworks-key", "fw_", `fw_`, `[A-Za-z0-9]{20,}`, dense},
	{"elevenlabs-key", "sk_[0123456789abcdef]", `sk_`, `[0-9a-f]{48}`, nil},
	{"cursor-key", "key_", `key_`, `[0-9a-f]{64}`, nil},
	{"cursor-key", "crsr", `crsr_`, `[0-9a-f]{64}`, nil},
	{"brave-key", "BSA", `BSA`, `[A-Za-z0-9_-]{26,28}`, dense},
	{"wandb-key", "wand", `wandb_v1_`, `[A-Za-z0-9_]{40,}`, nil},
	{"exa-key", "exa_", `exa_`, `[A-Za-z0-9]{32,}`, dense},
	{"pinecone-key", "pcsk", `pcsk_`, `[A-Za-z0-9]{5,6}_[A-Za-z0-9]{50,}`, nil},
	// Code, builds and packages.
	{"figma-token", "fig[dourp]", `fig(?:d|o|u|or|ur|oh|p)_`, `[A-Za-z0-9_=-]{38,}`, nil},
	{"sonar-token", "sq[upa]_", `sq[upa]_`, `[0-9a-f]{40}`, nil},
	{"circleci-token", "CCIP", `CCIP(?:AT|RJ)_`, `[A-Za-z0-9]{20,24}_[A-Fa-f0-9]{40}`, nil},
	{"buildkite-token", "bk[upacr][apth]", `bk(?:ua|pt|at|ct|rt)_`, `[A-Za-z0-9]{36,}`, nil},
	{"deno-token", "dd[opw]_", `dd[opw]_`, `[A-Za-z0-9]{36,}`, dense},
	{"nuget-key", "oy2", `oy2`, `[a-z0-9]{43}`, dense},
	{"crates-token", "cio", `cio`, `[A-Za-z0-9]{32}`, dense},
	{"snyk-token", "snyk", `snyk_(?:uat|sat)\.`, `[0-9a-f]{8}\.[A-Za-z0-9_.-]{40,}`, nil},
	{"gitlab-token", "gloa", `gloas-`, `[0-9a-f]{64}`, nil},
	{"endor-token", "endr", `endr\+`, `[A-Za-z0-9-]{16}`, nil},
	{"shipyard-token", "shlt", `shltm_`, `[A-Za-z0-9_-]{40}`, nil},
	{"infisical-token", "st.", `st\.`, `[0-9a-f-]{36}\.[0-9a-f]{32}\.[0-9a-f]{32}`, nil},
	// Hosts, networks and data stores.
	{"neon-key", "napi", `napi_`, `[a-z0-9]{60,}`, nil},
	{"tailscale-key", "tske", `tskey-`, `[a-z]+-[A-Za-z0-9_]+-[A-Za-z0-9_]{12,}`, nil},
	{"netlify-token", "nfp_", `nfp_`, `[A-Za-z0-9]{36,}`, nil},
	{"render-key", "rnd_", `rnd_`, `[A-Za-z0-9]{28,}`, dense},
	{"mongodb-secret", "mdb_", `mdb_sa_sk_`, `[A-Za-z0-9_-]{36,}`, nil},
	{"alchemy-key", "alch", `alcht_`, `[A-Za-z0-9]{28,}`, nil},
	{"appsync-key", "da2-", `da2-`, `[a-z0-9]{26}`, nil},
	{"scaleway-key", "SCW", `SCW`, `[A-Z0-9]{17}`, mixed},
	{"adafruit-key", "aio_", `aio_`, `[A-Za-z0-9]{28}`, nil},
	{"flightlabs-key", "flb_", `flb_live_`, `[A-Za-z0-9]{20}`, nil},
	// Products, pay and people.
	{"posthog-key", "phx_", `phx_`, `[A-Za-z0-9_]{36,}`, nil},
	{"resend-key", "re_", `re_`, `[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}`, dense},
	{"contentful-token", "CFPA", `CFPAT-`, `[A-Za-z0-9_-]{40,}`, nil},
	{"apify-token", "apif", `apify_api_`, `[A-Za-z0-9]{34,}`, nil},
	{"hubspot-token", "pat-", `pat-(?:na|eu)[0-9]-`, uuid, nil},
	{"razorpay-key", "rzp_", `rzp_(?:live|test)_`, `[A-Za-z0-9]{14,}`, nil},
	{"honeycomb-key", "hc[abxi][bilmk]", `hc[abxi](?:ik|lk|mk|b|k)_`, `[a-z0-9]{40,}`, nil},
	{"mapbox-token", "sk.e", `sk\.eyJ`, `[A-Za-z0-9_-]{30,}\.[A-Za-z0-9_-]{16,}`, nil},
	{"paddle-key", "pdl_", `pdl_(?:live|sdbx)_apikey_`, `[a-z0-9]{20,}_[A-Za-z0-9]{16,}(?:_[A-Za-z0-9]{3})?`, nil},
	{"launchdarkly-key", "sdk-", `sdk-`, uuid, nil},
	{"launchdarkly-key", "api-", `api-`, uuid, nil},
	{"rootly-token", "root", `rootly_`, `[0-9a-f]{64}`, nil},
	{"statuspage-key", "slk_", `slk_`, `[0-9a-f]{64}`, nil},
	{"ramp-secret", "ramp", `ramp_sec_`, `[A-Za-z0-9]{40,}`, nil},
	{"plaid-token", "acce", `access-(?:sandbox|development|production)-`, uuid, nil},
	{"paypal-token", "acce", `access_token\$(?:production|sandbox)\$`, `[a-z0-9]{16}\$[0-9a-f]{32}`, nil},
	{"stytch-secret", "secr", `secret-(?:live|test)-`, `[A-Za-z0-9_=-]{30,}`, nil},
	{"woocommerce-key", "c[ks]_[0123456789abcdef]", `c[ks]_`, `[0-9a-f]{40}`, nil},
	{"voiceflow-key", "VF.", `VF\.(?:(?:DM|WS)\.)?`, `[0-9a-f]{24}\.[A-Za-z0-9]{16}`, nil},
	{"clickup-token", "pk_[0123456789]", `pk_`, `[0-9]{6,9}_[A-Z0-9]{32}`, nil},
	{"pubnub-key", "sec-", `sec-c-`, `[A-Za-z0-9+/=-]{30,}`, nil},
	{"mollie-key", "live", `live_`, `[A-Za-z0-9]{30,}`, dense},
	{"sq-co-key", "sqco", `sqco_`, `[A-Za-z0-9]{59}`, nil},
}

// prefixRules are the rules of the table.
func prefixRules() []*rule {
	out := []*rule{
		{name: "mailchimp-key", probes: []string{"-us[0123456789]"}, pattern: `-us[0-9]{1,2}`, right: true, back: 32, lead: 4, ok: afterMD5},
		{name: "encoded-json", probes: []string{"eyJ"}, pattern: `eyJ[A-Za-z0-9+/]{160,}={0,2}`, left: true, lead: 3, reach: 512, ok: func(m match) bool { return mixed(m) && !sourceMap(m) }},
	}
	for _, p := range prefixes {
		out = append(out, &rule{name: p.name, probes: []string{p.probe}, pattern: p.head + p.random, left: true, lead: max(2, strings.IndexAny(p.head+"(", `([\`)), ok: p.ok})
	}
	return out
}

// dense distinguishes a key whose beginning is a short word from names that begin so.
func dense(m match) bool {
	return mixed(m) && (m.head && hasDigit(m.value()) || random(m.value()) && digitRuns(m.value()) > 1)
}

// afterMD5 reports whether 32 hexadecimal digits end before the match.
func afterMD5(m match) bool {
	return !m.head && m.at >= 32 && isHexText(m.text[m.at-32:m.at]) && boundaryBefore(m.text, m.at-32)
}

// sourceMap reports whether a match is within an address of data: the map of a
// source, an image's description.
func sourceMap(m match) bool {
	return strings.HasSuffix(m.text[max(0, m.at-8):m.at], ";base64,") || strings.HasPrefix(m.value(), "eyJ2ZXJzaW9uIj")
}
