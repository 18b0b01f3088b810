package claude

import (
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// taskStop is the tool that stops a background task.
const taskStop = "TaskStop"

// endOf reports that a background task in this state works no more, and whether it ended
// by itself.
func endOf(status string) (itself, ended bool) {
	switch status {
	case "completed":
		return true, true
	case "failed", "killed", "stopped", "cancelled":
		return false, true
	}
	return false, false
}

// backgroundTasks reads the tasks that run when a turn ends. Those with a command or a
// server are no agents.
func (p members) backgroundTasks(ev *hook.Event) {
	if p.Get("background_tasks") == nil {
		return
	}
	tasks, _ := p.Elements("background_tasks")
	ev.Background = &hook.Background{Listed: true}
	var ids []string // those that have one
	for _, raw := range tasks {
		task := rawjson.Members(raw)
		id := task.Text("id")
		if id != "" {
			ids = append(ids, id)
		}
		itself, ended := endOf(task.Text("status"))
		switch {
		case id == "" || task.Get("command") != nil || task.Get("server") != nil:
		case ended:
			ev.Background.Ended = append(ev.Background.Ended, hook.AgentEnd{ID: id, Stopped: !itself})
		default:
			ev.Background.AtWork = append(ev.Background.AtWork, id)
		}
	}
	if len(tasks) > 0 {
		ev.Attrs = append(ev.Attrs, hook.Attr{Key: attrBackgroundTasks, Value: int64(len(tasks))})
	}
	if len(ids) > 0 {
		ev.Attrs = append(ev.Attrs, hook.Attr{Key: attrBackgroundTaskIDs, Value: strings.Join(ids, ",")})
	}
}

// AgentEnds reads the reports of background tasks that have ended, nil if the prompt is
// none.
func AgentEnds(prompt string) *hook.Background {
	var ends []hook.AgentEnd
	for _, report := range strings.Split(prompt, "<task-notification>")[1:] {
		id, status := element(report, "task-id"), element(report, "status")
		if itself, ended := endOf(status); ended && id != "" {
			ends = append(ends, hook.AgentEnd{ID: id, Result: element(report, "result"), Stopped: !itself})
		}
	}
	if ends == nil {
		return nil
	}
	return &hook.Background{Ended: ends}
}

// element returns the text of the first element of that name.
func element(text, name string) string {
	_, rest, _ := strings.Cut(text, "<"+name+">")
	inner, _, closed := strings.Cut(rest, "</"+name+">")
	if !closed {
		return ""
	}
	return jstext.Trim(inner)
}
