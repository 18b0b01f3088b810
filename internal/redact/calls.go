package redact

import (
	"strings"
	"sync"
)

// credentialCall reads the credentials that a call gets by their places: a login, a
// connection, what is named after credentials. Its name has what is at i.
func credentialCall(t *text, i int) []span {
	s := t.s
	p := endOf(s, i, 40, wordBytes)
	if byteIn(s, p, " ") {
		p = blanks(s, p)
	}
	if !byteIn(s, p, "([=") {
		return nil
	}
	name := strings.ToLower(strings.TrimRight(s[i-len(nameStart(s, i)):p], " "))
	known, open := knownCalls().end(name), openCalls().end(name)
	if byteIn(s, p, "=") {
		p = blanks(s, p+1)
	}
	if !byteIn(s, p, "([") || !known && !open {
		return nil
	}
	var out []span
	texts, others := 0, 0
	for n := 0; n < 6; n++ {
		p = blanks(s, p+1)
		if j := lineBreakAt(s, p); j > 0 {
			p = blanks(s, p+j)
		}
		if q := endOf(s, p, 24, wordBytes); byteIn(s, q, "=:") { // a named argument
			p = blanks(s, q+1)
		}
		v := t.valueAt(p)
		end := closingQuotes(s, v.to)
		switch {
		case v.quoted && v.closed && v.to > v.from:
			text := s[v.from:v.to]
			switch {
			case !secretArgument(text):
			case known && (texts+others > 0 || len(text) >= 16 && tokenKind.likely(text)), texts > 0 && (texts+others > 1 || !wordy(text) || strings.HasSuffix(name, "begin")):
				out = append(out, span{lo: v.from, hi: v.to})
			}
			texts++
			p = end
			if strings.HasPrefix(s[p:], ".") { // "x".toCharArray()
				p = find(s, p, min(len(s), p+40), ",)\n")
				p = endOf(s, p, 2, oneOf(")"))
			}
		default:
			// Another value; one with blanks in it is a text.
			if v.quoted {
				q := strings.IndexByte(s[v.from:min(len(s), v.from+200)], s[v.from-1])
				if q < 0 {
					return out
				}
				p = v.from + q + 1
				texts++
				break
			}
			if p = endOf(s, p, 60, wordBytes.or(".$[]->&*")); byteIn(s, p, "(") && byteIn(s, p+1, ")") {
				p += 2
			}
			others++
		}
		if p = blanks(s, p); !byteIn(s, p, ",") {
			break
		}
	}
	return out
}

// knownCalls end the names of calls that get a credential, openCalls of those that may.
var (
	knownCalls = sync.OnceValue(func() *endings {
		return endingsOf("credentials", "credential", "login", "authentication", "basicauth", "basic_auth", "auth", "authenticate", "signin", "sign_in", "logon", "authorize", "jwt", "tokenauth")
	})
	openCalls = sync.OnceValue(func() *endings {
		return endingsOf("connect", "getconnection", "pdo", "mysqli", "connection", "begin", "createuser", "adduser", "dial", "open", "client", "real_connect", "mysqli_connect", "session", "transport", "sequelize")
	})
)

func lineBreakAt(s string, i int) int {
	if i >= len(s) {
		return 0
	}
	return lineBreak(s, i)
}

// secretArgument reports whether a text can be the password of a call that gets one.
func secretArgument(v string) bool {
	return passwordKind.likely(v) && !strings.ContainsAny(v, "/=;,<>\\") || tokenKind.likely(v) && len(v) >= 20
}
