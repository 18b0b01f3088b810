// Package install edits the folders Cline reads its hooks from and the settings
// files Claude Code reads its hooks from: it plans, shows, applies and undoes.
//
// It promises four things. Planning writes nothing. A file that does not carry
// hookspan's marker, or that was edited since hookspan wrote it, is never
// changed or removed, except that a chained script is moved aside whole and
// moved back whole. Installing twice is the same as installing once, also when
// both run at the same moment. Uninstalling leaves the folders as they were:
// hookspan's own files go, chained scripts return with their bytes and mode,
// and folders that installing created go when nothing else is in them.
//
// For Claude Code's settings the same holds byte by byte: an install adds entries
// and changes nothing else, neither order nor layout nor the spelling of a
// number, and an uninstall takes them out again, so that the bytes are the
// former ones where nothing else has changed since. Settings that Claude Code
// could not read are refused, with line and column.
//
// It does not promise that Cline runs what is installed: hooks can be switched
// off in Cline's settings, and a window that is already open may keep the list
// of hooks it knows. Plan.Warnings says so where it shows. Nor does it promise
// anything for a folder on a file system that other machines write to at the
// same time.
//
// # Where the hooks go
//
// Cline has three bodies of hook code, called dialects here. "Classic" and
// "next" run inside the editors and look in the user's documents folder as the
// system names it, which is not ~/Documents everywhere; "sdk" runs in the command
// line program and looks in ~/Documents/Cline/Hooks and ~/.cline/hooks. All three
// look in a project's .clinerules/hooks. A PreToolUse file in a folder that
// classic reads has a price: in the CLI 2 it can stop a task dead, whatever it
// answers, and in VS Code a denied call leaves Cline stuck. So PreToolUse goes
// into ~/.cline/hooks alone unless it is asked for. An event never goes into two
// folders that one dialect reads.
//
// Claude Code adds up the hooks of the user's, the project's and the user's own
// project settings, and runs equal ones once. An install goes into one of them,
// the user's by default. An entry is known as ours by the program it starts,
// claude-hook with an event's name or nothing after it.
package install
