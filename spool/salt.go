package spool

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// saltName is the file of the secret, saltLen its length in bytes, and saltWait how long
// another process may take to write it: hooks ask for it.
const (
	saltName = "salt"
	saltLen  = 32
	saltWait = 10 * time.Millisecond
)

// Salt returns the secret of the spool in a folder, random bytes in a file that only the user
// can read: digests made with it cannot be made elsewhere. The first call makes it, and one
// that finds it cut short, as a power cut may leave it. It does not wait for the disk.
func Salt(dir string) (salt []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("secret of spool %q: %w", dir, err)
		}
	}()
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	f, _, err := openFile(root, saltName, os.O_RDWR, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	read := func() error {
		salt = make([]byte, saltLen)
		_, err := f.ReadAt(salt, 0)
		if errors.Is(err, io.EOF) || err == nil && bytes.Equal(salt, make([]byte, saltLen)) {
			salt, err = nil, nil
		}
		return err
	}
	if read() == nil && salt != nil {
		return salt, nil
	}
	if err := lockWithin(saltWait, f, true); err != nil && !errors.Is(err, errNoLocks) {
		return nil, err
	}
	defer func() { _ = unlock(f) }()
	if err := read(); err != nil || salt != nil {
		return salt, err
	}
	salt = make([]byte, saltLen)
	_, _ = rand.Read(salt) // It never fails.
	if _, err := f.WriteAt(salt, 0); err != nil {
		return nil, errors.Join(err, f.Truncate(0))
	}
	return salt, nil
}
