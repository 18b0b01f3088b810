package spool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// saltName is the file of the secret, saltLen its length in bytes, and saltWait how long
// another process may take to make it.
const (
	saltName = "salt"
	saltLen  = 32
	saltWait = time.Second
)

// Salt returns the secret of the spool in a folder, random bytes in a file that only the user
// can read: digests made with it cannot be made elsewhere. The first call makes it.
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
		n, err := f.ReadAt(salt, 0)
		if n == 0 && errors.Is(err, io.EOF) {
			salt = nil
			return nil
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
	return salt, f.Sync()
}
