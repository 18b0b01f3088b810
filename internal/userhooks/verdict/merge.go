package verdict

import (
	"slices"
	"strings"
)

// rank orders decisions by how strict they are.
func (d Decision) rank() int {
	if d == Block {
		d = Deny
	}
	return slices.Index([]Decision{NoDecision, Allow, Ask, Defer, Deny}, d)
}

// Merge makes one verdict of those of all hooks of an event, which come in the
// order of the configuration.
//
// The strictest decision counts: deny or block, then defer, ask, allow.
// The reasons are all those that were given for it, a line each. One hook that
// asks to stop is enough. Of several new inputs the last in the order of the
// configuration counts, where Claude Code takes the one whose hook ended last,
// so that the same hooks always give the same input; the same holds for new
// outputs. A denied call has no new input. All texts are kept, in order.
func Merge(event string, vs []Verdict) Verdict {
	var m Verdict
	var reasons, stopReasons []string
	for _, v := range vs {
		if v.Decision.rank() > m.Decision.rank() {
			m.Decision, reasons = v.Decision, nil
		}
		if v.Decision != NoDecision && v.Decision.rank() == m.Decision.rank() && v.Reason != "" {
			reasons = append(reasons, v.Reason)
		}
		m.Stop = m.Stop || v.Stop
		if v.Stop && v.StopReason != "" {
			stopReasons = append(stopReasons, v.StopReason)
		}
		if v.UpdatedInput != nil {
			m.UpdatedInput = v.UpdatedInput
		}
		if v.UpdatedOutput != nil {
			m.UpdatedOutput = v.UpdatedOutput
		}
		m.Context = append(m.Context, v.Context...)
		m.Feedback = append(m.Feedback, v.Feedback...)
		m.SystemMessages = append(m.SystemMessages, v.SystemMessages...)
		m.Errors = append(m.Errors, v.Errors...)
		m.Ignored = append(m.Ignored, v.Ignored...)
	}
	m.Reason = strings.Join(reasons, "\n")
	m.StopReason = strings.Join(stopReasons, "\n")
	if m.Decision == Deny || m.Decision == Block {
		m.Decision = rulesOf(event).word()
		m.UpdatedInput = nil
	}
	return m
}
