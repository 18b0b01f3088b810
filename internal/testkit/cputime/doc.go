// Package cputime measures work by the processor time that it takes, which a busy machine
// does not change as much as it does the time of the day.
package cputime
