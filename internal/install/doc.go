// Package install installs and removes the hooks of coding agents. Its
// subpackages, one for each agent, plan; settings below it does so for agents with
// hooks in JSON settings. This package shows, applies and undoes their plans, and
// keeps the record of what was installed.
//
// It promises four things. Planning writes nothing. A file without hookspan's
// marker, or one that was edited since hookspan wrote it, is never changed or
// removed, except that a chained script is moved aside whole and moved back
// whole. Installing twice is the same as installing once, also when both run at
// the same moment. Uninstalling leaves the folders as they were: hookspan's own
// files go, chained scripts return with their bytes and mode, and folders that
// installing created go when nothing else is in them.
//
// It promises nothing for a folder on a file system that other machines write to
// at the same time.
package install
