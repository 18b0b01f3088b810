package main

import (
	"cmp"
	"context"
	"errors"
	"html"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hookspan/hookspan/internal/lookpath"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// notifyTime is how long the program that shows a notification may take.
const notifyTime = 5 * time.Second

// notifiers are the programs that show notifications, with the words before title and text.
var notifiers = map[string][]string{
	"linux":  {"notify-send", "--app-name=hookspan", "--"},
	"darwin": {"osascript", "-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", "--"},
}

// notifier returns what shows a notification that an agent waits, without a tool's
// parameters: other people see screens.
func (a *app) notifier() (func(context.Context, *view.EventLine) error, error) {
	words := notifiers[a.goos]
	if words == nil {
		return nil, errors.New("--notify: this system has no program for notifications that hookspan knows")
	}
	if _, _, err := lookpath.Here().Find(words[0]); errors.Is(err, exec.ErrNotFound) {
		return nil, hinted{errors.New("--notify: the program " + words[0] + " is not in PATH"), "on Debian and Ubuntu: apt install libnotify-bin"}
	} else if err != nil {
		return nil, err
	}
	return func(ctx context.Context, l *view.EventLine) error {
		ctx, cancel := context.WithTimeout(ctx, notifyTime)
		defer cancel()
		what := termtext.Line(l.Agent) + " waits for you"
		where := termtext.Line(cmp.Or(l.Tool, l.Kind)) + " in " + termtext.Line(filepath.Base(l.Directory))
		if a.goos == "linux" { // the text is markup there
			where = html.EscapeString(where)
		}
		cmd, err := lookpath.Here().Command(ctx, words[0], append(words[1:len(words):len(words)], what, where)...)
		if err != nil {
			return err
		}
		return cmd.Run()
	}, nil
}
