package live

import (
	"os"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/spool"
)

// Tasks are the tasks at work. Some agents report no interruption, but their files have it.
type Tasks struct {
	// End returns how the task of a prompt has ended by the agent's files, hook.KindUnknown if
	// it has not, and whether these files tell at all.
	End func(prompt *Event) (kind hook.Kind, at time.Time, tell bool)
	// Idle is how long after its last event a task may be at work.
	Idle time.Duration

	tasks map[spool.Key]*task
}

// task is a task at work: its prompt, its last event, and when its file was last written.
type task struct {
	Event
	last, written time.Time
}

// Note takes over what an event says.
func (t *Tasks) Note(e Event) {
	if t.tasks == nil {
		t.tasks = make(map[spool.Key]*task)
	}
	switch have := t.tasks[e.Key]; {
	case e.ParentAgent != "" || e.Session == "":
	case e.Kind == hook.KindPrompt:
		t.tasks[e.Key] = &task{Event: e, last: e.At()}
	case e.Kind.Terminal():
		delete(t.tasks, e.Key)
	case have != nil:
		have.last = e.At()
	}
}

// Look visits the ends of tasks that only the agents' files have. again reports that others
// are at work.
func (t *Tasks) Look(now time.Time, visit func(Event) error) (again bool, err error) {
	for key, one := range t.tasks {
		if hook.Elapsed(now, one.last, t.Idle) {
			delete(t.tasks, key)
			continue
		}
		if fi, err := os.Stat(one.Transcript); err == nil && fi.ModTime().Equal(one.written) {
			again = true
			continue
		} else if err == nil {
			one.written = fi.ModTime()
		}
		kind, at, tell := t.End(&one.Event)
		if again = again || tell; tell && (kind == hook.KindUnknown || at.Before(one.At())) {
			continue
		}
		if delete(t.tasks, key); !tell {
			continue
		}
		one.Event.Event = hook.Event{Host: one.Host, Session: one.Session, Cwd: one.Cwd, Kind: kind, Name: "interrupt", StoredAt: at}
		if err := visit(one.Event); err != nil {
			return false, err
		}
	}
	return again, nil
}
