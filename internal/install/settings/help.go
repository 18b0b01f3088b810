package settings

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/termtext"
)

// helpWidth is the longest line of a command's help, in columns.
const helpWidth = 89

// Command describes the command that installs the hooks, or with undo the one that removes
// them.
func (in Installer) Command(undo bool) install.Command {
	a := in.Spec
	name, word, scopes := a.Agent.Name, a.Agent.Word, strings.Join(a.Agent.Scopes, ", ")
	if i := strings.LastIndex(scopes, ", "); i > 0 {
		scopes = scopes[:i] + " or " + scopes[i+2:]
	}
	limit, local := "--scope and --project limit it. ", ""
	if len(a.Agent.Scopes) == 1 {
		limit = ""
	}
	if a.LocalFile != "" {
		local = " and local"
	}
	c := install.Command{
		Short: "Let " + name + " report to hookspan",
		Flags: map[string]string{
			"force":   "rewrite hookspan entries that were edited",
			"scope":   "whose hooks: " + scopes,
			"project": "the project's folder, for --scope project (which it implies)" + local + "; this folder if not given",
		},
		Long: paragraph(fmt.Sprintf("Add hookspan's hooks to %s's %s; --dry-run shows the lines. Your own hooks, all else in the file and its layout "+
			"stay as they are; the file as it was is kept beside it. hookspan uninstall %s takes the hooks out again, to the byte. %s",
			name, path.Base(filepath.ToSlash(a.File)), word, a.Note)),
	}
	if undo {
		c.Short = "Take hookspan's hooks out of " + name
		c.Flags["force"] = "" // accepted as for other agents; edited entries go anyway
		c.Flags["scope"] = "only these hooks: " + scopes
		c.Flags["project"] = "only this project's hooks; for --scope project" + local + ", this folder if not given"
		c.Long = paragraph("Take out exactly what hookspan install " + word + " put in, from wherever it did, and leave everything else. " +
			limit + "Traces and settings stay.")
	}
	if limit == "" {
		c.Flags = map[string]string{"force": c.Flags["force"]}
	}
	if undo || limit == "" {
		return c
	}
	if a.TrustHint != "" {
		c.Long += "\n\n" + paragraph(name+" runs a hook only when you trust it: "+a.TrustHint+". hookspan doctor says whether you have"+a.NoTrust+".")
	}
	c.Long += "\n"
	for _, scope := range a.Agent.Scopes {
		at, whose := "~/"+a.Agent.Folder+"/"+a.File, ", for all your projects (the default)"
		switch scope {
		case install.ScopeProject:
			at, whose = a.Agent.Folder+"/"+a.File, " in the project, which others may share"
		case install.ScopeLocal:
			at, whose = a.Agent.Folder+"/"+a.LocalFile, " in the project, for you alone"
		}
		c.Long += fmt.Sprintf("\n  --scope %-9s %s%s", scope, at, whose)
	}
	return c
}

func paragraph(text string) string {
	return strings.Join(termtext.Wrap(strings.TrimSpace(text), helpWidth), "\n")
}
