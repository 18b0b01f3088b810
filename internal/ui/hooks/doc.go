// Package hooks lists and changes the hooks that are configured on this machine, for
// the page of hookspan ui: those for Cline in hooks.json, Cline's own hook files, and
// those in Claude Code's settings.
//
// [Catalog] reads only. It says of each hook where it is, what keeps it from running,
// how its runs of the last day went, and whether it is for a call.
//
// [Editor] promises that
//   - a change is written only as it was shown: to a file that the list names, with the
//     bytes that it had then, at the place that it had then;
//   - everything else in the file keeps its bytes, and the file as it was is kept;
//   - each change, and each test that starts a hook, needs a code that is shown in the
//     terminal only, and that counts once, for the change shown;
//   - that change is shown whole: secrets are marked, and only values of variables and
//     headers that are in the file already are hidden.
//
// It does not protect from programs of the same user, which can write the files
// themselves.
package hooks
