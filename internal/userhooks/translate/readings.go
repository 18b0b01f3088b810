package translate

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// What the handlers of classic Cline take. Parameters are texts, and what a model gave as
// another type is its JSON (StreamResponseHandler.ts:190); a path is relative to its root and
// "~" a name (WorkspaceResolver.ts:282). Lines are of apps/vscode/src/core at the last
// commit of branch legacy-extension, handlers in task/tools/handlers; CLI 2.18.0 has the same.
//
//	write_to_file, replace_in_file, new_rule
//	                 WriteToFileToolHandler.ts:98-100, 490, 560-573: path || absolutePath; diff comes
//	                 before content; fences of Markdown around the content are removed
//	file texts       task/tools/utils/ModelContentProcessor.ts:19: of every model but Claude's, without
//	                 U+FFFD and, unless the path ends in .xml, with &gt; &lt; &quot; &amp; &apos; replaced
//	execute_command  ExecuteCommandToolHandler.ts:124, 138: with Gemini models the same; @root:command
//	paths            workspace/WorkspacePathAdapter.ts:34, utils/parseWorkspaceInlinePath.ts:37: @root:path
//	read_file, list_files, search_files, list_code_definition_names: path alone
//
// attempt_completion (AttemptCompletionHandler.ts:59) and summarize_task
// (SummarizeTaskHandler.ts) run a command and read files, and no hook is asked.

// maxReadings bounds the ways in which Cline may take a call that a guard is asked about.
const maxReadings = 16

// reading is one way in which Cline may take a call.
type reading struct {
	place place
	input any
}

// readings are the ways in which Cline may take a call, whose parameters the payload has as
// raw: the first is the one that events report. There are more only where a setting, the
// model or the type of a member decides, which the payload does not have.
func (c *Call) readings(p place, input any, raw rawjson.Object) []reading {
	params, isObject := input.(map[string]any)
	if c.Dialect == dialectSDK || !isObject {
		return []reading{{p, input}}
	}
	if c.Dialect == dialectNext {
		return c.nextReadings(p, params, raw)
	}
	params = maps.Clone(params)
	for name, v := range params {
		switch v.(type) {
		case []any, map[string]any:
			_, inTable := tools()[c.Tool]
			if said := raw.Get(name); inTable && rawjson.IsString(said) && !slices.Contains(structured, name) {
				params[name] = rawjson.Unquote(said)
			}
		}
	}
	p.hints = len(p.roots) > 1
	params, fixed := c.classicInput(p, params)
	all := []reading{{p, params}}
	if fixed != nil && c.Model == "" {
		all = append(all, reading{p, fixed})
	} else if fixed != nil {
		all[0].input = fixed
	}
	return append(all, hinted(p, all[0].input.(map[string]any))...)
}

// structured are classic parameters that are JSON.
var structured = []string{"arguments", "options", "allowed_domains", "blocked_domains"}

// classicInput is an input as the handler of its tool takes it. fixed is another one that
// it takes if the model is of another kind, or in any case if the model is known to be.
func (c *Call) classicInput(p place, params map[string]any) (out, fixed map[string]any) {
	member := "content"
	switch c.Tool {
	case "execute_command":
		member = "command"
		if c.Model != "" && !strings.Contains(c.Model, "gemini") {
			return params, nil
		}
	case "write_to_file", "replace_in_file", "new_rule":
		file := cmp.Or(text(params["path"]), text(params["absolutePath"]))
		if file == "" {
			return params, nil
		}
		params = with(without(params, "absolutePath"), "path", file)
		if text(params["diff"]) != "" {
			member = "diff"
			delete(params, "content")
		} else if content, ok := params["content"].(string); ok {
			params["content"] = unfenced(content)
		}
		if strings.Contains(c.Model, "claude") {
			return params, nil
		}
	default:
		return params, nil
	}
	before := text(params[member])
	name, _ := p.hinted(text(params["path"]))
	if after := fixText(before, member != "command" && strings.HasSuffix(strings.ToLower(name), ".xml")); after != before {
		fixed = with(params, member, after)
	}
	return params, fixed
}

// unfenced removes the marks of a code block around a text.
func unfenced(s string) string {
	if strings.HasPrefix(s, "```") {
		_, s, _ = strings.Cut(s, "\n")
		s = jstext.Trim(s)
	}
	if strings.HasSuffix(s, "```") {
		s = jstext.Trim(s[:max(strings.LastIndexByte(s, '\n'), 0)])
	}
	return s
}

// fixText is applyModelContentFixes.
func fixText(s string, entities bool) string {
	if !entities {
		for _, e := range [...][2]string{{"&gt;", ">"}, {"&lt;", "<"}, {"&quot;", `"`}, {"&amp;", "&"}, {"&apos;", "'"}} {
			s = strings.ReplaceAll(s, e[0], e[1])
		}
	}
	return strings.ReplaceAll(s, "\uFFFD", "")
}

// hinted are further readings of texts that begin with @root:. With one root, the setting
// for several may be on; with several, a root may have a name that its folder does not.
func hinted(p place, params map[string]any) (all []reading) {
	for _, v := range params {
		s, _ := v.(string)
		other := p
		other.hints = true
		if _, base := other.hinted(s); !strings.HasPrefix(s, "@") || base == "" && other.line(s) == s {
			continue
		}
		if !p.hints {
			return []reading{{other, params}}
		}
		folder, _, _ := strings.Cut(s[1:], ":")
		if slices.ContainsFunc(p.roots, func(r string) bool { return path.Base(slashed(r)) == jstext.Trim(folder) }) {
			continue
		}
		for _, root := range p.roots {
			other.named = root
			all = append(all, reading{other, params})
		}
		return all
	}
	return nil
}

// nextReadings reads texts that may be the JSON of another value: next Cline writes every
// value as a text. A list is taken for one, since as a text it is no path and no command,
// unless a shell runs something in it.
func (c *Call) nextReadings(p place, params map[string]any, raw rawjson.Object) []reading {
	base := maps.Clone(params)
	for _, name := range [...]string{"start_line", "end_line", "insert_line"} {
		if base[name] == "null" {
			delete(base, name)
		}
	}
	all := []reading{{p, base}}
	for _, name := range slices.Sorted(maps.Keys(base)) {
		said := rawjson.Unquote(raw.Get(name))
		value, ok := rawjson.Parse([]byte(said))
		switch {
		case isText(base[name]) && ok && !isText(value):
		case isText(base[name]):
			continue
		case name == "commands" && strings.ContainsAny(said, "$`") && strings.ContainsAny(said, `'\`):
			value = said
		default:
			continue
		}
		if other := with(base, name, value); taken(c.Tool, other) {
			all = append(all, reading{p, other})
		}
	}
	return all
}

// read takes the call apart in each way. What a further way does that the first does not is
// for guards alone.
func (c *Call) read(p place, input any, raw rawjson.Object) {
	all := c.readings(p, input, raw)
	c.call = all[0].place.operations(c.Tool, all[0].input)
	for i := range c.call.operations {
		c.call.operations[i].index = i
	}
	if c.Kind != hook.KindToolStart {
		return
	}
	for _, r := range all[1:] {
		c.also(0, r.place.operations(c.Tool, r.input).operations...)
	}
	if c.Tool == "read_files" && c.ctx.Spellings != nil {
		for _, r := range all {
			c.respelled(r.place, r.input)
		}
	}
	if c.Tool == "run_commands" && isProgram(input) {
		// Until CLI 3.0.30 the arguments did not count, and a shell ran the command.
		if m, _ := input.(map[string]any); m["args"] != nil && quote(text(m["command"])) != m["command"] {
			c.also(0, p.command(m["command"]))
		}
	}
	if c.Tool == "editor" && c.ctx.Exists != nil {
		c.created(p, input)
	}
	if name := unclear(c.Tool, input); name != "" {
		c.Unclear = fmt.Sprintf("it is not known how Cline reads %q of %s, which is no number", name, c.Tool)
	}
	ways := map[int]int{}
	for _, op := range c.others {
		if ways[op.index]++; ways[op.index] >= maxReadings {
			c.Unclear = fmt.Sprintf("Cline may take an entry of %s in more than %d ways", c.Tool, maxReadings)
		}
	}
}

// created adds a file that editor creates, since there is none with the old text.
func (c *Call) created(p place, input any) {
	m, _ := input.(map[string]any)
	if edit, ok := takenEdit(m); ok && edit["old_text"] != nil && !c.ctx.Exists(p.abs(text(edit["path"]))) {
		c.also(0, editor(p, nil, without(edit, "old_text")).operations[0])
	}
}

// respelled adds files of another spelling.
func (c *Call) respelled(p place, input any) {
	entries, _ := takenFiles(input)
	for i, entry := range entries {
		for _, file := range c.ctx.Spellings(p.abs(text(entry["path"]))) {
			c.also(i, p.read(with(entry, "path", file)))
		}
	}
}

// also adds operations that are not among those of the call, for its entries from the first.
func (c *Call) also(first int, operations ...operation) {
	for i, op := range operations {
		same := func(o operation) bool { return o.tool == op.tool && equal(o.input, op.input) }
		if !slices.ContainsFunc(c.call.operations, same) && !slices.ContainsFunc(c.others, same) {
			op.index = min(first+i, len(c.call.operations)-1)
			c.others = append(c.others, op)
		}
	}
}
