package redact

import "strings"

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

// sqlPassword is secureString for a statement in capitals, and literal for one that may be prose. Variables
// are no passwords.
func sqlPassword(m match) bool {
	return !byteIn(m.value(), 0, ":?") && (m.text[m.at:m.at+4] == "TIFI" && secureString(m) || literal(m))
}

// replaced is sqlPassword for the old password of a user who gets a new one.
func replaced(m match) bool {
	return strings.Contains(m.text[max(0, m.at-160):m.at], "IDENTIFIED ") && !byteIn(m.value(), 0, ":?") && certain(m)
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

// certain distinguishes a password from a placeholder, where only a password can be.
func certain(m match) bool { return certainShape(m.value()) || chosen(m) }

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
	return digits > 0 && letters > 0 || symbols > 0 && strings.ContainsAny(v, "!@#$%^&*?~+") || letters == 0 && digits >= 8 || upperLower(v) && random(v) || oddCase(v)
}

// bearer distinguishes tokens from prose about bearers.
func bearer(m match) bool {
	v := m.value()
	if m.head {
		return !placeholder(v) && !words(v)
	}
	return hasDigit(v) && !placeholder(v)
}
