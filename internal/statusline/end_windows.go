package statusline

import "os/exec"

// endAll leaves what a command started to itself.
func endAll(*exec.Cmd) {}
