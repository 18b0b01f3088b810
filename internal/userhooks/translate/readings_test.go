package translate

import (
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
)

// asked are the tools and inputs that guards are asked about.
func asked(c *Call) []string {
	var out []string
	for _, e := range c.Asked() {
		out = append(out, e.Tool+" "+string(e.Input))
	}
	return out
}

// from replaces parts of a payload.
func from(raw hook.Raw, pairs ...string) hook.Raw {
	raw.Payload = []byte(strings.NewReplacer(pairs...).Replace(string(raw.Payload)))
	return raw
}

const (
	gemini  = `"slug":"gemini-2.5-pro"`
	noModel = `"other":"x"`
	claude  = `"slug":"claude-x"`
	roots   = `"workspaceRoots":["/w","/home/dev/second"]`
	oneRoot = `"workspaceRoots":["/w"]`
)

// Guards see what the handlers of classic Cline take of a call.
func TestClassicHandlers(t *testing.T) {
	bash := func(command string) string { return `Bash {"command":"` + command + `","run_in_background":false}` }
	write := func(path, content string) string {
		return `Write {"file_path":"` + path + `","content":"` + content + `"}`
	}
	edit := func(path, from, to string) string {
		return `Edit {"file_path":"` + path + `","old_string":"` + from + `","new_string":"` + to + `","replace_all":false}`
	}
	diff := `------- SEARCH\na &lt; b\n=======\nc\n+++++++ REPLACE`
	tests := []struct {
		name, tool, in, model, folders string
		want                           []string
	}{
		{"the other path if one is empty", "write_to_file", `{"path":"","absolutePath":".env","content":"x"}`, claude, oneRoot, []string{write("/w/.env", "x")}},
		{"the first of two paths", "write_to_file", `{"path":"a","absolutePath":".env","content":"x"}`, claude, oneRoot, []string{write("/w/a", "x")}},
		{"reading takes path alone", "read_file", `{"path":"a","absolutePath":".env"}`, claude, oneRoot, []string{`Read {"file_path":"/w/a"}`}},
		{"a diff comes before a content", "write_to_file", `{"path":"a","content":"ok","diff":"` + diff + `"}`, claude, oneRoot, []string{edit("/w/a", "a &lt; b", "c")}},
		{"a content beside a diff", "replace_in_file", `{"path":"a","content":"ok","diff":"` + diff + `"}`, claude, oneRoot, []string{edit("/w/a", "a &lt; b", "c")}},
		{"a rule is a file", "new_rule", `{"path":".env","content":"x"}`, claude, oneRoot, []string{write("/w/.env", "x")}},
		{"a rule by a diff", "new_rule", `{"absolutePath":".env","diff":"` + diff + `"}`, claude, oneRoot, []string{edit("/w/.env", "a &lt; b", "c")}},
		{"fences", "write_to_file", "{\"path\":\"a\",\"content\":\"```sh\\nrm\\n```\"}", claude, oneRoot, []string{write("/w/a", "rm")}},
		{"entities of another model", "write_to_file", `{"path":"a","content":"x &amp;&amp; y\ufffd"}`, gemini, oneRoot, []string{write("/w/a", "x && y")}},
		{"entities in order", "write_to_file", `{"path":"a","content":"&amp;lt;&amp;apos;"}`, gemini, oneRoot, []string{write("/w/a", "&lt;'")}},
		{"entities in XML", "write_to_file", `{"path":"a.XML","content":"&lt;\ufffd"}`, gemini, oneRoot, []string{write("/w/a.XML", "&lt;")}},
		{"entities in a diff", "replace_in_file", `{"path":"a","diff":"` + diff + `"}`, gemini, oneRoot, []string{edit("/w/a", "a < b", "c")}},
		{"entities of an unknown model", "write_to_file", `{"path":"a","content":"&lt;"}`, noModel, oneRoot, []string{write("/w/a", "&lt;"), write("/w/a", "<")}},
		{"a plain text of an unknown model", "write_to_file", `{"path":"a","content":"x"}`, noModel, oneRoot, []string{write("/w/a", "x")}},
		{"a command of Gemini", "execute_command", `{"command":"r\ufffdm x &amp;&amp; y"}`, gemini, oneRoot, []string{bash("rm x && y")}},
		{"a command of Claude", "execute_command", `{"command":"x &amp;"}`, claude, oneRoot, []string{bash("x &amp;")}},
		{"a command of an unknown model", "execute_command", `{"command":"r\ufffdm"}`, noModel, oneRoot, []string{bash("r\ufffdm"), bash("rm")}},
		{"home is a name", "read_file", `{"path":"~/../.env"}`, claude, oneRoot, []string{`Read {"file_path":"/w/.env"}`}},
		{"another root", "read_file", `{"path":"@second: .env"}`, claude, roots, []string{`Read {"file_path":"/home/dev/second/.env"}`}},
		{"another root with spaces", "read_file", `{"path":"@ second :.env"}`, claude, roots, []string{`Read {"file_path":"/home/dev/second/.env"}`}},
		{"a root by another name", "read_file", `{"path":"@x:.env"}`, claude, roots, []string{`Read {"file_path":"/w/.env"}`, `Read {"file_path":"/home/dev/second/.env"}`}},
		{"a root that may not be meant", "read_file", `{"path":"@x: .env"}`, claude, oneRoot, []string{`Read {"file_path":"/w/@x: .env"}`, `Read {"file_path":"/w/.env"}`}},
		{"a command in a root that may not be meant", "execute_command", `{"command":"@x: rm y"}`, claude, oneRoot, []string{bash("@x: rm y"), bash("rm y")}},
		{"a path that is JSON", "read_file", `{"path":"{\"b\":1,\"a\":2}"}`, claude, oneRoot, []string{`Read {"file_path":"/w/{\"b\":1,\"a\":2}"}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := from(pre(t, "classic", tt.tool, tt.in), claude, tt.model, oneRoot, tt.folders)
			diffLines(t, asked(call(t, raw, here)), tt.want)
		})
	}
}

// Guards see what the schemas of the SDK take of a call.
func TestSchemasOfTheSDK(t *testing.T) {
	bash := func(command string) string { return `Bash {"command":"` + command + `","run_in_background":false}` }
	read := func(path string) string { return `Read {"file_path":"` + path + `"}` }
	tests := []struct {
		dialect, tool, in string
		want              []string
	}{
		{"sdk", "run_commands", `{"command":5,"cmd":"rm -rf x"}`, []string{bash("rm -rf x")}},
		{"sdk", "run_commands", `{"command":"rm -rf x","args":5}`, []string{bash("rm -rf x")}},
		{"sdk", "run_commands", `{"commands":[5],"cmd":"rm -rf x"}`, []string{bash("rm -rf x")}},
		{"sdk", "run_commands", `{"commands":["ls"],"cmd":"rm -rf x"}`, []string{bash("ls")}},
		{"sdk", "run_commands", `{"commands":"[\"$(rm -rf x)\"]"}`, []string{bash(`[\"$(rm -rf x)\"]`)}},
		{"sdk", "run_commands", `{"commands":["cat <<'E'","rm","E","ls"]}`, []string{bash(`cat <<'E'\nrm\nE`), bash("ls")}},
		{"sdk", "run_commands", `{"commands":["cat <<< E","rm","E"]}`, []string{bash("cat <<< E"), bash("rm"), bash("E")}},
		{"sdk", "run_commands", `{"command":"rm -rf x;","args":["y"]}`, []string{bash(`'rm -rf x;' y`), bash("rm -rf x;")}},
		{"sdk", "read_files", `{"path":5,"file_path":".env"}`, []string{read("/w/.env")}},
		{"sdk", "read_files", `{"path":"a","file_path":".env"}`, []string{read("/w/a")}},
		{"sdk", "read_files", `{"path":"a","start_line":"x","files":".env"}`, []string{read("/w/.env")}},
		{"sdk", "read_files", `{"files":[{"path":"a"}],"path":".env"}`, []string{read("/w/a")}},
		{"sdk", "read_files", `{"files":[{"file_path":"a"}],"path":".env"}`, []string{read("/w/.env")}},
		{"sdk", "read_files", `{"files":"[\"a\"]"}`, []string{read(`/w/[\"a\"]`)}},
		{"sdk", "read_files", `"@x:~/a"`, []string{read("/w/@x:~/a")}},
		{"sdk", "editor", `{"path":"a","file_path":".env","new_text":"x"}`, []string{`Write {"file_path":"/w/a","content":"x"}`}},
		{"sdk", "editor", `{"path":"a","old_text":"o","insert_line":"1","new_text":"x"}`, []string{`Edit {"file_path":"/w/a","old_string":"","new_string":"x","insert_line":"1","replace_all":false}`}},
		{"next", "read_files", `{"path":5,"file_path":".env"}`, []string{read("/w/5"), read("/w/.env")}},
		{"next", "run_commands", `{"command":["x"],"cmd":"rm"}`, []string{bash(`[\"x\"]`), bash("rm")}},
		{"next", "run_commands", `{"commands":["echo '$(rm)'"]}`, []string{bash("echo '$(rm)'"), bash(`[\"echo '$(rm)'\"]`)}},
		{"next", "run_commands", `{"commands":["echo $(date)","ls"]}`, []string{bash("echo $(date)"), bash("ls")}},
		{"next", "editor", `{"path":"a","old_text":"o","new_text":"5","insert_line":"null"}`, []string{`Edit {"file_path":"/w/a","old_string":"o","new_string":"5","replace_all":false}`}},
	}
	for _, tt := range tests {
		t.Run(tt.dialect+" "+tt.tool+" "+tt.in, func(t *testing.T) {
			c := call(t, pre(t, tt.dialect, tt.tool, tt.in), here)
			if diffLines(t, asked(c), tt.want); c.Unclear != "" {
				t.Errorf("unclear: %s", c.Unclear)
			}
		})
	}
}

// A number that is none is unclear, since JavaScript makes one of some values.
func TestNumbersThatAreNone(t *testing.T) {
	for in, want := range map[string]bool{
		`{"files":[{"path":"a","start_line":[3]}]}`: true, `{"path":"a","start_line":true}`: true, `{"path":"a","start_line":"3"}`: false,
		`{"files":[{"path":"a","start_line":null}]}`: false,
	} {
		if c := call(t, pre(t, "sdk", "read_files", in), here); (c.Unclear != "") != want {
			t.Errorf("%s: unclear %q, want %v", in, c.Unclear, want)
		}
	}
}

// More readings than a guard is asked about are unclear.
func TestTooManyRoots(t *testing.T) {
	many := `"workspaceRoots":["/r` + strings.Join(strings.Split(strings.Repeat("x", 17), ""), `","/r`) + `"]`
	for i := range 17 {
		many = strings.Replace(many, "/rx", "/r"+string(rune('a'+i)), 1)
	}
	raw := from(pre(t, "classic", "read_file", `{"path":"@other:.env"}`), oneRoot, many)
	if c := call(t, raw, here); c.Unclear == "" {
		t.Errorf("asked %d times, want a call that is unclear", len(c.Asked()))
	}
}

// A file that the editor creates is a Write, whatever old text is given.
func TestEditorCreatesMissingFile(t *testing.T) {
	c := here
	c.Exists = func(path string) bool { return path == "/w/there" }
	edit := `{"path":"%","old_text":"o","new_text":"n"}`
	missing := asked(call(t, pre(t, "sdk", "editor", strings.Replace(edit, "%", "gone", 1)), c))
	if !slices.Contains(missing, `Write {"file_path":"/w/gone","content":"n"}`) || len(missing) != 2 {
		t.Errorf("asked about %q", missing)
	}
	if there := asked(call(t, pre(t, "sdk", "editor", strings.Replace(edit, "%", "there", 1)), c)); len(there) != 1 {
		t.Errorf("asked about %q, want the edit alone", there)
	}
}

// A file that Cline finds by another spelling is read too, by the entry that names it.
func TestReadFilesOfAnotherSpelling(t *testing.T) {
	c := here
	c.Spellings = func(path string) []string {
		if path == "/w/my key" {
			return []string{"/w/my\u00a0key"}
		}
		return nil
	}
	for _, dialect := range []string{"sdk", "next"} {
		got := asked(call(t, pre(t, dialect, "read_files", `{"files":[{"path":"a"},{"path":"my key","start_line":2}]}`), c))
		want := "Read {\"file_path\":\"/w/my\u00a0key\",\"offset\":2}"
		if len(got) != 3 || got[2] != want {
			t.Errorf("%s: asked about %q, want %q at last", dialect, got, want)
		}
	}
}
