package redact

import "strings"

// privateKey is the beginning of a PEM or PGP private key: armour, headers, and
// enough base64 to tell it from a mention of the first line.
const privateKey = `-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----` +
	`(?:` + between + `(?:Proc-Type|DEK-Info|Version|Comment|Hash): [^\r\n"\\]{0,80}){0,5}` +
	between + `[A-Za-z0-9+/=]{16}`

// between is what stands between the lines of a key: white space, escaped
// line ends, quotes and the signs that join literals, line numbers.
const between = `(?:[\s"'` + "`" + `+>|#,]|\\+[nrt]?|\d{1,6}[ \t]*[|:\t→])*`

// privateKeyEnd reads on line by line, by hand since a regexp is slow on so
// many choices. The key goes to its END line, or, without one, as far as whole
// lines of base64 go and, at a cut, the piece of a line before it.
func privateKeyEnd(s string, i int, cut, last bool) int {
	i += base64Run(s[i:])
	for {
		j := skipBetween(s, i)
		n := base64Run(s[j:])
		switch {
		case n >= 16:
			i = j + n
			continue
		case n > 0:
			if end, ok := endLine(s, skipBetween(s, j+n)); ok {
				return end
			}
			if j+n == len(s) || cut && cutAt(s, j+n, last) {
				return j + n
			}
		default:
			if end, ok := endLine(s, j); ok {
				return end
			}
		}
		return i
	}
}

func base64Run(s string) int {
	n := 0
	for n < len(s) && (isWord(s[n]) && s[n] != '_' || s[n] == '+' || s[n] == '/' || s[n] == '=') {
		n++
	}
	return n
}

// skipBetween is between as a function. A number counts if a sign follows that
// listings put behind line numbers.
func skipBetween(s string, i int) int {
	for i < len(s) {
		switch c := s[i]; {
		case strings.IndexByte(" \t\r\n\f\"'`+>|#,", c) >= 0:
			i++
		case c == '\\':
			i++
			if i < len(s) && strings.IndexByte("nrt", s[i]) >= 0 {
				i++
			}
		case '0' <= c && c <= '9':
			j := i
			for j < len(s) && j-i < 6 && '0' <= s[j] && s[j] <= '9' {
				j++
			}
			for j < len(s) && s[j] == ' ' {
				j++
			}
			if j >= len(s) || strings.IndexByte("|:\t", s[j]) < 0 && !strings.HasPrefix(s[j:], "→") {
				return i
			}
			j++
			for j < len(s) && s[j]&0xC0 == 0x80 {
				j++
			}
			i = j
		default:
			return i
		}
	}
	return i
}

// endLine is the end of an END line that begins at i. A cut one counts.
func endLine(s string, i int) (int, bool) {
	if !strings.HasPrefix(s[i:], "-----END ") {
		return 0, false
	}
	rest := s[i+len("-----END "):]
	n := 0
	for n < len(rest) && n < 48 && (rest[n] == ' ' || 'A' <= rest[n] && rest[n] <= 'Z' || '0' <= rest[n] && rest[n] <= '9') {
		n++
	}
	end := i + len("-----END ") + n
	for k := 0; k < 5 && end < len(s) && s[end] == '-'; k++ {
		end++
	}
	return end, true
}
