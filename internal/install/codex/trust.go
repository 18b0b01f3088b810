package codex

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/install/settings"
	"github.com/hookspan/hookspan/internal/lookpath"
	"github.com/hookspan/hookspan/internal/termtext"
)

// untrusted returns that Codex skips hookspan's hooks in a folder, as the user does not
// trust them. It returns "" if Codex runs them or cannot be asked.
func untrusted(ctx context.Context, dir string) string {
	statuses, err := trustStatuses(ctx, dir)
	if err != nil {
		return ""
	}
	return untrustedHooks(statuses)
}

// untrustedHooks is untrusted for the commands of hooks and their states of trust.
func untrustedHooks(statuses map[string]string) string {
	counts := make(map[string]int)
	for command, status := range statuses {
		if _, _, ok := settings.HookCommand(command, nil); ok {
			counts[status]++
		}
	}
	var parts []string
	if n := counts["untrusted"]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d not trusted", n))
	}
	if n := counts["modified"]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d changed since they were trusted", n))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Codex silently skips %s of hookspan's (%s): nothing is recorded by them",
		termtext.Plural(counts["untrusted"]+counts["modified"], "hook"), strings.Join(parts, ", "))
}

// trustTimeout bounds the question to Codex, which takes about 0.2 s.
const trustTimeout = 5 * time.Second

// maxAnswer bounds what is read of Codex's answers, in bytes.
const maxAnswer = 4 << 20

var errNoAnswer = errors.New("codex app-server did not list the hooks")

// trustStatuses asks the codex on PATH which hooks it sees in a folder and whether the
// user trusts them: "trusted", "untrusted" or "modified", by command.
func trustStatuses(ctx context.Context, dir string) (statuses map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, trustTimeout)
	defer cancel()
	// With plugins Codex would fetch them, and leave what it has fetched when it is stopped.
	cmd, err := lookpath.Here().Command(ctx, "codex", "app-server", "-c", "features.plugins=false")
	if err != nil {
		return nil, err
	}
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
	return listHooks(in, out, dir)
}

// listHooks asks codex app-server through its pipes.
func listHooks(in io.Writer, out io.Reader, dir string) (map[string]string, error) {
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
			statuses := make(map[string]string)
			for _, d := range answer.Result.Data {
				for _, h := range d.Hooks {
					statuses[h.Command] = h.TrustStatus
				}
			}
			return statuses, nil
		}
	}
	return nil, errors.Join(lines.Err(), errNoAnswer)
}
