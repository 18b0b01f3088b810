package config

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// credentialWords are in the names of headers with credentials. Other headers may
// name a tenant or a data set.
var credentialWords = [...]string{"auth", "key", "token", "secret", "password", "cookie", "credential", "signature"}

func isCredential(header string) bool {
	header = strings.ToLower(header)
	return slices.ContainsFunc(credentialWords[:], func(word string) bool { return strings.Contains(header, word) })
}

// UnknownPlace is the fingerprint of an environment with a key of which it is not known which
// account it is of. It is like no other, itself included.
const UnknownPlace = "?"

// accountOf returns what names the account of a credential: the user of Basic; the issuer,
// subject and audience of a JWT; else a digest of it that only this user's machine can make.
// At many services the key alone names the project.
func (c *Config) accountOf(credential string) (string, error) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(credential), " ")
	rest = strings.TrimSpace(rest)
	if strings.EqualFold(scheme, "basic") {
		if b, err := base64.StdEncoding.DecodeString(rest); err == nil {
			if user, _, ok := strings.Cut(string(b), ":"); ok && user != "" {
				return "user " + user, nil
			}
		}
	}
	if claims := jwtAccount(cmp.Or(rest, scheme)); claims != "" {
		return "claims " + claims, nil
	}
	if c.salt == nil {
		return "", errors.New("no secret to tell keys apart by")
	}
	salt, err := c.salt(c.SpoolDir())
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, salt)
	h.Write([]byte(credential))
	return "key " + hex.EncodeToString(h.Sum(nil)), nil
}

// jwtAccount returns the claims of a JSON Web Token (RFC 7519, section 4.1) that name an
// account, empty if it is no token with a subject.
func jwtAccount(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	body, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return ""
	}
	var claims struct {
		Issuer   string `json:"iss"`
		Subject  string `json:"sub"`
		Audience any    `json:"aud"`
	}
	if json.Unmarshal(body, &claims) != nil || claims.Subject == "" {
		return ""
	}
	named, _ := json.Marshal(claims)
	return string(named)
}

// otlpAccount calls add with what names the account of the OTLP credentials of the environment
// that differ from the user's.
func (c *Config) otlpAccount(add func(string)) error {
	if v := c.value(otlpAccount); c.OTLPAccount != "" {
		if v.from == ofEnvironment && c.OTLPAccount != v.users() {
			add("account=" + c.OTLPAccount)
		}
		return nil
	}
	var errs []error
	differs := func(name, credential, users string) {
		if credential == "" || credential == users {
			return
		}
		account, err := c.accountOf(credential)
		if own, _ := c.accountOf(users); err == nil && users != "" && own == account {
			return
		}
		errs = append(errs, err)
		if err == nil {
			add(name + ":" + account)
		}
	}
	if v := c.otlpVariable("HEADERS"); v.from == ofEnvironment && v.source != "" {
		users := make(map[string]string)
		for _, key := range []string{"HEADERS", "TRACES_HEADERS"} {
			own, _ := parseHeaders(c.value(otlpPrefix + key).users())
			for name, value := range own {
				users[strings.ToLower(name)] = value
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.Export.Headers)) {
			if isCredential(name) {
				differs(strings.ToLower(name), c.Export.Headers[name], users[strings.ToLower(name)])
			}
		}
	}
	if v, address := c.otlpURL(); v.source != "" && v.from == ofEnvironment {
		user, query := urlCredentials(address)
		own, ownQuery := urlCredentials(c.sideURL(ofUser))
		differs("user", user, own)
		differs("query", query, ownQuery)
	}
	return errors.Join(errs...)
}

// urlCredentials returns the user of a URL as a header has it, and its query.
func urlCredentials(address string) (user, query string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	if u.User != nil {
		user = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"))
	}
	return user, u.RawQuery
}

// AccountFault is why it is unknown to which account the environment's credentials of OTLP
// belong, or nil. Then nothing is sent there: it could be another project's.
func (c *Config) AccountFault() error {
	if err := c.otlpAccount(func(string) {}); err != nil {
		return fmt.Errorf("the account of the key in the environment is not known: %w; set %s to a name of the account", err, otlpAccount)
	}
	return nil
}

// Account names the account at a destination, whichever side it is from, in a form that shows
// no credential. It is empty where there is none.
func (c *Config) Account(destination string) string {
	h := sha256.New()
	known := false
	add := func(text string) { h.Write([]byte(text + "\n")); known = true }
	switch {
	case destination == ExporterInfinium && c.InfiniumAgentID != "":
		add(c.InfiniumAgentID)
	case destination == ExporterOTLP:
		_, address := c.otlpURL()
		c.addAccount(add, address, c.Export.Headers, c.OTLPAccount, c.HeadersCommand)
	case destination == DestinationMetrics:
		o := c.MetricsOTLP()
		c.addAccount(add, o.Endpoint, o.Headers, c.value(otlpAccount).users(), c.MetricsHeadersCommand())
	}
	if !known {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// addAccount calls add with what names the account of the credentials of an OTLP endpoint, which
// may be named.
func (c *Config) addAccount(add func(string), address string, headers Headers, named, command string) {
	if name := cmp.Or(named, command); name != "" {
		add(name)
	}
	user, query := urlCredentials(address)
	credentials := map[string]string{"key:user": user, "key:query": query}
	maps.Copy(credentials, headers)
	for _, name := range slices.Sorted(maps.Keys(credentials)) {
		if value := credentials[name]; value != "" && (named == "" || !isCredential(name)) {
			account, err := c.accountOf(value)
			if err != nil {
				account = UnknownPlace
			}
			add(name + ":" + account)
		}
	}
}
