// Package pattern compiles regular expressions when they are needed: a start of the program that
// matches none does not pay for those of every package.
package pattern

import (
	"regexp"
	"sync"
)

// Of returns a function that returns a regular expression, which the first call compiles. It panics
// there if the text is none.
func Of(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
