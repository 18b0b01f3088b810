package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Setting is one variable as people see it.
type Setting struct {
	// Name is the variable's name.
	Name string `json:"name"`
	// Value is the value in force, stars for a secret, empty for none.
	Value string `json:"value"`
	// Source is Default, File, Environment or Fallback.
	Source string `json:"source"`
	// Doc explains the variable in a sentence or two.
	Doc string `json:"doc"`
}

// Source tells where a variable's value in force came from: Default, File or
// Environment. It is Default for a wrong value, which is not in force.
func (c *Config) Source(name string) string {
	return cmp.Or(c.set[name].source, Default)
}

// InFile reports whether an env file gives a variable a valid value, which is in
// force unless the environment gives another.
func (c *Config) InFile(name string) bool { return c.inFile[name] }

// Settings lists every variable, sorted by name.
func (c *Config) Settings() []Setting {
	var out []Setting
	for _, v := range table() {
		name := v.name
		s := Setting{Name: name, Value: v.byDefault, Source: c.Source(name), Doc: v.doc}
		switch {
		case s.Source != Default:
			s.Value = c.set[name].shown
		case c.wrong[name] && v.whenWrong != "":
			s.Value, s.Source = v.whenWrong, Fallback
		}
		switch name {
		case "HOOKSPAN_CONFIG_FILE":
			s.Value = c.ConfigFile
		case "HOOKSPAN_REDACT_FILE":
			var paths []string
			for _, f := range c.RedactFiles() {
				paths = append(paths, f.Path)
			}
			s.Value = strings.Join(paths, ", ")
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Reference is the Markdown page of all variables, made from the table.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, v := range table() {
		if v.group != "" {
			fmt.Fprintf(&b, "\n## %s\n\n| Variable | Meaning | Allowed | Default |\n|---|---|---|---|\n", v.group)
		}
		def, doc := "none", v.doc
		if v.byDefault != "" {
			def = "`" + v.byDefault + "`"
		}
		if v.secret {
			doc += " Never shown."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.name, cell(doc), cell(v.allowed), def)
	}
	b.WriteString(referenceTail)
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

const referenceHead = `# Configuration

This page is made from the source; change ` + "`config/config.go`" + ` and run
` + "`go test ./config -run TestReference -update`" + `.

Every setting is an environment variable. For each variable by itself the process environment wins over the env file, and
the env file over the default. A variable that is set to nothing counts as not set. ` + "`hookspan config`" + ` shows every value in
force and where it came from.

The env file is ` + "`$XDG_CONFIG_HOME/hookspan/hookspan.env`" + ` (` + "`~/.config/hookspan/hookspan.env`" + `; on Windows
` + "`%APPDATA%\\hookspan\\hookspan.env`" + `). It is there because editors started from a desktop have no shell environment, and some
agents keep variables from their hooks. It holds lines of the form ` + "`NAME=value`" + `; a value with ` + "`#`" + ` in it needs quotes. Paths
may begin with ` + "`~/`" + `.

A project, or the program that starts an agent, can also set the environment. Hence:

- A credential goes only to an address from the same place: headers, a client key or the agent's secret of the env file, or of
  the keyring, do not go to an address of the environment, nor the other way round. Otherwise the destination is off, and
  ` + "`hookspan config`" + `, ` + "`status`" + ` and ` + "`doctor`" + ` say why. The same address in both is allowed, and so are a default address and an
  address without a credential.
- The environment alone can neither allow a credential of the env file to go over cleartext http, nor choose the certificates
  that its server is checked by.
- The environment may lower ` + "`HOOKSPAN_CAPTURE`" + ` and the lengths of previews that the env file asks for, not raise them.
  ` + "`HOOKSPAN_REDACT=false`" + ` counts in the env file alone. Patterns that the environment names are added to yours.
- A file that ` + "`HOOKSPAN_CONFIG_FILE`" + ` names counts as the environment in all of this.

A wrong value is named and its default used instead. A destination whose address or protocol is wrong gets nothing. Nothing
is delivered while the name of the env file or of a file with more patterns is wrong, or such a file cannot be read.
`

const referenceTail = `
## Folders

| Folder | Default | Windows | Contents |
|---|---|---|---|
| ` + "`$XDG_CONFIG_HOME/hookspan`" + ` | ` + "`~/.config/hookspan`" + ` | ` + "`%APPDATA%\\hookspan`" + ` | ` + "`hookspan.env`, `redact.rules`" + ` |
| ` + "`$XDG_STATE_HOME/hookspan`" + ` | ` + "`~/.local/state/hookspan`" + ` | ` + "`%LOCALAPPDATA%\\hookspan`" + ` | ` + "`spool`, `traces.db`, `hookspan.log`" + ` |

XDG variables that are not absolute paths are ignored.

## Projects

A project can switch recording off for itself with a file ` + "`.hookspan.env`" + ` that says ` + "`HOOKSPAN_DISABLED=true`" + `. Nothing else
in that file has any effect.
`
