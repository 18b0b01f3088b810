//go:build !linux && !darwin

// Command launch starts a program under limits of the system's; here it
// says that it cannot.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "launch: not made for this system")
	os.Exit(125)
}
