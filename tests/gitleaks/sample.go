package gitleaks

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// What gitleaks builds its expressions from. One that looks for a name beside an
// assignment has all of it, one for tokens of a form the last part.
const (
	namePrefix = `[\w.-]{0,50}?(?`
	nameInner  = `i:[\w.-]{0,50}?(?`
	nameSuffix = `)(?:[ \t\w.-]{0,20})[\s'"]{0,3}`
	operator   = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`
	secretEnd  = `(?:[\x60'"\s;]|\\[nr]|$)`
)

// Sample makes a random name and a random secret such as the rule looks for. The
// name is empty where the rule asks for none, and whole says
// that the secret is all of a text, its surroundings included.
func (r *Rule) Sample(rng *rand.Rand) (name, secret string, whole bool) {
	// Half of the secrets that a rule finds in any case have capitals.
	body := r.Regex.String()
	g := generator{rng, strings.Contains(body, "(?i") && rng.IntN(2) == 0}
	body = strings.TrimPrefix(body, "(?i)")
	if rest, ok := strings.CutPrefix(body, namePrefix); ok {
		names, value, ok := strings.Cut(rest, operator)
		if ok && strings.HasSuffix(value, secretEnd) {
			names = strings.TrimPrefix(strings.TrimSuffix(names, ")"), nameInner)
			names = strings.TrimSuffix(strings.TrimSuffix(names, strings.TrimPrefix(nameSuffix, ")")), ")")
			return g.text("(?" + names + ")"), g.text(strings.TrimSuffix(value, secretEnd)), false
		}
	}
	if value, ok := strings.CutSuffix(body, secretEnd); ok {
		body = value
	}
	text := g.text(body)
	if len(r.Keywords) > 0 && strings.Trim(r.Keywords[0], "abcdefghijklmnopqrstuvwxyz") == "" {
		name = r.Keywords[0]
	}
	return name, text, strings.ContainsAny(text, " \n\t=:'\"<")
}

// generator makes random texts that expressions match.
type generator struct {
	rng *rand.Rand
	// capitals lets letters of either case stand for those of one.
	capitals bool
}

// sensitive takes the flags away, which would lose how a fixed part is written.
var sensitive = strings.NewReplacer("(?i)", "", "(?i:", "(?:", "(?-i:", "(?:")

// text makes one of printable characters.
func (g *generator) text(expression string) string {
	re, err := syntax.Parse(sensitive.Replace(expression), syntax.Perl)
	if err != nil {
		panic(err) // It is a part of one that was compiled.
	}
	var b strings.Builder
	g.write(&b, re)
	return b.String()
}

// printable are the characters that a class is taken to stand for, if it holds
// any of them.
const printable = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_+/=.!#%~ \n"

func (g *generator) write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(g.pick(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		// One alone is a dot that was not escaped, nearly everywhere; many are
		// what stands between two parts, see repeat.
		b.WriteByte('.')
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			g.write(b, sub)
		}
	case syntax.OpAlternate:
		g.write(b, re.Sub[g.rng.IntN(len(re.Sub))])
	case syntax.OpQuest:
		g.repeat(b, re.Sub[0], 0, 1)
	case syntax.OpStar:
		g.repeat(b, re.Sub[0], 0, 4)
	case syntax.OpPlus:
		g.repeat(b, re.Sub[0], 1, 8)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 || most > re.Min+24 {
			most = re.Min + 24
		}
		g.repeat(b, re.Sub[0], re.Min, most)
	default:
		// Boundaries and ends take up no text.
	}
}

func (g *generator) repeat(b *strings.Builder, re *syntax.Regexp, least, most int) {
	for range least + g.rng.IntN(most-least+1) {
		switch {
		case re.Op != syntax.OpAnyChar && re.Op != syntax.OpAnyCharNotNL:
			g.write(b, re)
		case least > 1:
			b.WriteByte(printable[g.rng.IntN(62)])
		case re.Op == syntax.OpAnyChar:
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
	}
}

// pick takes any character of a class, a printable one where there is one. Of
// white space it takes a blank.
func (g *generator) pick(ranges []rune) rune {
	var have []rune
	for _, c := range printable {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= c && c <= ranges[i+1] && (c > ' ' || len(have) == 0) {
				have = append(have, c)
				break
			}
		}
	}
	if len(have) == 0 {
		return ranges[0]
	}
	c := have[g.rng.IntN(len(have))]
	if g.capitals && 'a' <= c && c <= 'z' && g.rng.IntN(2) == 0 {
		c += 'A' - 'a'
	}
	return c
}

// texts are the ways in which gitleaks' own samples of a secret are written: {i}
// is the name of the service, {I} the same in capitals, {s} the secret.
var texts = []string{
	`{i}Token="{s}"`, `{i}Token = "{s}"`, `{i}Token={s}`, `{i}Token = {s}`,
	"{\n    \"{i}_token\": \"{s}\"\n}",
	`{"config.ini": "{I}_TOKEN={s}\nBACKUP_ENABLED=true"}`,
	"<{i}Token>\n    {s}\n</{i}Token>",
	`{i}_token: {s}`, `{i}_token: '{s}'`, `{i}_token: "{s}"`,
	`string {i}Token = "{s}";`, `var {i}Token string = "{s}"`, `{i}Token := "{s}"`, "{i}Token := `{s}`",
	`String {i}Token = "{s}";`, `var {i}Token = "{s}"`, `${i}Token .= "{s}"`, `{i}Token = '{s}'`,
	`System.setProperty("{I}_TOKEN", "{s}")`, `  "{i}Token" => "{s}"`,
	`{i}_TOKEN = "{s}"`, `{i}_TOKEN := "{s}"`, `{i}_TOKEN ::= "{s}"`, `{i}_TOKEN :::= "{s}"`, `{i}_TOKEN ?= "{s}"`,
	`{i}_secret = "{s}"`, `{I}_API_KEY={s}`, `{i}ApiKey: "{s}"`, `export {I}_SECRET='{s}'`, `{i}_password = "{s}"`,
	`use {s} for this`, `run("{s}")`, `X={s}`, "1\t{s}\n2\tnext", `{"name": "{I}_TOKEN", "value": "{s}"}`,
}

// Texts are samples as in files, each with the secret of a rule.
func Texts(name, secret string) []string {
	if name == "" {
		name = "service"
	}
	replacer := strings.NewReplacer("{i}", name, "{I}", strings.ToUpper(name), "{s}", secret)
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = replacer.Replace(text)
	}
	return out
}
