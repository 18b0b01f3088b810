package diagnose

import (
	"cmp"
	"context"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// serverEntry is where an agent's settings, JSON or TOML, start hookspan mcp: by one list, or by
// a command and its arguments, between which the entry may have other values.
var serverEntry = regexp.MustCompile(`["']([^"'\n]*hookspan(?:\.exe)?)["'](?:[\s,]*|[^][{}]*["']?args["']?\s*[:=]\s*\[\s*)["']mcp["']`)

// maxServers is the largest such file, in bytes: Claude Code's has a history, too.
const maxServers = 64 << 20

// asking says which agents can ask hookspan about earlier tasks, and starts what they start.
func (e *exam) asking(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	none := true
	for _, a := range e.Setup.Agents {
		file, program := e.serverOf(a)
		if program == "" {
			continue
		}
		none = false
		if err := exec.CommandContext(ctx, program, "mcp", "--help").Run(); err != nil { //nolint:gosec // An agent starts it as well.
			e.add(Problem, a.Name+" cannot start "+program+" mcp, as "+file+" says: "+err.Error(), "hookspan mcp --help prints the right entry")
			continue
		}
		e.add(OK, a.Name+" can ask about earlier tasks", "")
	}
	if none {
		e.add(OK, "no agent can ask about earlier tasks; hookspan mcp --help says how to let it", "")
	}
}

// serverOf returns the program that an agent starts as hookspan's MCP server, and the file that
// says so. A variable may name another folder for the home folder, or for the agent's in it.
func (e *exam) serverOf(a agents.Agent) (file, program string) {
	_, inFolder, _ := strings.Cut(a.Servers, "/")
	roots := []string{e.Setup.Home}
	for _, variable := range a.Folders {
		roots = append(roots, cmp.Or(e.Setup.Getenv(variable), e.Setup.Home))
	}
	for _, root := range roots {
		for _, name := range []string{a.Servers, inFolder, path.Base(a.Servers), strings.TrimSuffix(a.Servers, "c")} { // .json as well as .jsonc
			file = filepath.Join(root, name)
			text, _ := regular.Read(file, regular.Options{Max: maxServers}) // an agent that has none has no entry
			if found := serverEntry.FindSubmatch(text); found != nil {
				return file, strings.ReplaceAll(string(found[1]), `\\`, `\`) // a path of Windows
			}
		}
	}
	return "", ""
}
