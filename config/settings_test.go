package config

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/caarlos0/env/v11"
	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/golden"
)

func TestReference(t *testing.T) {
	const path = "../docs/configuration.md"
	want := reference()
	if golden.Updating() {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // A page of the documentation.
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, strings.ReplaceAll(string(got), "\r\n", "\n")); d != "" {
		t.Errorf("%s is not what the table says; run go test ./config -run TestReference -update (-want +got):\n%s", path, d)
	}
}

func TestSettings(t *testing.T) {
	c := load(t, input("HOOKSPAN_SPOOL_SYNC=ALWAYS\nINFINIUM_AGENT_ID=a-1\n",
		"HOOKSPAN_MAX_EVENT_BYTES=512KiB", "INFINIUM_AGENT_SECRET=topsecret", "OTEL_EXPORTER_OTLP_ENDPOINT=https://user:topsecret@c.example/a@b",
		"OTEL_EXPORTER_OTLP_TIMEOUT=500", "HOOKSPAN_EXPORTERS= otlp , store"))
	settings := c.Settings()
	if !slices.IsSortedFunc(settings, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted")
	}
	got := map[string]string{}
	for _, s := range settings {
		got[s.Name] = s.Value + " from " + s.Source
		if s.Doc == "" {
			t.Errorf("%s has no doc", s.Name)
		}
	}
	for name, want := range map[string]string{
		"HOOKSPAN_SPOOL_SYNC":         "always from file",
		"INFINIUM_AGENT_ID":           "a-1 from file",
		"HOOKSPAN_MAX_EVENT_BYTES":    "512KiB from environment",
		"HOOKSPAN_SPOOL_MAX_BYTES":    "1GiB from default",
		"INFINIUM_AGENT_SECRET":       "**** from environment",
		"OTEL_EXPORTER_OTLP_ENDPOINT": "https://****@c.example/a@b from environment",
		"OTEL_EXPORTER_OTLP_TIMEOUT":  "500 from environment",
		"OTEL_EXPORTER_OTLP_HEADERS":  " from default",
		"HOOKSPAN_EXPORTERS":          "otlp,store from environment",
		"HOOKSPAN_CONFIG_FILE":        "/home/u/.config/hookspan/hookspan.env from default",
		"HOOKSPAN_REDACT_FILE":        "/home/u/.config/hookspan/redact.rules from default",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	const secret = "t0psecret"
	tests := []struct {
		name    string
		environ []string
	}{
		{"right values", []string{"INFINIUM_AGENT_SECRET=" + secret, "OTEL_EXPORTER_OTLP_HEADERS=k=" + secret, "OTEL_EXPORTER_OTLP_TRACES_HEADERS=k=" + secret}},
		{"wrong values", []string{"INFINIUM_AGENT_SECRET=a b " + secret, "OTEL_EXPORTER_OTLP_HEADERS=" + secret, "OTEL_EXPORTER_OTLP_TRACES_HEADERS=%zz" + secret}},
		{"in right URLs", []string{"INFINIUM_BASE_URL=https://u:" + secret + "@h/x", "OTEL_EXPORTER_OTLP_ENDPOINT=https://u:" + secret + "@h"}},
		{"in wrong URLs", []string{"INFINIUM_BASE_URL=https://u:" + secret + "/%zz@h x", "OTEL_EXPORTER_OTLP_ENDPOINT=ftp://u:" + secret + "@h", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://u:" + secret + "@h:port"}},
		{"in right queries", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://h/x?token=" + secret + "&b=" + secret, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://h?" + secret + ";k=a?" + secret + "#a=" + secret}},
		{"in wrong queries", []string{"INFINIUM_BASE_URL=https://h/x?token=" + secret, "OTEL_EXPORTER_OTLP_ENDPOINT=h/x?token=" + secret, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=u:" + secret + "@h:4318"}},
		{"in clear text", []string{"INFINIUM_BASE_URL=http://u:" + secret + "@h", "OTEL_EXPORTER_OTLP_ENDPOINT=http://u:" + secret + "@h"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(input("", tt.environ...))
			shown := fmt.Sprint(err) + fmt.Sprintf("%v %+v", c.Settings(), c.Settings())
			for _, p := range Problems(err) {
				shown += fmt.Sprintf("%+v", *p)
			}
			shown += fmt.Sprintf("%v %+v %#v %s %q", c.InfiniumAgentSecret, c.Export.Headers, c.Export.Headers, c.Export.Headers, c.InfiniumAgentSecret)
			b, jerr := json.Marshal(c.InfiniumAgentSecret)
			if jerr != nil {
				t.Fatal(jerr)
			}
			shown += string(b)
			if strings.Contains(shown, secret) {
				t.Errorf("%s", shown)
			}
			if !strings.Contains(shown, masked) {
				t.Errorf("no mask in %s", shown)
			}
		})
	}
}

func TestEverySettingIsDocumented(t *testing.T) {
	page := reference()
	for _, s := range load(t, input("")).Settings() {
		if strings.Count(page, "- `"+s.Name+"`")+strings.Count(page, "` or `"+s.Name+"`") != 1 {
			t.Errorf("%s has no single entry on the page", s.Name)
		}
		if find(s.Name).allowed == "" || find(s.Name).kind == "" {
			t.Errorf("%s has no allowed or kind", s.Name)
		}
	}
}

func TestURLsAreShownWithoutTheirSecrets(t *testing.T) {
	tests := []struct{ raw, want string }{
		{"https://c.example/v1", "https://c.example/v1"},
		{"https://u:p@c.example/v1?a=b&c=d", "https://****@c.example/v1?a=****&c=****"},
		{"https://c.example/?key", "https://c.example/?****"},
		{"https://c.example/?a=&b", "https://c.example/?a=****&****"},
		{"https://c.example/?a=b;c=d#e=f&g", "https://c.example/?a=****;c=****#****"},
		{"https://c.example/?", "https://c.example/?"},
		{"u:p@c.example", "****@c.example"},
		{"c.example?a=b@c", "****@c"},
	}
	v := find("OTEL_EXPORTER_OTLP_ENDPOINT")
	for _, tt := range tests {
		if got := v.showURL(tt.raw); got != tt.want {
			t.Errorf("%s: shown as %s, want %s", tt.raw, got, tt.want)
		}
	}
}

// find returns the row of a variable.
func find(name string) variable {
	i := slices.IndexFunc(table[:], func(v variable) bool { return v.name == name })
	return table[i]
}

// reference is the Markdown page of all variables, made from the table. A variable that
// only replaces another is beside it.
func reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, v := range table {
		if v.group != "" {
			fmt.Fprintf(&b, "\n## %s\n\n", v.group)
		}
		if strings.HasPrefix(v.doc, "As OTEL_") {
			continue
		}
		fmt.Fprintf(&b, "- `%s`", v.name)
		for _, o := range table {
			if strings.HasPrefix(o.doc, "As "+v.name+",") {
				fmt.Fprintf(&b, " or `%s`", o.name)
			}
		}
		fmt.Fprintf(&b, " (%s", v.allowed)
		if v.byDefault != "" {
			fmt.Fprintf(&b, "; default `%s`", v.byDefault)
		}
		fmt.Fprintf(&b, "): %s", v.doc)
		if v.secret {
			b.WriteString(" Never shown.")
		}
		b.WriteByte('\n')
	}
	b.WriteString(referenceTail)
	return b.String()
}

const referenceHead = `# Configuration

This page is made from the source; change ` + "`config/config.go`" + ` and run ` + "`go test ./config -run TestReference -update`" + `.

Every setting is an environment variable. The process environment wins over the env file, and the env file over the default. An empty value
counts as not set. Where an entry has several names, a later one replaces the first for what it names. ` + "`hookspan config`" + ` shows every value in force and
where it came from.

The env file is ` + "`$XDG_CONFIG_HOME/hookspan/hookspan.env`" + ` (` + "`~/.config/hookspan/hookspan.env`" + `; on Windows ` + "`%APPDATA%\\hookspan\\hookspan.env`" + `), for
editors that were started from a desktop and agents that keep variables from their hooks. It holds lines ` + "`NAME=value`" + `; a value with ` + "`#`" + ` in it
needs quotes. Paths may begin with ` + "`~/`" + `.

Below the env file, a machine-wide file counts for every user: ` + "`/etc/hookspan/hookspan.env`" + `, on macOS
` + "`/Library/Application Support/hookspan/hookspan.env`" + `, on Windows ` + "`ProgramData\\hookspan\\hookspan.env`" + ` on the system's drive. File and folder must
belong to root (on Windows to SYSTEM or the Administrators) and be writable by no other, else the file counts for nothing and
` + "`hookspan doctor`" + ` says so. With ` + "`HOOKSPAN_MANAGED=true`" + ` in it, its settings are fixed:

- Users, projects and the environment can ask for less (less capture, redaction, more patterns, fewer destinations, no recording) and add
  resource attributes. Anything else that they say about its settings has no effect and is reported.
- If it names a destination, no other destination, header or certificate is used.
- Settings that decide together are fixed together: a file of patterns keeps redaction on, a preview's length keeps ` + "`HOOKSPAN_CAPTURE=full`" + ` off and
  a capture of previews fixes their length, what the user's hooks must do keeps ` + "`HOOKSPAN_HOOKS`" + ` on, that or ` + "`HOOKSPAN_HOOKS`" + ` keeps
  ` + "`HOOKSPAN_HOOKS_ON_ERROR=allow`" + ` off, and one of the proxy variables fixes all three.
- Where its ` + "`HOOKSPAN_CAPTURE`" + ` is none, the event log keeps no texts either. Then the result of a Cline tool is known by Cline's own flag alone.

A project, or the program that starts an agent, can also set the environment. Hence:

- A credential (headers, a client key, the agent's secret) goes only to an address from the same place, the env file with the keyring or the
  environment, or to a default address. Otherwise the destination is off, and ` + "`hookspan config`" + `, ` + "`status`" + ` and ` + "`doctor`" + ` say why.
- The environment can neither allow a credential of the env file to go over cleartext http, nor choose the certificates that its server is
  checked by.
- The environment may lower capture and the lengths of previews, not raise them, and add redaction patterns, not replace yours.
  ` + "`HOOKSPAN_REDACT=false`" + ` counts in the env file alone. All this travels with what is recorded, whichever process delivers it.
- A file that ` + "`HOOKSPAN_CONFIG_FILE`" + ` names counts as the environment.

A wrong value is reported and its default is used instead. A destination whose address or protocol is wrong gets nothing. Nothing is delivered
while the env file or a file with patterns cannot be read. A line that cannot be read, or a name near a known one, counts as a wrong value of
that variable.
`

const referenceTail = `
## Folders

- ` + "`$XDG_CONFIG_HOME/hookspan`" + ` (` + "`~/.config/hookspan`" + `; on Windows ` + "`%APPDATA%\\hookspan`" + `): ` + "`hookspan.env`, `redact.rules`" + `
- ` + "`$XDG_STATE_HOME/hookspan`" + ` (` + "`~/.local/state/hookspan`" + `; on Windows ` + "`%LOCALAPPDATA%\\hookspan`" + `): ` + "`spool`, `traces.db`, `hookspan.log`" + `

` + "`traces.db`" + ` is the local store, one SQLite file. What leaves it, by age, size or ` + "`hookspan delete`" + `, is overwritten within the file. XDG
variables that are not absolute paths are ignored.

## Projects

A project can switch recording off for itself with a file ` + "`.hookspan.env`" + ` that says ` + "`HOOKSPAN_DISABLED=true`" + `: in the folder where the
agent works, or above it up to the root of its Git repository. The file must be yours, root's or the folder's owner's. A wrong value and an
unreadable line with that name count as true. Nothing else in that file has any effect.

For folders of yours ` + "`HOOKSPAN_DISABLED_PROJECTS`" + ` needs no file in them. What was recorded before stays; ` + "`hookspan delete --project FOLDER`" + ` removes it.
`

// TestTableDescribesTheFields compares the variables that the library reads with the
// rows. A field of OTLP has two rows, of which the one for traces is second.
func TestTableDescribesTheFields(t *testing.T) {
	fields, err := env.GetFieldParams(&Config{})
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, f := range fields {
		want = append(want, f.Key)
		if key, ok := strings.CutPrefix(f.Key, otlpPrefix); ok {
			want = append(want, otlpPrefix+"TRACES_"+key)
		}
	}
	for _, v := range table {
		if v.fileOnly {
			continue // no field: hooks would parse it in vain
		}
		got = append(got, v.name)
		key, traces := strings.CutPrefix(v.name, otlpPrefix+"TRACES_")
		if !traces {
			if v.general != "" {
				t.Errorf("%s replaces %s", v.name, v.general)
			}
			continue
		}
		if v.general != otlpPrefix+key {
			t.Errorf("%s replaces %q, want %s", v.name, v.general, otlpPrefix+key)
			continue
		}
		if v.byDefault != "" {
			t.Errorf("%s has the default %s, which would replace %s", v.name, v.byDefault, v.general)
		}
		pair := find(v.general)
		if v.kind != pair.kind || v.lowest != pair.lowest || v.highest != pair.highest || v.whenWrong != pair.whenWrong || v.secret != pair.secret || v.texts != pair.texts || v.guards != pair.guards {
			t.Errorf("%s and %s are checked or shown differently", v.name, v.general)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the table does not have the fields' variables in their order (-fields +table):\n%s", d)
	}
}
