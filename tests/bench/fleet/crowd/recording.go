package crowd

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// Recording is a session that a real agent had, as its hooks were given it, and
// what the agent keeps in its own files about it.
type Recording struct {
	Name, Host string
	// Session is the session's id in the payloads.
	Session string
	events  []event
	// files are by their path from the home folder.
	files []file
}

type event struct {
	name    string
	at      time.Time
	payload []byte
}

type file struct {
	path string
	body []byte
}

// recorded says where the recordings lie, from the module's folder. Each ends
// with an event that ends its run, so that all of it is delivered at once.
var recorded = []struct{ name, host, payloads, arrival, session, files, home string }{
	{
		"classic Cline", hook.HostCline, "hook/cline/testdata/e2e-cli2/ok", "", "1795174833149",
		"internal/transcript/testdata/cli2/1795174833149", ".cline/data/tasks/1795174833149",
	},
	{
		"Cline SDK", hook.HostCline, "hook/cline/testdata/e2e-cli3/tools", "", "1795174957841_0jeru",
		"internal/transcript/testdata/sdk/tools", ".cline/data/sessions",
	},
	{
		"Claude Code, subagents", hook.HostClaude, "hook/claude/testdata/session.ndjson", "", "7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17",
		"internal/transcript/testdata/claude/2.1.240/projects", ".claude/projects",
	},
	{
		"Claude Code, two turns", hook.HostClaude, "hook/claude/testdata/e2e/tools-resume", "hook/claude/testdata/e2e/tools-resume/arrival.txt",
		"eac41571-255c-464a-8441-dccbd98b3d7e", "internal/transcript/testdata/claude/tools-resume/projects", ".claude/projects",
	},
}

// Recordings reads all recordings; root is the module's folder.
func Recordings(root string) ([]*Recording, error) {
	var all []*Recording
	for _, r := range recorded {
		rec := &Recording{Name: r.name, Host: r.host, Session: r.session}
		var err error
		if strings.HasSuffix(r.payloads, ".ndjson") {
			err = rec.lines(filepath.Join(root, filepath.FromSlash(r.payloads)))
		} else {
			err = rec.payloads(root, r.payloads, r.arrival)
		}
		if err == nil {
			err = rec.keep(filepath.Join(root, filepath.FromSlash(r.files)), r.home)
		}
		if err != nil {
			return nil, fmt.Errorf("recording %q: %w", r.name, err)
		}
		all = append(all, rec)
	}
	return all, nil
}

// lines reads a recording that is one file, with the time of each event.
func (r *Recording) lines(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		var line struct {
			At      time.Time       `json:"ts"`
			Payload json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		var of struct {
			Event string `json:"hook_event_name"`
		}
		if err := json.Unmarshal(line.Payload, &of); err != nil {
			return err
		}
		r.events = append(r.events, event{of.Event, line.At, line.Payload})
	}
	return nil
}

// payloads reads a recording that has a file NUMBER-EVENT.json for each event.
// Their times are in a separate file, or else in the payloads.
func (r *Recording) payloads(root, folder, arrival string) error {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.json"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no payloads in %s: %w", folder, err)
	}
	var times []string
	if arrival != "" {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(arrival)))
		if err != nil {
			return err
		}
		if times = strings.Split(strings.TrimSpace(string(b)), "\n"); len(times) != len(files) {
			return fmt.Errorf("%s has %d lines, want one for each of %d payloads", arrival, len(times), len(files))
		}
	}
	for i, f := range files {
		payload, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
		var at time.Time
		if times != nil {
			nanos, _, _ := strings.Cut(times[i], " ")
			n, err := strconv.ParseInt(nanos, 10, 64)
			if err != nil {
				return fmt.Errorf("%s: line %d: %w", arrival, i+1, err)
			}
			at = time.Unix(0, n)
		} else if at, err = clineTime(payload); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(f), err)
		}
		r.events = append(r.events, event{name, at, payload})
	}
	return nil
}

// clineTime is the time that Cline gives an event: milliseconds in the classic
// form, a date in the SDK's.
func clineTime(payload []byte) (time.Time, error) {
	var of struct {
		Timestamp string `json:"timestamp"`
	}
	if err := json.Unmarshal(payload, &of); err != nil {
		return time.Time{}, err
	}
	if ms, err := strconv.ParseInt(of.Timestamp, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	return time.Parse(time.RFC3339, of.Timestamp)
}

// keep reads the agent's own files, which go to that folder of the home folder.
func (r *Recording) keep(folder, home string) error {
	return filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		r.files = append(r.files, file{path.Join(home, filepath.ToSlash(below)), body})
		return nil
	})
}

// Events is the number of events of the session.
func (r *Recording) Events() int { return len(r.events) }

// identities are the ids that must differ from session to session: numbers of
// Cline's sessions and agents, UUIDs, and Claude's messages, by which a fork's
// copies are told.
var identities = regexp.MustCompile(`[0-9]{13}_[0-9a-z]{5,7}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\bmsg_[0-9A-Za-z]+`)

// fresh writes the text of the n-th session that is played from the recording:
// the same but for the ids, which keep their form.
func (r *Recording) fresh(text []byte, n int, home string) []byte {
	text = identities.ReplaceAllFunc(text, func(id []byte) []byte { return renamed(id, n) })
	if !identities.MatchString(r.Session) {
		text = bytes.ReplaceAll(text, []byte(r.Session), renamed([]byte(r.Session), n))
	}
	return bytes.ReplaceAll(text, []byte("/home/dev/.claude/"), []byte(filepath.ToSlash(home)+"/.claude/"))
}

// renamed returns the id of the n-th copy of a session. Numbers, which
// are times too, go up by n milliseconds.
func renamed(id []byte, n int) []byte {
	if len(id) >= 13 {
		if ms, err := strconv.ParseInt(string(id[:13]), 10, 64); err == nil {
			return append(strconv.AppendInt(nil, ms+int64(n), 10), id[13:]...)
		}
	}
	sum := sha256.Sum256(append(strconv.AppendInt(nil, int64(n), 10), id...))
	digits := []byte(hex.EncodeToString(sum[:]))
	out := slices.Clone(id)
	from := 0
	if bytes.HasPrefix(id, []byte("msg_")) {
		from = len("msg_")
	}
	for i := from; i < len(out); i++ {
		if out[i] != '-' {
			out[i] = digits[i]
		}
	}
	return out
}
