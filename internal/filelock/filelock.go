package filelock

import (
	"context"
	"errors"
	"os"
	"time"
)

// pause is the wait between two tries.
const pause = 5 * time.Millisecond

// Wait takes the lock of an open file. It tries at least once; when ctx ends
// first, the error wraps that of ctx. On Windows the file must be open for reading
// or writing.
func Wait(ctx context.Context, f *os.File) error {
	for {
		if ok, err := try(f); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Folder takes the lock of a folder as Wait does; closing the file that it
// returns releases it. On Unix the file is the folder itself. Windows cannot lock
// folders: there the file has the given name in it, and remains.
func Folder(ctx context.Context, dir, name string) (*os.File, error) {
	f, err := openFolder(dir, name)
	if err != nil {
		return nil, err
	}
	if err := Wait(ctx, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
