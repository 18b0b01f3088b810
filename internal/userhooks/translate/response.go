package translate

import (
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// response is the tool_response of an operation that succeeded, in the shape of
// Claude Code's tool, without the members that Cline does not report. took is the
// duration of the call, negative if unknown.
func (r outcome) response(op operation, took time.Duration) any {
	in, out := op.input, object{}
	switch op.tool {
	case toolWrite:
		return out.copied(in, "filePath=file_path", "content").with("success", true)
	case toolEdit:
		return out.copied(in, "filePath=file_path", "oldString=old_string", "newString=new_string", "replaceAll=replace_all").with("success", true)
	case toolRead:
		return r.read(in)
	case toolBash:
		if r.hidden {
			return out
		}
		return object{{"stdout", r.said(op.tool)}, {"stderr", ""}, {"interrupted", false}, {"isImage", false}}
	case toolGrep:
		return r.found()
	case toolGlob:
		return r.listed(in).timed("durationMs", took, time.Millisecond)
	case toolFetch:
		return r.visible(out, "result", r.text).copied(in, "url").timed("durationMs", took, time.Millisecond)
	case "WebSearch":
		return r.visible(out.copied(in, "query"), "results", []any{r.text}).timed("durationSeconds", took, time.Second)
	case toolAgent:
		out = object{{"status", "completed"}}.copied(in, "prompt").with("agentType", generalPurpose)
		return r.visible(out, "content", blocks(r.said(op.tool))).timed("totalDurationMs", took, time.Millisecond)
	case "ReadMcpResourceTool":
		content := r.visible(out.copied(in, "uri"), "text", r.text)
		return object{{"contents", []any{content}}}.copied(in, "server")
	}
	switch {
	case r.hidden:
		return out
	case strings.HasPrefix(op.tool, mcpPrefix):
		return blocks(r.text)
	}
	return r.text
}

// blocks is a text as Claude's API writes it.
func blocks(text string) []any { return []any{object{{"type", "text"}, {"text", text}}} }

// visible adds a member with the result, unless that is hidden.
func (r outcome) visible(o object, key string, value any) object {
	if r.hidden {
		return o
	}
	return o.with(key, value)
}

// read is the response of Claude's Read.
func (r outcome) read(in object) object {
	kind, file := "text", object{}.copied(in, "filePath=file_path")
	switch {
	case r.hidden:
	case r.text == "[image]":
		kind = "image"
	default:
		p := numbered(r.text)
		lines := int64(strings.Count(p.content, "\n") + 1)
		if _, cut := in.get("limit"); p.total == 0 && p.first > 0 && !cut {
			p.total = p.first + lines - 1
		}
		if p.first == 0 {
			offset, _ := in.get("offset")
			from, _ := number(offset)
			p.first = max(from, 1)
		}
		file = file.with("content", p.content).with("numLines", lines).with("startLine", p.first)
		if p.total > 0 {
			file = file.with("totalLines", p.total)
		}
	}
	return object{{"type", kind}, {"file", file}}
}

// part is the part of a file that was read. first and total are 0 if unknown.
type part struct {
	content      string
	first, total int64
}

// numbered reads a text as Cline gives files to the model: each line with its
// number and a bar before it, and below them the length of the file. If one line has
// another form, the whole text is the content.
func numbered(text string) part {
	unnumbered := part{content: text}
	var p part
	body := text
	if at := strings.LastIndex(text, "\n\n("); at >= 0 {
		if total, ok := totalLines(text[at+2:]); ok {
			body, p.total = text[:at], total
		}
	}
	var lines []string
	for i, line := range strings.Split(body, "\n") {
		digits, rest, ok := strings.Cut(strings.TrimLeft(line, " "), " |")
		n, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil || rest != "" && rest[0] != ' ' {
			return unnumbered
		}
		if i == 0 {
			p.first = n
		}
		if n < 1 || n != p.first+int64(i) {
			return unnumbered
		}
		lines = append(lines, strings.TrimPrefix(rest, " "))
	}
	p.content = strings.Join(lines, "\n")
	return p
}

// totalLines reads a note such as "(File has 12 lines total.)".
func totalLines(note string) (int64, bool) {
	rest, ok := strings.CutPrefix(note, "(File has ")
	digits, rest, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, ok && err == nil && strings.HasPrefix(rest, "lines total")
}

// found is the response of Claude's Grep when it shows lines. It then lists no files.
func (r outcome) found() object {
	out := object{{"mode", "content"}, {"numFiles", 0}, {"filenames", []any{}}}
	if r.hidden {
		return out
	}
	said, lines := r.text, 0
	if strings.HasPrefix(said, "Found 0 results") || strings.HasPrefix(said, "No results found") {
		said = ""
	}
	if said != "" {
		lines = strings.Count(strings.TrimSuffix(said, "\n"), "\n") + 1
	}
	return append(out, object{{"content", said}, {"numLines", lines}}...)
}

// listed is the response of Claude's Glob: absolute paths.
func (r outcome) listed(in object) object {
	if r.hidden {
		return object{}
	}
	names, cut := []any{}, false
	for line := range strings.Lines(r.text) {
		// A lock marks files that the user hides from the model.
		name := strings.TrimPrefix(jstext.Trim(line), "\U0001f512 ")
		switch {
		case strings.HasPrefix(name, "(File list truncated"):
			cut = true
		case name == "", strings.HasPrefix(name, "No files found"):
		case path.IsAbs(name), in.str("path") == "":
			names = append(names, name)
		default:
			names = append(names, strings.TrimSuffix(in.str("path"), "/")+"/"+name)
		}
	}
	return object{{"numFiles", len(names)}, {"filenames", names}, {"truncated", cut}}
}

// copied adds members of an input, those that it has. "to=from" copies one under
// another name.
func (o object) copied(in object, keys ...string) object {
	for _, key := range keys {
		to, from, renamed := strings.Cut(key, "=")
		if !renamed {
			from = to
		}
		if v, ok := in.get(from); ok {
			o = o.with(to, v)
		}
	}
	return o
}

func (o object) with(key string, value any) object { return append(o, field{key, value}) }

// timed adds a time in a unit, if it is known.
func (o object) timed(key string, took, unit time.Duration) object {
	switch {
	case took < 0:
		return o
	case unit == time.Second:
		return o.with(key, took.Seconds())
	}
	return o.with(key, took.Milliseconds())
}

// said is the text that the model got of an operation that succeeded.
func (r outcome) said(tool string) string {
	switch tool {
	case toolBash:
		return printed(r.text)
	case toolAgent:
		if o, err := rawjson.Open([]byte(r.text)); err == nil && rawjson.IsString(o.Get("text")) {
			return rawjson.Unquote(o.Get("text"))
		}
	}
	return r.text
}
