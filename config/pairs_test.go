package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// result is what settings come to: how strict it is, the stricter the greater, and the value that
// must be the same if that is not less strict by itself.
type result struct {
	strict int
	value  string
}

// resultsOf are the results by name: each setting that env fills, and what several decide together.
func resultsOf(c *Config) map[string]result {
	out := make(map[string]result)
	var fields func(prefix string, v reflect.Value)
	fields = func(prefix string, v reflect.Value) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if begins := f.Tag.Get("envPrefix"); begins != "" {
				fields(begins, v.Field(i))
			} else if name, _, _ := strings.Cut(f.Tag.Get("env"), ","); name != "" {
				out[prefix+name] = result{value: fmt.Sprint(v.Field(i).Interface())}
			}
		}
	}
	fields("", reflect.ValueOf(c).Elem())
	ranked := func(name string, strict int) { out[name] = result{strict: strict} }
	on := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	for i := range table {
		if row := &table[i]; row.texts || row.guards {
			delete(out, row.name) // ranked below
		}
	}
	delete(out, "HOOKSPAN_EXPORTERS")
	delete(out, "OTEL_RESOURCE_ATTRIBUTES")
	for _, p := range c.ResourceAttributes() {
		out["attribute "+p.Key] = result{value: p.Value}
	}
	out["HOOKSPAN_DISABLED"] = result{strict: on(c.Off())}
	out["OTEL_SDK_DISABLED"] = out["HOOKSPAN_DISABLED"]
	for _, to := range []string{ExporterStore, ExporterOTLP, ExporterInfinium, ExporterFile} {
		for what, limit := range map[string]int{"inputs": c.MaxInput, "results": c.MaxOutput} {
			ranked(what+" to "+to, map[string]int{"none": 0, "preview": -previewSize(fmt.Sprint(limit)), "full": -1e9}[c.CaptureFor(to)])
		}
		ranked("sends to "+to, on(!slices.Contains(c.Destinations(), to) || c.Off()))
	}
	removes := 0
	for _, f := range c.RedactFiles() {
		removes += on(c.Redact && strings.HasPrefix(f.Path, "/etc/"))
	}
	ranked("removes secrets", on(c.Redact)+removes)
	ranked("hooks that fail", on(c.Hooks)*(1+slices.Index([]string{"allow", "limits", "deny"}, c.HooksOnError)))
	ranked("hooks that exit with 1", on(c.Hooks && c.HooksOnError != "allow")*on(c.HooksStrictExit))
	ranked("hooks that ask", on(c.Hooks && c.HooksOnError != "allow")*on(c.HooksAsk == "deny"))
	out["a proxy"] = result{value: c.HTTPSProxy + " " + c.HTTPProxy + " " + c.NoProxy}
	if c.HTTPSProxy+c.HTTPProxy == "" {
		out["a proxy"] = result{}
	}
	ranked("otlp at", 1)
	if o := c.OTLP(); slices.Contains(c.Destinations(), ExporterOTLP) {
		out["otlp at"] = result{value: fmt.Sprint(o.Endpoint, o.Certificate, o.AllowInsecure, c.AllowOtherUsers)}
	}
	return out
}

// valuesOf are values of a setting: right ones, which differ between the file and the user, and
// one that is wrong.
func valuesOf(row *variable, user bool) []string {
	x := "a"
	if user {
		x = "b"
	}
	wrong := "\x01"
	switch row.kind {
	case "bool", "otelbool":
		return []string{"true", "false", wrong}
	case "oneof", "protocol":
		return append(strings.Split(row.allowed, ", "), wrong)
	case "exporters":
		return []string{"store", "store,otlp", "store,file", "otlp,infinium,file", wrong}
	case "int", "millis", "duration", "size", "usd":
		out := []string{row.lowest, row.highest, wrong}
		if row.kind == "int" {
			out = append(out, "50")
		}
		return out
	case "traceparent":
		return []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0" + map[bool]string{true: "1", false: "0"}[user]}
	case "abspath":
		return []string{map[bool]string{true: "/home/u/x", false: "/etc/x"}[user], wrong}
	case "url", "baseurl":
		return []string{"https://" + x + ".example", wrong}
	case "proxy":
		return []string{"http://" + x + ".example:3128", wrong}
	case "headers":
		return []string{"x-api-key=" + x, "X-Scope-OrgID=" + x, wrong}
	case "resource":
		return []string{"team=" + x, "service.name=" + x, wrong}
	case "text":
		return []string{x, "none", "*", "gen_ai_latest_experimental"}
	case "id", "token":
		return []string{x, "\x01"}
	}
	return nil
}

// exceptions are the managed settings beside which the user's may show more than without them.
var exceptions = []struct {
	managed, why string
	users        []string
}{
	{"HOOKSPAN_OTLP_CAPTURE=full", all, texts}, {"HOOKSPAN_INFINIUM_CAPTURE=full", all, texts}, {"HOOKSPAN_FILE_CAPTURE=full", all, texts},
}

const all = "full allows everything: how much that is the file leaves to the user"

var texts = []string{"HOOKSPAN_CAPTURE", "CONNECTOR_MAX_INPUT_PREVIEW", "CONNECTOR_MAX_OUTPUT_PREVIEW"}

// TestNoUserUndoesAManagedSetting has each value of each setting in a managed file, beside each of
// each setting of the user's, in the env file and in the environment: what the file's setting
// decides is not less strict.
func TestNoUserUndoesAManagedSetting(t *testing.T) {
	used := make([]bool, len(exceptions))
	load := func(machine, own string, environ ...string) map[string]result {
		in := under(machine, own, environ...)
		in.Salt = func(string) ([]byte, error) { return []byte("salt"), nil }
		c, _ := Load(in)
		return resultsOf(c)
	}
	const managed = managedName + "=true\n"
	none, pairs := load(managed, ""), 0
	reported := make(map[string]bool)
	effects := make(map[[3]string]bool) // of the user's values alone
	for u := range table {
		for _, asked := range valuesOf(&table[u], true) {
			effects[[3]string{table[u].name, asked, "0"}] = !maps.Equal(none, load(managed, table[u].name+"="+asked+"\n"))
			effects[[3]string{table[u].name, asked, "1"}] = !maps.Equal(none, load(managed, "", table[u].name+"="+asked))
		}
	}
	for m := range table {
		row := &table[m]
		if row.name == managedName || row.name == configFile {
			continue
		}
		decides, alone := make(map[string]bool), make(map[string]map[string]result)
		for _, value := range valuesOf(row, false) {
			alone[value] = load(managed+row.name+"="+value+"\n", "")
			for name, r := range alone[value] {
				if r != none[name] {
					decides[name] = true
				}
			}
		}
		for value, want := range alone {
			if len(decides) == 0 {
				break
			}
			for u := range table {
				user := &table[u]
				if user.name == managedName || user.name == configFile {
					continue
				}
				for _, asked := range valuesOf(user, true) {
					for side := range 2 {
						related := user.texts || user.guards || user == row || user.general == row.name || row.general == user.name
						if !related && !effects[[3]string{user.name, asked, fmt.Sprint(side)}] {
							continue // the default
						}
						pairs++
						var got map[string]result
						if side == 0 {
							got = load(managed+row.name+"="+value+"\n", user.name+"="+asked+"\n")
						} else {
							got = load(managed+row.name+"="+value+"\n", "", user.name+"="+asked)
						}
						for name := range decides {
							g, w := got[name], want[name]
							added := strings.HasPrefix(name, "attribute ") && w.value == "" // beside those of the file
							if added || g.strict > w.strict || g.strict == w.strict && g.value == w.value {
								continue
							}
							excepted := false
							for i, e := range exceptions {
								if e.managed == row.name+"="+value && slices.Contains(e.users, user.name) {
									used[i], excepted = true, true
								}
							}
							if excepted {
								continue
							}
							if what := row.name + user.name + name; !reported[what] {
								reported[what] = true
								t.Errorf("managed %s=%q, the user's %s=%q (%s): %s is %+v, want %+v", row.name, value, user.name, asked, []string{"env file", "environment"}[side], name, g, w)
							}
						}
					}
				}
			}
		}
	}
	for i, e := range exceptions {
		if !used[i] {
			t.Errorf("nothing needs the exception %+v", e)
		}
	}
	t.Logf("%d pairs of values", pairs)
}
