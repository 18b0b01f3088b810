package clinecli

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"

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

// Install makes sure that the program is in the cache folder and returns the
// command that starts it; see rig.Program.
func Install(ctx context.Context, cache string, cli CLI) ([]string, error) {
	manifest, err := fs.Sub(manifests, "npm/"+cli.String())
	if err != nil {
		return nil, fmt.Errorf("manifest of %s: %w", cli, err)
	}
	p := rig.Program{Name: cli.String(), Manifest: manifest}
	var node string
	if cli == CLI3 {
		p.Platforms = []string{"linux/amd64"}
	} else if node, err = exec.LookPath("node"); err != nil {
		return nil, fmt.Errorf("%s runs on node: %w: %w", cli, err, rig.ErrNoProgram)
	}
	dir, err := p.Install(ctx, cache)
	if err != nil {
		return nil, err
	}
	if cli == CLI3 {
		return []string{filepath.Join(dir, "node_modules", "@cline", "cli-linux-x64", "bin", "cline")}, nil
	}
	return []string{node, filepath.Join(dir, "node_modules", "cline", "dist", "cli.mjs")}, nil
}
