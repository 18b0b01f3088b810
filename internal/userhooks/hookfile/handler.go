package hookfile

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/jsonedit"
)

// handler reads one hook as far as possible, and reports whether it can run. A
// fault in a member that decides what runs, and when, keeps it from running; other
// members fall back to their defaults.
func (r *reading) handler(n *jsonedit.Node) (h Handler, ok bool) {
	h = Handler{Event: r.event, Matcher: r.matcher, File: r.file.Path, Line: n.Start}
	if !n.Is(r.text, '{') {
		r.wrong("a hook of "+name(r.event), n, `an object with "type"`, true)
		return h, false
	}
	before := len(r.problems)
	m := hook{reading: r, node: n, members: r.lasts(n)}
	h.Type = m.need("type", `"command" or "http"`)
	switch h.Type {
	case TypeCommand:
		m.command(&h)
	case TypeHTTP:
		m.http(&h)
	case "prompt", "agent", "mcp_tool":
		if m.claude {
			break
		}
		m.lose("type", "hooks of type %q do not run here: want \"command\" or \"http\"", h.Type)
	case "":
		// need has reported it.
	default:
		m.lose("type", "unknown type %s: want \"command\" or \"http\"", name(h.Type))
	}
	m.common(&h)
	return h, !slices.ContainsFunc(r.problems[before:], func(p Problem) bool { return p.Dropped })
}

// hook is a handler that is being read.
type hook struct {
	*reading
	node    *jsonedit.Node
	members map[string]*jsonedit.Node
}

// lose records a fault in a member that keeps the hook from running.
func (m *hook) lose(key, format string, args ...any) {
	m.problem(m.members[key].Start, true, format, args...)
}

// get is a string member. If must is set, the hook cannot run with a wrong one.
func (m *hook) get(key string, must bool) string {
	n := m.members[key]
	switch {
	case n == nil:
		return ""
	case n.Is(m.text, '"'):
		return m.str(n)
	}
	m.wrong(name(key), n, "a string", must)
	return ""
}

// need is a required string member.
func (m *hook) need(key, want string) string {
	n, s := m.members[key], m.get(key, true)
	switch {
	case n == nil:
		m.problem(m.node.Start, true, "the hook has no %s, want %s", name(key), want)
	case n.Is(m.text, '"') && strings.TrimSpace(s) == "":
		m.lose(key, "%s is empty, want %s", name(key), want)
	}
	m.refuseZero(key, s)
	return s
}

// refuseZero records a text that no program can get.
func (m *hook) refuseZero(key string, texts ...string) {
	if slices.ContainsFunc(texts, func(s string) bool { return strings.ContainsRune(s, 0) }) {
		m.lose(key, "%s contains a zero character, which no command may", name(key))
	}
}

// flag is a boolean member.
func (m *hook) flag(key string) bool {
	return m.boolean(name(key), m.members[key], "it counts as false")
}

// list is a list of strings, nil if absent.
func (m *hook) list(key string, must bool) []string {
	n := m.members[key]
	if n == nil {
		return nil
	}
	if n.Is(m.text, '[') {
		at := slices.IndexFunc(n.Items, func(i jsonedit.Item) bool { return !i.Value.Is(m.text, '"') })
		if at < 0 {
			list := make([]string, len(n.Items))
			for i, item := range n.Items {
				list[i] = m.str(item.Value)
			}
			return list
		}
		n = n.Items[at].Value
	}
	m.wrong(name(key), n, "a list of strings", must)
	return nil
}

func (m *hook) command(h *Handler) {
	h.Command = m.need("command", "the command to run")
	h.Args = m.list("args", true)
	m.refuseZero("args", h.Args...)
	h.Shell = m.get("shell", h.Args == nil)
	if h.Args == nil && h.Shell != "" && h.Shell != "bash" && h.Shell != "powershell" {
		m.lose("shell", "unknown shell %s: want \"bash\" or \"powershell\"", name(h.Shell))
	}
	h.Async = m.flag("async")
	h.AsyncRewake = m.flag("asyncRewake")
	if h.AsyncRewake {
		// As in Claude Code, asyncRewake implies async.
		h.Async = true
		if m.claude {
			return
		}
		m.problem(m.members["asyncRewake"].Start, false, "Cline does not support asyncRewake: the hook runs in the background, and its output is ignored")
	}
}

func (m *hook) http(h *Handler) {
	h.URL = m.need("url", "an address that begins with http:// or https://")
	if h.URL != "" {
		if u, err := url.Parse(h.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			m.lose("url", "the url is %s, want an address that begins with http:// or https://", name(h.URL))
		}
	}
	if n := m.members["headers"]; n.Is(m.text, '{') {
		h.Headers = make(map[string]string, len(n.Items))
		for key, value := range m.lasts(n) {
			if value.Is(m.text, '"') {
				h.Headers[key] = m.str(value)
			} else {
				m.wrong("the header "+name(key), value, "a string", true)
			}
		}
	} else if n != nil {
		m.wrong(name("headers"), n, "an object of strings", true)
	}
	h.AllowedEnvVars = m.list("allowedEnvVars", false)
	if m.event == "SessionStart" {
		m.problem(m.node.Start, true, "http hooks do not run on SessionStart, as in Claude Code: use a command")
	}
}

// common reads the members of all types.
func (m *hook) common(h *Handler) {
	h.Timeout = m.timeout()
	h.If = m.get("if", true)
	if h.If != "" && !m.hasTool() {
		m.lose("if", "a hook with \"if\" runs on tool events only, as in Claude Code, and so never on %s: take the \"if\" out", name(m.event))
	}
	h.Once = m.flag("once")
	switch on := m.get("onFailure", false); on {
	case "block":
		h.BlockOnFailure = true
	case "", "continue":
	default:
		m.problem(m.members["onFailure"].Start, false, "onFailure is %s, want \"block\" or \"continue\"; it counts as \"continue\"", name(on))
	}
}

// timeout reads a number of seconds.
func (m *hook) timeout() time.Duration {
	n := m.members["timeout"]
	if n == nil {
		return 0
	}
	seconds, err := strconv.ParseFloat(string(n.Raw(m.text)), 64)
	if err != nil || !(seconds > 0) {
		m.wrong(name("timeout"), n, "a positive number of seconds; the default applies", false)
		return 0
	}
	// A longer time could overflow.
	const longest = 365 * 24 * 60 * 60
	d := time.Duration(math.Round(min(seconds, longest) * float64(time.Second)))
	return max(d, time.Millisecond)
}
