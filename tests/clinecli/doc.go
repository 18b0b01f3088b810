// Package clinecli drives the real Cline command line programs from npm, end to
// end and without a network: CLI 2 (the classic core) and CLI 3 (the SDK core).
// It is what tests/internal/rig leaves open: the programs, their home folders,
// their hooks and their own files. What that package promises holds here.
package clinecli
