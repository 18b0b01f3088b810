package verify

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
)

// comparePrompts compares the prompts, in their order. What is left on both sides was changed
// or swapped.
func (c *comparison) comparePrompts() {
	theirs := slices.SortedStableFunc(slices.Values(c.files.Prompts), func(x, y *agentfiles.Prompt) int { return x.At.Compare(y.At) })
	ours := slices.SortedStableFunc(slices.Values(c.prompts), func(x, y prompt) int { return x.at.Compare(y.at) })
	texts := make([]string, len(theirs)) // cleaned, as far as they were needed
	text := func(k int) string {
		if texts[k] == "" {
			texts[k] = words(c.clean(theirs[k].Text))
		}
		return texts[k]
	}
	equal := func(i, k int) bool {
		return sameText(ours[i].text, words(theirs[k].Text)) || sameText(ours[i].text, text(k))
	}
	var lost []int
	rest := make([]int, len(ours))
	for i := range rest {
		rest[i] = i
	}
	// Most are in the same order; one that was typed while the agent worked may be reported later.
	for k := range theirs {
		n := slices.IndexFunc(rest, func(i int) bool { return equal(i, k) && near(ours[i].at, theirs[k].At, theirs, k) })
		if n < 0 {
			lost = append(lost, k)
			continue
		}
		rest = slices.Delete(rest, n, n+1)
	}
	for len(lost) > 0 && len(rest) > 0 {
		c.add(Difference{
			Trace: c.trace(ours[rest[0]].run), Kind: Text, What: "prompt of " + theirs[lost[0]].At.UTC().Format(time.RFC3339),
			InTrace: short(ours[rest[0]].text), InFiles: short(text(lost[0])), File: theirs[lost[0]].File, IDs: []string{"line " + strconv.Itoa(theirs[lost[0]].Line)},
		})
		lost, rest = lost[1:], rest[1:]
	}
	for _, k := range lost {
		c.note(Missing, c.runAt(theirs[k].At), "", "there", "line "+strconv.Itoa(theirs[k].Line))
	}
	for _, i := range rest {
		// A turn that was cut off before its first answer may be in no file.
		again := i > 0 && ours[i-1] == ours[i] || i+1 < len(ours) && ours[i+1] == ours[i]
		if again || !c.lacks.CutTurns || ours[i].run < len(c.runs) && c.runs[ours[i].run].work {
			c.note(Extra, ours[i].run, "there", "", short(ours[i].text))
		}
	}
	c.addNoted("prompt")
}

// near reports that a prompt of a trace is of the time of one in the files: not beyond those
// around it.
func near(at, theirs time.Time, all []*agentfiles.Prompt, k int) bool {
	if at.Sub(theirs).Abs() <= 50*time.Millisecond {
		return true
	}
	return (k == 0 || at.After(all[k-1].At)) && (k+1 == len(all) || at.Before(all[k+1].At))
}

// sameText compares the beginning of a prompt in a trace, up to where it was cut or something
// was removed, with the text in the files, of which it may be a part.
func sameText(ours, theirs string) bool {
	whole := len(ours) < maxPrompt && len(theirs) < maxPrompt
	for _, mark := range []string{"…", "[REDACTED", "[redacted", "***"} {
		var cut bool
		ours, _, cut = strings.Cut(ours, mark)
		whole = whole && !cut
	}
	ours = words(ours)
	if whole && 2*len(ours) < len(theirs) && ours != "" {
		return false // only the host puts something around a prompt
	}
	if len(ours) > maxCompared {
		ours = ours[:maxCompared]
	}
	return ours == "" || theirs == "" || strings.Contains(theirs, ours) || strings.HasPrefix(ours, theirs)
}

// maxCompared is how much of a text is compared, in bytes without spaces: the files' may be cut.
const maxCompared = 120

// words returns a text without spaces.
func words(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)
}

func short(text string) string {
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return text
}
