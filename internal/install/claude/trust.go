package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/termtext"
)

// trustHint is what a user does whose agent does not trust the hooks.
const trustHint = `start codex and choose "Trust all", or type /hooks there`

// untrusted says that the user has not trusted the hooks of a site, or "". Where the
// agent cannot be asked, it says nothing.
func (p *product) untrusted(ctx context.Context, dir string, s install.Site) string {
	if p.trust == nil || s.Count(install.StateInstalled) == 0 {
		return ""
	}
	trust, err := p.trust(ctx, dir)
	if err != nil {
		return ""
	}
	untrusted, modified := 0, 0
	for command, status := range trust {
		h := handler{form: formShell}
		h.resolve(command)
		switch {
		case !h.installed():
		case status == "untrusted":
			untrusted++
		case status == "modified":
			modified++
		}
	}
	var parts []string
	if untrusted > 0 {
		parts = append(parts, fmt.Sprintf("%d not trusted", untrusted))
	}
	if modified > 0 {
		parts = append(parts, fmt.Sprintf("%d changed since they were trusted", modified))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s silently skips %s of hookspan's (%s): nothing is recorded by them", p.name,
		termtext.Plural(untrusted+modified, "hook"), strings.Join(parts, ", "))
}

// trustTimeout bounds the question to Codex, which takes about 0.2 s.
const trustTimeout = 5 * time.Second

// maxAnswer bounds what is read of Codex's answers, in bytes.
const maxAnswer = 4 << 20

var errNoAnswer = errors.New("codex app-server did not list the hooks")

// codexTrust asks the codex on PATH which hooks it sees in a folder and whether the
// user trusts them: "trusted", "untrusted" or "modified", by command.
func codexTrust(ctx context.Context, dir string) (trust map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, trustTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "codex", "app-server")
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was stopped
	}()
	return askTrust(in, out, dir)
}

// askTrust speaks with codex app-server.
func askTrust(in io.Writer, out io.Reader, dir string) (map[string]string, error) {
	send := func(m map[string]any) error {
		line, err := json.Marshal(m)
		if err == nil {
			_, err = in.Write(append(line, '\n'))
		}
		return err
	}
	client := map[string]any{"name": "hookspan", "title": "hookspan", "version": "0"}
	if err := send(map[string]any{"id": 1, "method": "initialize", "params": map[string]any{"clientInfo": client}}); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(io.LimitReader(out, maxAnswer))
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		var answer struct {
			ID     int
			Result struct {
				Data []struct {
					Hooks []struct{ Command, TrustStatus string }
				}
			}
		}
		if json.Unmarshal(lines.Bytes(), &answer) != nil {
			continue // a notification of another form
		}
		switch answer.ID {
		case 1:
			err := errors.Join(
				send(map[string]any{"method": "initialized"}),
				send(map[string]any{"id": 2, "method": "hooks/list", "params": map[string]any{"cwds": []string{dir}}}))
			if err != nil {
				return nil, err
			}
		case 2:
			trust := make(map[string]string)
			for _, d := range answer.Result.Data {
				for _, h := range d.Hooks {
					trust[h.Command] = h.TrustStatus
				}
			}
			return trust, nil
		}
	}
	return nil, errors.Join(lines.Err(), errNoAnswer)
}
