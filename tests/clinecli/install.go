package clinecli

import (
	"embed"
	"fmt"

	"github.com/hookspan/hookspan/tests/internal/rig"
)

// CLI is a major version of Cline's command line program.
type CLI int

// The programs under test.
const (
	// CLI2 is the classic core, which runs on node.
	CLI2 CLI = 2
	// CLI3 is the SDK core; it is a native program. npm/ pins the versions.
	CLI3 CLI = 3
)

// String returns "cli2" or "cli3".
func (c CLI) String() string { return fmt.Sprintf("cli%d", int(c)) }

//go:embed npm/cli2/package.json npm/cli2/package-lock.json npm/cli3/package.json npm/cli3/package-lock.json
var manifests embed.FS

// Programs are Cline's programs.
var Programs = map[CLI]rig.Program{
	CLI2: {Name: "cli2", Manifest: manifests, Folder: "npm/cli2", Path: "cline/dist/cli.mjs", Node: true, Held: true},
	CLI3: {Name: "cli3", Manifest: manifests, Folder: "npm/cli3", Path: "@cline/cli-linux-x64/bin/cline"},
}
