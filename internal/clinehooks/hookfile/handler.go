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
	h = Handler{Event: r.event, Matcher: r.matcher, File: r.path}
	if !n.Is(r.text, '{') {
		r.wrong("a hook of "+name(r.event), n, `an object with "type"`, true)
		return h, false
	}
	m := hook{reading: r, node: n, ok: true}
	m.members = r.lasts(n)
	h.Type = m.need("type", `"command" or "http"`)
	switch h.Type {
	case TypeCommand:
		m.command(&h)
	case TypeHTTP:
		m.http(&h)
	case "prompt", "agent", "mcp_tool":
		m.lose(m.members["type"], "hooks of type %q do not run here: want \"command\" or \"http\"", h.Type)
	case "":
		// need has reported it.
	default:
		m.lose(m.members["type"], "unknown type %s: want \"command\" or \"http\"", name(h.Type))
	}
	m.common(&h)
	return h, m.ok
}

// hook is a handler that is being read.
type hook struct {
	*reading
	node    *jsonedit.Node
	members map[string]*jsonedit.Node
	ok      bool
}

// lose records a problem that keeps the hook from running.
func (m *hook) lose(n *jsonedit.Node, format string, args ...any) {
	m.ok = false
	m.problem(n.Start, true, format, args...)
}

// reject records a value of the wrong kind. lost says that the hook cannot run
// without it.
func (m *hook) reject(what string, n *jsonedit.Node, want string, lost bool) {
	m.ok = m.ok && !lost
	m.wrong(what, n, want, lost)
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
	m.reject(name(key), n, "a string", must)
	return ""
}

// need is a required string member.
func (m *hook) need(key, want string) string {
	n := m.members[key]
	if n == nil {
		m.lose(m.node, "the hook has no %s, want %s", name(key), want)
		return ""
	}
	s := m.get(key, true)
	switch {
	case !n.Is(m.text, '"'):
	case strings.TrimSpace(s) == "":
		m.lose(n, "%s is empty, want %s", name(key), want)
	case strings.ContainsRune(s, 0):
		m.lose(n, "%s contains a zero character, which no command may", name(key))
	}
	return s
}

// flag is a boolean; a wrong one counts as false.
func (m *hook) flag(key string) bool {
	n := m.members[key]
	if n == nil {
		return false
	}
	switch string(n.Raw(m.text)) {
	case "true":
		return true
	case "false":
	default:
		m.wrong(name(key), n, "true or false; it counts as false", false)
	}
	return false
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
	m.reject(name(key), n, "a list of strings", must)
	return nil
}

func (m *hook) command(h *Handler) {
	h.Command = m.need("command", "the command to run")
	h.Args = m.list("args", true)
	for _, arg := range h.Args {
		if strings.ContainsRune(arg, 0) {
			m.lose(m.members["args"], "%s contains a zero character, which no command may", name("args"))
			break
		}
	}
	h.Shell = m.get("shell", h.Args == nil)
	if h.Args == nil && h.Shell != "" && h.Shell != "bash" && h.Shell != "powershell" {
		m.lose(m.members["shell"], "unknown shell %s: want \"bash\" or \"powershell\"", name(h.Shell))
	}
	h.Async = m.flag("async")
	if h.AsyncRewake = m.flag("asyncRewake"); h.AsyncRewake {
		// As in Claude Code, the one implies the other.
		h.Async = true
		m.problem(m.members["asyncRewake"].Start, false, "Cline does not support asyncRewake: the hook runs in the background, and its output is ignored")
	}
}

func (m *hook) http(h *Handler) {
	h.URL = m.need("url", "an address that begins with http:// or https://")
	if h.URL != "" {
		if u, err := url.Parse(h.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			m.lose(m.members["url"], "the url is %s, want an address that begins with http:// or https://", name(h.URL))
		}
	}
	if n := m.members["headers"]; n != nil {
		m.headers(h, n)
	}
	h.AllowedEnvVars = m.list("allowedEnvVars", false)
	if m.event == sessionStart {
		m.lose(m.node, "http hooks do not run on SessionStart, as in Claude Code: use a command")
	}
}

// headers reads the headers of a request, without which it does not run.
func (m *hook) headers(h *Handler, n *jsonedit.Node) {
	if !n.Is(m.text, '{') {
		m.reject(name("headers"), n, "an object of strings", true)
		return
	}
	h.Headers = make(map[string]string, len(n.Items))
	for key, value := range m.lasts(n) {
		if !value.Is(m.text, '"') {
			m.reject("the header "+name(key), value, "a string", true)
			continue
		}
		h.Headers[key] = m.str(value)
	}
}

// common reads the members of all types.
func (m *hook) common(h *Handler) {
	h.Timeout = m.timeout()
	h.If = m.get("if", true)
	if h.If != "" && !HasTool(m.event) {
		m.lose(m.members["if"], "a hook with \"if\" runs on tool events only, as in Claude Code, and so never on %s: take the \"if\" out", name(m.event))
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
