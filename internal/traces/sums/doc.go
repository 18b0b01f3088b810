// Package sums counts spans into the metrics of package instruments, in whole numbers: tokens,
// nanoseconds, and billionths of a US dollar, so that a sum does not depend on the order in which
// it was added up. It is pure.
package sums
