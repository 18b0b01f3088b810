package secretforms

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Frame is what a tool puts around the lines of a text.
type Frame struct {
	Name string
	Put  func(text string) string
}

// eachLine makes a frame of what it does with a line; i counts from one.
func eachLine(name string, f func(i int, line string) string) Frame {
	return Frame{name, func(text string) string {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = f(i+1, line)
		}
		return strings.Join(lines, "\n") + "\n"
	}}
}

func prefixed(name, prefix string) Frame {
	return eachLine(name, func(_ int, line string) string { return prefix + line })
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const when = "2026-11-22T16:50:39"

// Frames are the frames that every form is put into.
var Frames = []Frame{
	{"plain text", func(s string) string { return s }},
	{"lines before and after", func(s string) string { return "$ show it\n" + s + "\n$ echo done\n" }},
	eachLine("CRLF", func(_ int, l string) string { return l + "\r" }),
	{"deleted in a diff", func(s string) string {
		return "diff --git a/x b/x\ndeleted file mode 100644\nindex 02108b0..0000000\n--- a/x\n+++ /dev/null\n@@ -1,7 +0,0 @@\n" + prefixed("", "-").Put(s)
	}},
	{"added in a diff", func(s string) string { return "@@ -0,0 +1,7 @@\n" + prefixed("", "+").Put(s) }},
	eachLine("coloured diff", func(_ int, l string) string { return "\x1b[31m-" + l + "\x1b[m" }),
	eachLine("coloured diff with white space shown", func(_ int, l string) string { return "\x1b[32m+\x1b[m\x1b[32m" + l + "\x1b[m" }),
	eachLine("grep -n", func(i int, l string) string { return fmt.Sprintf("%d:%s", i, l) }),
	eachLine("grep -rn -A", func(i int, l string) string {
		sign := "-"
		if i == 1 {
			sign = ":"
		}
		return fmt.Sprintf("deploy/app.conf%s%d%s%s", sign, i, sign, l)
	}),
	eachLine("grep -rn in colours", func(i int, l string) string {
		return fmt.Sprintf("\x1b[35m\x1b[Kdeploy/app.conf\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[K\x1b[32m\x1b[K%d\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[K%s", i, l)
	}),
	eachLine("cat -n", func(i int, l string) string { return fmt.Sprintf("%6d\t%s", i, l) }),
	eachLine("numbers with arrows", func(i int, l string) string { return fmt.Sprintf("%6d→%s", i, l) }),
	eachLine("cat -A", func(_ int, l string) string { return strings.ReplaceAll(l, "\t", "^I") + "$" }),
	eachLine("cat -A of CRLF", func(_ int, l string) string { return l + "^M$" }),
	{"bat", func(s string) string {
		bar := strings.Repeat("─", 7)
		return bar + "┬" + strings.Repeat("─", 40) + "\n       │ File: app.conf\n" + bar + "┼" + strings.Repeat("─", 40) + "\n" +
			eachLine("", func(i int, l string) string { return fmt.Sprintf("%4d   │ %s", i, l) }).Put(s) + bar + "┴" + strings.Repeat("─", 40) + "\n"
	}},
	eachLine("git blame", func(i int, l string) string {
		return fmt.Sprintf("^9efed9b (A. Developer 2026-11-22 16:50:39 +0000 %2d) %s", i, l)
	}),
	eachLine("git blame -l", func(i int, l string) string {
		return fmt.Sprintf("9efed9b3f786850e387550fdab836ed7e6dc881d (A. Developer 2026-11-22 16:50:39 +0000 %2d) %s", i, l)
	}),
	prefixed("docker compose logs", "api-1  | "),
	eachLine("docker compose logs in colours", func(_ int, l string) string { return "\x1b[36mapi-1  | \x1b[0m" + l }),
	prefixed("docker compose logs -t", "api-1  | "+when+".123456789Z "),
	prefixed("kubectl logs --prefix", "[pod/api-7d9f8c6b5-x2x4z/api] "),
	prefixed("kubectl logs --timestamps", when+".123456789Z "),
	prefixed("journalctl", "Nov 22 16:50:39 host app[1234]: "),
	prefixed("log of a build", when+".1234567Z "),
	prefixed("# comment", "# "),
	prefixed("// comment", "// "),
	prefixed(" * comment", " * "),
	prefixed("-- comment", "-- "),
	prefixed("quoted mail", "> "),
	prefixed("indented", "        "),
	{"fenced in Markdown", func(s string) string { return "Here it is:\n\n```\n" + s + "\n```\n\nUse it well.\n" }},
	{"JSON", func(s string) string { return `{"stdout":` + quoted(s) + `,"code":0}` }},
	{"JSON in JSON", func(s string) string { return `{"text":` + quoted(`{"stdout":`+quoted(s)+`,"code":0}`) + `,"n":1}` }},
	{"JSON, three deep", func(s string) string { return quoted(`[` + quoted(`{"stdout":`+quoted(s)+`,"code":0}`) + `]`) }},
	eachLine("joined literals", func(_ int, l string) string {
		q := quoted(l)
		return "\t" + q[:len(q)-1] + `\n" +`
	}),
	eachLine("list of literals", func(_ int, l string) string { return "    " + quoted(l) + "," }),
	eachLine("adjacent literals", func(_ int, l string) string { return "    '" + strings.ReplaceAll(l, "'", `\'`) + `\n'` }),
	{"terminal", func(s string) string {
		return "\x1b[?2004h$ show\r\n\x1b[?2004l\r" + strings.ReplaceAll(s, "\n", "\r\n") + "\r\n\x1b[?2004h$ "
	}},
	{"YAML block", func(s string) string { return "data: |\n" + prefixed("", "    ").Put(s) + "next: 1\n" }},
	{"here document", func(s string) string { return "cat > out <<'EOF'\n" + s + "\nEOF\nls -l out\n" }},
}
