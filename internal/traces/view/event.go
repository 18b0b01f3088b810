package view

import (
	"cmp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
)

// Widths of the columns of an event.
const (
	agentWidth      = 11
	shortAgentWidth = 8
	projectWidth    = 14
	// toolWidth fits run_shell_command, shortToolWidth fits subagent done.
	toolWidth      = 17
	shortToolWidth = 13
)

// Event returns the line of an event, without its end. A narrow view has neither
// project nor session.
func Event(e *EventLine, o Options) string {
	st := newStyle(o)
	status := e.End
	agent, name := agentWidth, termtext.Line(e.Agent)
	if st.room() < 100 {
		agent = shortAgentWidth
		name = strings.TrimSuffix(strings.TrimSuffix(name, "-cli"), "-code")
	}
	head := st.paint(sgrDim, e.Time.In(st.Location).Format(time.TimeOnly)) + " " + padRight(st.cut(name, agent), agent) + " "
	room := st.room() - 8 - agent - 2
	if room > 60 {
		head += padRight(st.cut(lastPart(e.Directory), projectWidth), projectWidth) + " "
		head += st.paint(sgrDim, padRight(sessionEnd(e.Session), 4)) + " "
		room -= projectWidth + 6
	}
	what, detail := eventText(e)
	var tail string
	if e.Took > 0 {
		tail = duration(e.Took)
	}
	if e.Calls > 0 {
		counts := append([]string{termtext.Plural(e.Calls, "call")}, badCounts(e.Failures, e.Denials)...)
		tail = strings.Join(append(counts, tail), ", ")
	}
	width := 0
	switch {
	case room >= 60:
		width = toolWidth
	case room >= 40:
		width = shortToolWidth
	}
	if what = st.cut(what, room-2); st.Width > 0 && width > 0 && detail != "" {
		what = st.cut(what, width)
	}
	line := head + st.mark(status) + " " + st.paint(sgrOf(e, status), what)
	padding := max(0, width-termtext.Width(what))
	room -= 2 + termtext.Width(what) + padding
	switch {
	case room > termtext.Width(tail)+12:
		detail = st.cut(detail, room-2-termtext.Width(tail)-min(1, len(tail)))
		line += strings.Repeat(" ", padding) + "  " + detail
		if tail != "" {
			line += " " + st.paint(sgrDim, tail)
		}
	case tail != "" && room+padding >= termtext.Width(tail)+2:
		padding = min(padding, room+padding-termtext.Width(tail)-2)
		line += strings.Repeat(" ", padding) + "  " + st.paint(sgrDim, tail)
	}
	return strings.TrimRight(line, " ")
}

// sessionEnd is the end of a session's id: those of agents that begin them with the time
// or with a word begin alike.
func sessionEnd(id string) string {
	r := []rune(termtext.Line(id))
	return termtext.CutWidth(string(r[max(0, len(r)-4):]), 4, "")
}

func sgrOf(e *EventLine, s otelmap.End) string {
	switch {
	case s == otelmap.EndFailed:
		return sgrRed
	case s == otelmap.EndDenied:
		return sgrYellow
	case e.Tool == "":
		return sgrBold
	}
	return ""
}

// eventText returns what happened, in a word or two, and the text that belongs to it.
func eventText(e *EventLine) (what, detail string) {
	text := line(e.Text)
	switch e.Kind {
	case hook.KindPrompt.String():
		return "prompt", text
	case hook.KindRunStart.String():
		if e.Subagent != "" {
			return "subagent", cmp.Or(text, termtext.Line(e.Subagent))
		}
		return "task", text
	case hook.KindRunResume.String():
		return "resumed", text
	case hook.KindToolStart.String():
		return termtext.Line(e.Tool), preview(e.Input)
	case hook.KindToolEnd.String():
		if e.End == otelmap.EndOK || text == "" {
			text = preview(e.Input)
		} else {
			text = FailureLine(e.Text)
		}
		return termtext.Line(e.Tool), text
	case hook.KindPermission.String():
		return "waits for you", termtext.Line(e.Tool) + "  " + preview(e.Input)
	case hook.KindHookRuns.String():
		return "hook", text
	case hook.KindRunComplete.String():
		if e.Subagent != "" {
			return "subagent done", text
		}
		return "done", text
	case hook.KindRunCancel.String():
		return "cancelled", text
	case hook.KindRunError.String():
		return "failed", text
	case hook.KindRequestError.String():
		return "request", text
	case hook.KindSessionStart.String():
		return "session", "started"
	case hook.KindSessionEnd.String():
		return "session", "ended"
	case hook.KindCompact.String():
		return "compacts", text
	case hook.KindNotification.String():
		if e.Waiting {
			return "waits for you", text
		}
		return "notifies", text
	}
	return cmp.Or(termtext.Line(e.Event), "event"), text
}
