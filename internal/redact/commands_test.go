package redact

import (
	"strings"
	"testing"
)

func TestEachCommandIsFound(t *testing.T) {
	r := New(nil)
	for _, c := range commandTable() {
		for _, name := range c.names {
			if fixed := c.probe[:find(c.probe, 0, len(c.probe), "[ ")]; !strings.Contains(name, fixed) {
				t.Errorf("%s has no %q", name, fixed)
			}
			for _, flag := range c.flags {
				line := name + " -x "
				if c.needs != "" {
					line = name + " " + strings.TrimSpace(c.needs) + " -x "
				}
				value := "k7F2ATCKV4qNgYsc"
				switch c.sign {
				case "pass:":
					value = c.sign + value
				case cookieForm:
					value = "session=" + value
				case "":
				default:
					value = "admin" + c.sign + value
				}
				if got := r.String(line + flag + value); strings.Contains(got, "k7F2") {
					t.Errorf("%q stays", got)
				}
				list := `["` + strings.ReplaceAll(line+flag+value, " ", `","`) + `"]`
				if got := r.String(list); strings.Contains(got, "k7F2") {
					t.Errorf("%q stays", got)
				}
			}
		}
	}
}
