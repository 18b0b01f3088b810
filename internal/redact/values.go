package redact

import (
	"math"
	"strings"
)

// digitRuns counts the stretches of digits; names in programs have one or two.
func digitRuns(v string) int {
	n := 0
	for i := range len(v) {
		if classOf[v[i]] == isDigit && (i == 0 || classOf[v[i-1]] != isDigit) {
			n++
		}
	}
	return n
}

// words distinguishes names such as lru_cache and DHPrivateKey, whole or cut, from
// random letters: their parts are longer.
func words(v string) bool {
	v = strings.TrimRight(v, ".,;:…")
	parts, letters := 0, 0
	for i := range len(v) {
		c := v[i]
		isUpper := 'A' <= c && c <= 'Z'
		switch {
		case '0' <= c && c <= '9':
			return false
		case isUpper && i > 0 && 'A' <= v[i-1] && v[i-1] <= 'Z':
		case isUpper || i == 0 || !isWord(v[i-1]) || v[i-1] == '_':
			parts++
		}
		letters++
	}
	return letters >= 3*parts
}

// rareNext has, for each letter, the letters that follow it rarely in words: fewer than one
// pair of two thousand.
var rareNext = [26]uint32{
	0x2014280, 0x3e9b6e8, 0x3c10200, 0x3e1b680, 0x2000680, 0x3e106c2, 0x3e1962a, 0x3e1b6ee, 0x1510780, 0x3fffffe, 0x3fbfeee, 0x2c13680, 0x3e326e4,
	0x3c10282, 0x3810290, 0x2e12642, 0x3eeffff, 0x2c10280, 0x2a00200, 0x2e10640, 0x3f14680, 0x3f326ca, 0x3f99eee, 0x3f77eea, 0x3fb4fff, 0x3ffffef,
}

// gibberish reports letters, of which most may be of one case, that are no words: pairs that
// words rarely have are many in it.
func gibberish(v string) bool {
	rare, letters := 0, 0
	for i := range len(v) {
		if !letterBytes.has(v[i]) {
			continue
		}
		letters++
		if i == 0 || !letterBytes.has(v[i-1]) || classOf[v[i]] == isUpper && classOf[v[i-1]] == isLower {
			continue
		}
		if rareNext[v[i-1]|0x20-'a']>>(v[i]|0x20-'a')&1 != 0 {
			rare++
		}
	}
	return rare >= 3 && 6*rare > letters || letters >= 8 && letters == len(v) && !words(v)
}

func identifier(v string) bool { return only(v, wordBytes) }

// looksLikeCode reports paths, addresses and, without quotes, expressions.
func looksLikeCode(v string, quoted bool) bool {
	switch {
	case strings.HasPrefix(v, "/") && !strings.ContainsAny(v, "+=") && (len(v) < 32 || wordy(v) || !random(v)),
		hasOnePrefix(v, "./", "~/", "SHA256:", "sha256:", "sha256=", "sha512-", "MD5:", "sha1="), strings.Contains(v, "://"), strings.Contains(v, ".*."):
		return true
	case quoted:
		return false
	case strings.Contains(v, "::") && oddLetters(v) < 32, strings.HasPrefix(v, "=") && !random(v), byteIn(v, 0, ":&*"):
		return true
	}
	// a.b.c is a selector unless a part of it looks random. Dots at the end are
	// those of a sentence or of a cut.
	v = strings.TrimRight(v, ".,;:")
	if strings.HasPrefix(v, ".*") {
		return true
	}
	if strings.Contains(v, ".") {
		chain := strings.Contains(strings.TrimRight(v, "="), "=") // a.b = c.d = e
		for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == '.' || r == '=' }) {
			if len(part) >= 8 && (digitRuns(part) > 2 || random(part) || !chain && random(v)) {
				return false
			}
		}
		return only(v, wordBytes.or(".,;="))
	}
	return false
}

func count(v string) (letters, digits, symbols int) {
	for i := range len(v) {
		switch classOf[v[i]] {
		case isDigit:
			digits++
		case isLower, isUpper:
			letters++
		}
	}
	return letters, digits, len(v) - letters - digits
}

func hasDigit(v string) bool { return strings.ContainsAny(v, digits) }

func upperLower(v string) bool { return hasUpper(v) && hasLower(v) }

// entropy is Shannon's, in bits for each byte.
func entropy(v string) float64 {
	var n [256]int
	for _, c := range []byte(v) {
		n[c]++
	}
	var sum float64
	for _, k := range n {
		if k > 0 {
			p := float64(k) / float64(len(v))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// plain reports a value that is nothing but words, versions and numbers.
func plain(v string) bool { return oddLetters(v) == 0 }

// wordy reports words, versions and numbers that signs or capitals join, such as
// ECDSA_P256_SHA256 and my-app-secret-v2, from random characters.
func wordy(v string) bool { return oddLetters(v) < 6 }

// snakeCase reports a name such as index_44.
func snakeCase(v string) bool {
	return strings.Contains(v, "_") && !strings.ContainsAny(v, "-.") && wordy(v) && !hasUpper(v) && len(v)-len(strings.TrimRight(v, digits)) < 3
}

// oddLetters counts the characters of those parts of a value that are no words.
func oddLetters(v string) int {
	odd := 0
	for i := 0; i < len(v); {
		j := i
		for j < len(v) && !partsWords[v[j]] {
			j++
		}
		if j > i && !wordyPart(v[i:j]) {
			odd += j - i
		}
		i = j + 1
	}
	return odd
}

// partsWords are the signs that join words.
var partsWords = [256]bool{'-': true, '_': true, '.': true, '/': true, ':': true, '+': true, '=': true, '~': true, '@': true, '#': true, ',': true}

func wordyPart(p string) bool {
	letters := strings.TrimRight(p, digits)
	digits := len(p) - len(letters)
	switch {
	case letters == "":
		return digits <= 8
	case '0' <= p[0] && p[0] <= '9':
		return len(p) <= 5 // 24h, 768h
	case hasDigit(letters):
		return camelNumbers(p)
	}
	return digits <= 4 && (len(letters) <= 4 || words(letters) && (digits == 0 || len(letters) < 8 || !gibberish(letters)))
}

// camelNumbers reports names with numbers in them, such as sha256Hex and PKCS1PrivateKey.
func camelNumbers(p string) bool {
	runs, longest := 0, 0
	for part := range strings.FieldsFuncSeq(p, func(r rune) bool { return '0' <= r && r <= '9' }) {
		runs++
		longest = max(longest, len(part))
		if !words(part) {
			return false
		}
	}
	if gibberish(p) {
		return false
	}
	return runs == 2 && longest >= 3 && digitRuns(p) <= 2 && len(p) <= 20
}
