// Package fault_test tries to break the promises about what is stored and
// delivered: it kills the programs, takes away disk, descriptors and rights,
// damages files, and counts what came of it. Each attempt is a row of a table
// that `make soak` writes into dist/results; docs/results/reliability.md has its sums.
package fault_test
