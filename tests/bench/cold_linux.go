package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// forgetter is what makes the system's memory forget the files, and how in words.
// It drops all caches where that is allowed, and the named files' pages otherwise.
func forgetter(files []string) (how string, forget func() error, err error) {
	// What is not on the disk yet cannot be forgotten.
	for _, name := range files {
		if err := withFile(name, (*os.File).Sync); err != nil {
			return "", nil, err
		}
	}
	const drop = "/proc/sys/vm/drop_caches"
	all := func() error { return os.WriteFile(drop, []byte("3\n"), 0o200) }
	if all() == nil {
		return "all caches of the system are dropped before each call (" + drop + ")", all, nil
	}
	pages := func() error {
		var errs []error
		for _, name := range files {
			errs = append(errs, withFile(name, func(f *os.File) error {
				return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
			}))
		}
		return errors.Join(errs...)
	}
	return "the programs' and the log's pages are dropped before each call (posix_fadvise)", pages, pages()
}

func withFile(name string, do func(*os.File) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}
