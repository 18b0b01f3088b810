package atomicfile

import (
	"io/fs"
	"os"
)

func keepOwner(*os.File, string) {}

// names allows every file: the settings of Windows' programs have one name.
func names(string) error { return nil }

// MakeFolders is os.MkdirAll.
func MakeFolders(dir string, mode fs.FileMode) error { return os.MkdirAll(dir, mode) }
