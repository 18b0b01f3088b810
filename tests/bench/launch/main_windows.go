// Command launch measures memory where the system accounts for it by process
// tree; on Windows it says that it cannot.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "launch: not made for Windows")
	os.Exit(1)
}
