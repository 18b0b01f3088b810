package redact

import (
	"slices"
	"strings"
)

// pipedPassword reads what echo or printf, of which a part is at i, writes to a
// command that reads a secret.
func pipedPassword(t *text, i int) []span {
	s := t.s
	if !strings.HasPrefix(s[i:], "echo ") && !strings.HasPrefix(s[i:], "rintf ") && !strings.HasPrefix(s[i:], "yes ") || !strings.ContainsAny(s[i:min(len(s), i+300)], "|>") {
		return nil
	}
	words := t.words(i)
	if len(words) < 2 {
		return nil
	}
	end := words[len(words)-1].hi
	end = blanks(s, closingQuotes(s, end))
	if behind := s[end:lineEnd(s, end, 120)]; byteIn(s, end, "|") && containsOne(behind, readers()...) {
		return t.secretWords(words[1:])
	}
	// echo x > /run/secrets/db_password
	for n := 2; n+1 < len(words); n++ {
		if target := strings.ToLower(s[words[n+1].lo:words[n+1].hi]); strings.Trim(s[words[n].lo:words[n].hi], ">") == "" && containsOne(target, printers()...) {
			return t.secretWords(words[1:n])
		}
	}
	return nil
}

// herePassword reads the word behind the sign at i that gives it to a command that
// reads a secret.
func herePassword(t *text, i int) []span {
	s := t.s
	line := s[lineStart(s, i, 200):i]
	w, next := t.wordAt(blanks(s, i+3), min(len(s), i+longestCommand))
	if next == i+3 {
		return nil
	}
	if !containsOne(line, readers()...) && !containsOne(line, "sudo", "docker", "chpasswd", "token") && !(chosenShape(s[w.lo:w.hi], true) && !slices.ContainsFunc(strings.Fields(line), func(word string) bool { return slices.Contains(lookers(), word) })) {
		return nil
	}
	return t.secretWords([]argument{w})
}

// secretWords are those of a command's words that are secrets: no flags, no formats.
func (t *text) secretWords(words []argument) []span {
	var out []span
	for _, w := range words {
		v := t.s[w.lo:w.hi]
		if user, password, found := strings.Cut(v, ":"); found && only(user, wordBytes.or(".-")) && user != "" {
			w.lo, v = w.hi-len(password), password
		}
		if len(v) >= 4 && v[0] != '%' && (literalValue(v) || manyWords(v)) && !looksLikeCode(v, true) {
			out = append(out, span{lo: w.lo, hi: w.hi})
		}
	}
	return out
}

// printedSecret reads the line behind a command line, or an expression in a console, that prints a
// secret alone. The prompt, or the command, is at i.
func printedSecret(t *text, i int) []span {
	s := t.s
	if i > 0 && (isWord(s[i-1]) && s[i] != '>' || s[i] == '>' && strings.IndexByte("=- ", s[i-1]) >= 0) {
		return nil // a part of a word, an arrow
	}
	prompt, certain := strings.HasPrefix(s[i:], "$ "), hasOnePrefix(s[i:], answersAt()[s[i]]...)
	if !prompt && !certain && !hasOnePrefix(s[i:], "> ", "]: ") && !hasOnePrefix(s[i:], askersAt()[s[i]]...) || !prompt && !isPrompt(strings.TrimRight(s[lineStart(s, i, 80):i], " ")) {
		return nil
	}
	end := lineEnd(s, i, 300)
	name := s[i+2 : endOf(s, i+2, 40, wordBytes.or("-."))]
	if end >= len(s) || prompt && slices.Contains(lookers(), name) || !certain && !containsOne(strings.ToLower(s[i:end]), printers()...) {
		return nil
	}
	return t.lineOf(end, func(v string) bool {
		member, _, found := strings.Cut(v, "=")
		return certainShape(v) && !(found && wordy(member))
	})
}

// isPrompt reports what may be before a command in its line.
func isPrompt(before string) bool {
	return len(before) < 40 && (only(before, wordBytes.or(".:->()=#@~$%")) || strings.HasPrefix(before, "In ["))
}

// certainShape judges what is where only a secret can be: words are one too, and a sign may be the first
// character.
func certainShape(v string) bool {
	return len(v) >= 6 && v[0] != '_' && !placeholder(v) && (passwordKind.likely(v) || chosenShape(strings.TrimLeft(v, firstSigns+"@."), true) || manyWords(v))
}

// firstSigns may begin a password, and rarely a name.
const firstSigns = "!#%&*?+"

// manyWords reports lower case letters that are more than one word, or words that hyphens join.
func manyWords(v string) bool {
	return len(v) >= 13 && len(v) <= 48 && (only(v, lowerBytes) || strings.Count(v, "-") >= 3 && len(v) >= 16 && only(v, lowerBytes.or("-"))) && !namesPassword(v)
}
