package main

import "io/fs"

// mine is always so: who may change a file stands in its access list, and who
// owns it says little.
func mine(fs.FileInfo) bool { return true }
