package recorded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/transcript"
	clinefiles "github.com/hookspan/hookspan/internal/transcript/cline"
)

// Root is the folder of the module, looked for from the working folder upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		text, rerr := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // A file of the checkout.
		if strings.HasPrefix(string(text), "module github.com/hookspan/hookspan\n") {
			return dir, nil
		}
		if rerr != nil && !errors.Is(rerr, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of hookspan in the working folder or above: %w", rerr)
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// Raws reads the payloads in the order of arrival, and the folder or file that has them.
func (s Session) Raws() (path string, raws []hook.Raw, err error) {
	root, err := Root()
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(root, "hook", s.Agent, "testdata", filepath.FromSlash(s.Payloads))
	if s.Payloads == "classic-session" {
		path = filepath.Join(root, "internal", "demo", "session")
	}
	read := hooktest.Lines
	if !strings.HasSuffix(path, ".ndjson") {
		read = folder
	}
	raws, err = read(path)
	return path, raws, err
}

// Events decodes the payloads in the order of arrival.
func (s Session) Events() (out []hook.Event, err error) {
	agent, _ := agents.All().Named(s.Agent)
	path, raws, err := s.Raws()
	for _, r := range raws {
		r.Offset, r.Cwd = int64(len(out)), "/home/dev/project"
		events, derr := agent.Decode(r)
		if err = errors.Join(err, derr); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, e := range events {
			if r.StoredAt.IsZero() {
				e.StoredAt = e.At().Add(10 * time.Millisecond)
			}
			if e.Session != "" { // otherwise stored, but of no session
				out = append(out, e)
			}
		}
	}
	return out, err
}

// folder reads payloads that are a file each, and their times of arrival if the agent's
// payloads have none.
func folder(dir string) (raws []hook.Raw, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no payloads: %w", err)
	}
	for _, f := range files {
		payload, err := os.ReadFile(f) //nolint:gosec // A file of testdata.
		if err != nil {
			return nil, err
		}
		_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
		raws = append(raws, hook.Raw{Payload: payload, Event: event})
	}
	arrival, err := os.ReadFile(filepath.Join(dir, "arrival.txt")) //nolint:gosec // A file of testdata.
	if errors.Is(err, os.ErrNotExist) {
		return raws, nil
	}
	times := strings.Fields(string(arrival)) // in pairs, of nanoseconds and an event
	if err != nil || len(times) != 2*len(raws) {
		return nil, fmt.Errorf("%d payloads, %d times of arrival: %w", len(raws), len(times)/2, err)
	}
	for i := range raws {
		ns, err := strconv.ParseInt(times[2*i], 10, 64)
		if err != nil {
			return nil, err
		}
		raws[i].StoredAt = time.Unix(0, ns).UTC()
	}
	return raws, nil
}

// Transcript reads the agent's files of a session as they would be found in a home folder. It
// is nil if none were recorded.
func (s Session) Transcript(ctx context.Context, id string) (tr *hook.Transcript, err error) {
	return s.Changed(ctx, id, func(string) error { return nil }, transcript.Query{})
}

// Changed is Transcript of files that change has changed, in the home folder that it is given,
// read as far as q asks for them.
func (s Session) Changed(ctx context.Context, id string, change func(home string) error, q transcript.Query) (tr *hook.Transcript, err error) {
	if s.Files == "" {
		return nil, nil
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "recorded")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	agent, _ := agents.All().Named(s.Agent)
	q.Session, q.Cwd = id, "/home/dev/project"
	to := agent.Folder
	from := filepath.Join(root, "internal", "transcript", "testdata", filepath.FromSlash(s.Files))
	switch {
	case agent.Plugin != "":
		_, err = opencodetest.Make(ctx, home, filepath.Join(from, s.Agent+".sql"))
	case s.Agent != "cline":
	case strings.HasPrefix(id, "conv_"):
		// A conversation, whose session has to be found.
		q.Dialect, to = clinefiles.DialectNext, ".cline/data/sessions/"+filepath.Base(from)
	case strings.HasPrefix(s.Files, "sdk/"):
		q.Dialect, to = clinefiles.DialectSDK, ".cline/data/sessions/"+id
	default:
		q.Dialect, to = clinefiles.DialectClassic, ".cline/data/tasks/"+id
	}
	err = errors.Join(err, os.CopyFS(filepath.Join(home, to), os.DirFS(from)))
	if err == nil {
		err = change(home)
	}
	if err != nil {
		return nil, err
	}
	files := &transcript.Files{Home: home, GOOS: "linux"}
	return files.Read(ctx, agent.Transcript, q)
}
