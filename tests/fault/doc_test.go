// Package fault_test tries to break the promises about what is stored and
// delivered: it kills the programs, takes away disk, descriptors and rights,
// damages files, and counts what came of it. Each attempt is a row of the table
// in docs/results/reliability.md, which `make soak` writes anew.
package fault_test
