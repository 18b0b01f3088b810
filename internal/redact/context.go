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

// pairBehind reports whether a name with a sign and another word is behind a word.
func pairBehind(s string) bool {
	i := endOf(s, endOf(s, 0, 12, letterBytes.or("-")), 8, oneOf(" \t\\\"'`:=,"))
	j := endOf(s, i, 41, wordBytes.or(".@-"))
	return j > i && byteIn(s, j, ":%") && j+5 < len(s) && s[j+1] > ' '
}

// chosen distinguishes a password that a person may have chosen.
func chosen(m match) bool {
	v := m.value()
	return passwordKind.likely(v) || m.head && hasDigit(v) && !placeholder(v) && !isVersion(v)
}

// certain distinguishes a password from a placeholder, where only a password can be.
func certain(m match) bool { return certainShape(m.value()) || chosen(m) }

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
