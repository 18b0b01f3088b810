package secretforms

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// Class is a set of forms that have a place in common.
type Class struct {
	Name  string
	forms []string
}

// Classes are all forms.
var Classes = []Class{
	{"private keys", keyForms},
	{"headers and cookies", headerForms},
	{"URLs", urlForms},
	{"environment variables", envForms},
	{"YAML", yamlForms},
	{"TOML, INI, properties, XML, SQL, connection strings", settingForms},
	{"program text", codeForms},
	{"JSON, structured output and logs", jsonForms},
	{"command lines", commandForms},
	{"credential files", fileForms},
	{"tables and prompts", tableForms},
	{"tokens of services", serviceForms},
}

// HeldOut are forms of all classes that no rule was written for.
var HeldOut = Class{"held out", heldOutForms}

// Sample is a form with values, in a frame.
type Sample struct {
	Form, Frame, Text string
	// Secrets are what must vanish; Keep, if not empty, must stay.
	Secrets []string
	Keep    string
}

// piece is how many characters in a row count as a part of a secret.
const piece = 8

// Leak is the first piece of a secret in s, or the whole of a shorter one.
func (p *Sample) Leak(s string) string {
	for _, secret := range p.Secrets {
		n := min(piece, len(secret))
		for i := 0; i+n <= len(secret); i++ {
			if strings.Contains(s, secret[i:i+n]) {
				return secret[i : i+n]
			}
		}
	}
	return ""
}

// Stretch is the first piece of eight characters of a secret in s.
func (p *Sample) Stretch(s string) string {
	for _, secret := range p.Secrets {
		for i := 0; i+piece <= len(secret); i++ {
			if strings.Contains(s, secret[i:i+piece]) {
				return secret[i : i+piece]
			}
		}
	}
	return ""
}

// behind is the line behind every second sample. It must stay.
const behind = "the line behind it stays"

// Samples are a class's forms in each frame.
func (c Class) Samples() []Sample {
	var out []Sample
	for i, form := range c.forms {
		for j, frame := range Frames {
			h := fnv.New64a()
			h.Write([]byte(form + frame.Name))
			v := &values{rng: rand.New(rand.NewPCG(h.Sum64(), 1))} //nolint:gosec // Nothing here is secret.
			text, keep := v.fill(form), ""
			if (i+j)%2 == 0 {
				text, keep = text+"\n"+behind, behind
			}
			secrets := slices.DeleteFunc(v.secrets, func(s string) bool { return s == "" })
			out = append(out, Sample{form, frame.Name, frame.Put(text), secrets, keep})
		}
	}
	return out
}

// Forms is how many forms the class has.
func (c Class) Forms() int { return len(c.forms) }
