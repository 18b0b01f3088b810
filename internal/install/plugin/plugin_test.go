package plugin

import (
	"bytes"
	"testing"

	"github.com/hookspan/hookspan/hook"
)

var opencode = Installer{Agent: hook.AgentOf(hook.HostOpencode)}

// TestPluginIsRecognized renders the plugin and finds it again, also edited, of a newer
// version, and with a program whose name needs quoting.
func TestPluginIsRecognized(t *testing.T) {
	for _, binary := range []string{"/usr/bin/claude-hook", `C:\Program Files\"x"\claude-hook.exe`, "/home/ü\u2028/claude-hook"} {
		text := opencode.render(binary)
		if p, ok := read(text); !ok || p != (plugin{Version: pluginVersion, Binary: binary}) {
			t.Errorf("read(render(%q)) = %+v, %v", binary, p, ok)
		}
		if p, ok := read(append(text, ' ')); !ok || !p.Edited {
			t.Errorf("an edited plugin is %+v, %v", p, ok)
		}
		newer := bytes.Replace(text, []byte("plugin v1 "), []byte("plugin v2 "), 1)
		if p, ok := read(newer); !ok || !p.Edited || p.Version != 2 {
			t.Errorf("a newer plugin is %+v, %v", p, ok)
		}
	}
	for _, text := range []string{"", "export const Mine = 1\n", "\n" + markerPrefix + "1"} {
		if p, ok := read([]byte(text)); ok {
			t.Errorf("%q is taken for hookspan's: %+v", text, p)
		}
	}
}
