package hookfile

import "io/fs"

// mine is always true: access lists decide who may change a file, not its owner.
func mine(fs.FileInfo) bool { return true }
