package security_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/hookspan/hookspan/tests/internal/lab"
)

// object is a JSON object in a payload.
type object = map[string]any

// text encodes a payload; texts of any kind become strings of it.
func text(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// clineEvent is a Cline payload with these members.
func clineEvent(t testing.TB, session, name string, members object) lab.Event {
	t.Helper()
	p := object{
		"clineVersion": "4.0.12", "hookName": name, "timestamp": "1795175957430", "taskId": session,
		"workspaceRoots": []string{"/home/dev/project"}, "userId": "u", "model": object{"provider": "anthropic", "slug": "m"},
	}
	for k, v := range members {
		p[k] = v
	}
	return lab.Event{Name: name, Payload: text(t, p)}
}

// toolCall is a finished call of a tool.
func toolCall(t testing.TB, session, tool, path, result string) lab.Event {
	t.Helper()
	return clineEvent(t, session, "PostToolUse", object{"postToolUse": object{
		"toolName": tool, "parameters": object{"path": path, "command": path}, "result": result, "success": true, "executionTimeMs": "5",
	}})
}

// task is a whole task of Cline's with one tool call. Its end starts a delivery.
func task(t testing.TB, session, prompt, tool, path, result string) []lab.Event {
	t.Helper()
	meta := object{"taskId": session, "ulid": "01K5KBSRCHYLFABCDEFGHJKMNP"}
	with := func(key, value string) object {
		m := object{key: value}
		for k, v := range meta {
			m[k] = v
		}
		return object{"taskMetadata": m}
	}
	return []lab.Event{
		clineEvent(t, session, "TaskStart", object{"taskStart": with("initialTask", prompt)}),
		toolCall(t, session, tool, path, result),
		clineEvent(t, session, "TaskComplete", object{"taskComplete": with("result", result)}),
	}
}

// snapshot is what stands below a folder, by path: mode, and what a file holds.
// Paths for which skip is true are left out, with all below them.
func snapshot(t testing.TB, root string, skip func(rel string) bool) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if skip != nil && skip(filepath.ToSlash(rel)) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += fmt.Sprintf(" %x", sha256.Sum256(b))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " " + target
		}
		all[filepath.ToSlash(rel)] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// steering finds the first character in an output that could steer a terminal or
// change the order in which text is read. Line ends are allowed.
func steering(out string) string {
	for i, r := range out {
		switch {
		case r == '\n' || r == '\u200c' || r == '\u200d':
		case r == '\uFFFD' && !strings.HasPrefix(out[i:], "\uFFFD"):
			return fmt.Sprintf("byte %#x at %d: %q", out[i], i, around(out, i))
		case r < ' ', unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			return fmt.Sprintf("%U at %d: %q", r, i, around(out, i))
		}
	}
	return ""
}

func around(s string, i int) string { return s[max(0, i-30):min(len(s), i+30)] }

// trap is a server that must get no connection. It answers nothing and records what it
// receives, on both loopback addresses.
type trap struct {
	Port int
	mu   sync.Mutex
	said []string
}

func newTrap(t testing.TB) *trap {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &trap{Port: l.Addr().(*net.TCPAddr).Port}
	all := []net.Listener{l}
	if l6, err := lc.Listen(t.Context(), "tcp6", fmt.Sprintf("[::1]:%d", p.Port)); err == nil {
		all = append(all, l6)
	}
	var wg sync.WaitGroup
	for _, l := range all {
		wg.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				p.take(c)
			}
		})
	}
	t.Cleanup(func() {
		for _, l := range all {
			_ = l.Close()
		}
		wg.Wait()
	})
	return p
}

// take notes a visit and what its first bytes are, and sends the visitor away.
func (p *trap) take(c net.Conn) {
	defer c.Close() //nolint:errcheck // The peer's error is of no interest.
	b := make([]byte, 4096)
	n, _ := io.ReadAtLeast(c, b, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, string(b[:n]))
}

// Visits are the first bytes of each visit since the last call.
func (p *trap) Visits() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	said := p.said
	p.said = nil
	return said
}
