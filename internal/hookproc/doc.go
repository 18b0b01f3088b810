// Package hookproc is the life of one hook process: read the payload, store it,
// answer the agent, start a delivery if one is due, and leave.
//
// It promises the agent that nothing which fails here reaches it: standard
// input is always drained, the answer is always one the host accepts, the exit
// code is always 0, standard error stays silent. What went wrong is one line in
// the log.
//
// It does not promise anything about what goes wrong before main: a GOMEMLIMIT
// that is no size ends every Go program, this one too, with exit code 2. Nor
// does the user's own hook script get a payload above the limit whole where the
// state folder takes no file; the log says so then.
//
// An agent waits for this process at every step it takes, so the package must
// not link anything that costs time at start: no network, no OpenTelemetry, no
// database. A test over the dependencies of the hook binaries holds it to that.
package hookproc
