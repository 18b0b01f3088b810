package translate

import (
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// outcome is how one operation of a call ended.
type outcome struct {
	failed bool
	// text is the result, err the message of a failure.
	text, err string
	// hidden reports that the payload does not hold the result.
	hidden bool
}

// hiddenObject is how JavaScript prints an object.
const hiddenObject = "[object Object]"

// outcomes returns the result of each reported operation. Cline reports one for the
// call, and the SDK inside it one for each operation; if the two do not fit
// together, every operation gets the call's.
func (c *Call) outcomes(body rawjson.Object) []outcome {
	t := c.Event.Tool
	ended := c.ended()
	if len(ended) == 0 {
		return nil
	}
	all := outcome{failed: t.Status.Failed(), text: t.Output, err: t.Error}
	result := rawjson.Text(rawjson.Members(body.Get("postToolUse")).Get("result"))
	all.hidden = t.Output == "" && strings.HasPrefix(result, hiddenObject)
	if strings.HasPrefix(all.text, hiddenObject) {
		all.text, all.hidden = "", true
	}
	if c.Dialect != dialectSDK {
		all.text = headless(all.text)
	}
	out := make([]outcome, len(ended))
	parts := sdkResults(body, result)
	for i := range out {
		out[i] = all
		if len(parts) == len(out) && len(parts) > 1 {
			out[i] = parts[i]
		}
	}
	return out
}

// headless returns a result without the line by which classic Cline announces one
// that has several parts, as in "[read_file for 'a.ts'] Result:".
func headless(result string) string {
	head, rest, ok := strings.Cut(result, "\n")
	if ok && strings.HasPrefix(head, "[") && strings.HasSuffix(head, "] Result:") {
		return rest
	}
	return result
}

// sdkResults reads the SDK's list of the operations of a call.
func sdkResults(body rawjson.Object, result string) []outcome {
	raw := rawjson.Members(body.Get("tool_result")).Get("output")
	if raw == nil {
		if inner := rawjson.Trim([]byte(result)); rawjson.ValidWithin(inner, maxEmbedded) {
			raw = inner
		}
	}
	list, _ := rawjson.Elements(raw)
	var all []outcome
	for _, one := range list {
		o := rawjson.Members(one)
		if o.Get("query") == nil {
			return nil
		}
		r := outcome{text: operationText(o.Get("result")), err: rawjson.Text(o.Get("error"))}
		success, said := rawjson.Bool(o.Get("success"))
		r.failed = said && !success || !said && r.err != ""
		if strings.HasPrefix(r.err, hiddenObject) {
			r.err = ""
		}
		if strings.HasPrefix(r.text, hiddenObject) {
			r.text, r.hidden = "", true
		}
		if r.failed {
			rest := strings.TrimPrefix(r.text, "["+r.err+"]")
			r.err = hook.Lines(r.err, jstext.Trim(rest))
		}
		all = append(all, r)
	}
	return all
}

// operationText is a result that is a text, a list of texts or a structure.
func operationText(raw []byte) string {
	if raw == nil {
		return ""
	}
	if rawjson.IsString(raw) {
		return rawjson.Unquote(raw)
	}
	list, _ := rawjson.Elements(raw)
	var parts []string
	for _, block := range list {
		o := rawjson.Members(block)
		switch {
		case rawjson.Text(o.Get("type")) == "text":
			parts = append(parts, rawjson.Text(o.Get("text")))
		case rawjson.Text(o.Get("type")) == "image":
			parts = append(parts, "[image]")
		default:
			return rawjson.Canonical(raw)
		}
	}
	if len(parts) > 0 {
		return hook.Lines(parts...)
	}
	return rawjson.Canonical(raw)
}

// printed is the output of a command, without the words that classic Cline adds.
// The words differ between its terminals.
func printed(result string) string {
	for _, says := range [...]string{"Command executed successfully (exit code 0).", "Command executed."} {
		rest, ok := strings.CutPrefix(result, says)
		if !ok {
			continue
		}
		if out, ok := strings.CutPrefix(rest, "\nOutput:\n"); ok || rest == "" {
			return out
		}
	}
	return result
}

// message is the error of an operation that failed. Claude's commands say their
// exit code in the first line, and hooks read it there.
func (r outcome) message(tool string) string {
	said := r.err
	if said == "" {
		said = r.text
	}
	if said == "" {
		return "the tool failed, and Cline does not say why"
	}
	if tool != toolBash {
		return said
	}
	for _, prefix := range [...]string{"Command failed with exit code ", "Command exited with code "} {
		rest, ok := strings.CutPrefix(said, prefix)
		if !ok {
			continue
		}
		line, output, more := strings.Cut(rest, "\n")
		line = strings.TrimSuffix(line, ".")
		if !more {
			return "Exit code " + line
		}
		return "Exit code " + line + "\n" + strings.TrimPrefix(output, "Output:\n")
	}
	return said
}
