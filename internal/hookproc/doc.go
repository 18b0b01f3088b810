// Package hookproc is the life of one hook process: read the payload, store it,
// answer the agent, start a delivery if one is due, and leave.
//
// It promises the agent that nothing which fails here reaches it: standard
// input is always drained, the answer is always one the host accepts, the exit
// code is always 0, standard error stays silent. What went wrong is one line in
// the log. Ctrl-C and a closed terminal cost no event; SIGTERM ends the process.
//
// Of a payload above the limit it promises JSON where the payload is JSON, in
// the payload's order, and every short member of the outermost object, wherever
// it stands; long texts, lists and objects keep their beginning, as many as
// there is room for.
//
// It does not promise anything about what goes wrong before main: a GOMEMLIMIT
// that is no size ends every Go program, this one too, with exit code 2, and a
// signal that comes in the first millisecond ends it as it ends any other. Nor
// does the user's own hook script get a payload above the limit whole where the
// state folder takes no file; the log says so then.
//
// The user's Claude-format hooks run in a program of their own, which is started
// only where a file configures some; it costs a call without hooks a look at one
// file per folder.
//
// An agent waits for this process at every step it takes, so the package must
// not link anything that costs time at start: no network, no OpenTelemetry, no
// database. A test over the dependencies of the hook binaries holds it to that.
package hookproc
