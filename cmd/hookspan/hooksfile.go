package main

import (
	"bytes"
	"errors"

	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
)

// openHooks reads a hooks.json that is to be edited or trusted.
func openHooks(path string, project bool) (*hookfile.Document, error) {
	d, err := hookfile.Open(path, project)
	if errors.As(err, new(*hookfile.SyntaxError)) {
		err = hinted{err, "nothing was done to the file: fix it at that place and run this again"}
	}
	return d, err
}

// saveHooks shows the change of a hooks.json and makes it, and reports whether
// something was changed. byUser is as in [hookfile.Document.WriteTrusted].
func (a *app) saveHooks(d *hookfile.Document, after []byte, byUser, dryRun bool) (bool, error) {
	if d.Exists && bytes.Equal(d.Data, after) {
		a.printf("%s: nothing to change\n", d.Path)
		return false, nil
	}
	a.printf("%s\n", d.Path)
	a.printDiff(d.Diff(after, a.clean))
	if dryRun {
		a.printf("\nnothing was done (--dry-run)\n")
		return false, nil
	}
	trusted, err := d.WriteTrusted(after, a.trust(), byUser)
	if err != nil {
		return false, err
	}
	if d.Project || d.Exists {
		a.printf("\n")
	}
	switch {
	case trusted:
		a.printf("It is trusted, since what is in it is yours: its hooks run when you work in this project.\n")
	case d.Project:
		a.printf("It is not trusted, so its hooks do not run.\n")
		a.hint("read what it runs, then: hookspan hooks trust " + hookfile.ShellWord(hookfile.ProjectOf(d.Path)))
	}
	if d.Exists {
		a.printf("The file as it was: %s\n", d.Backup())
	}
	return true, nil
}
