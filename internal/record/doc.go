// Package record handles one hook call of an agent: it reads the payload, stores
// it, answers the agent and starts a delivery if one is needed.
//
// It promises that no failure reaches the agent: standard input is always drained,
// the answer is always one that the host accepts, the exit code is always 0, and
// standard error stays empty. An error is one line in the log. Ctrl-C and a closed
// terminal lose no event; SIGTERM ends the process.
//
// A payload above the limit that is JSON is stored as JSON, in the same order. It
// keeps every short member of the outermost object, up to an eighth of the limit;
// long texts, lists and objects keep their beginning, as far as there is room.
//
// It does not promise anything for failures before main: a GOMEMLIMIT that is not a
// size ends every Go program with exit code 2, and a signal in the first
// millisecond ends this program as any other.
//
// It asks no hooks of the user's: an Answerer, which package answer below has for
// Cline, does that between storing and answering.
//
// An agent waits for this process at every step, so the package links nothing that
// costs time at start: no network, no OpenTelemetry, no database. tests/deps checks
// the dependencies of the hook programs.
package record
