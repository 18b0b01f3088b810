package filelock

import (
	"context"
	"io"
	"os"
	"time"
)

// pause is the wait between two tries.
const pause = 5 * time.Millisecond

// Wait takes the lock of an open file. It tries at least once; when ctx ends
// first, the error wraps that of ctx.
func Wait(ctx context.Context, f *os.File) error {
	return wait(ctx, func() (bool, error) { return try(f) })
}

// Folder takes the lock of a folder as Wait does; closing the result releases it.
// Nothing is written into the folder.
func Folder(ctx context.Context, dir string) (lock io.Closer, err error) {
	return lockFolder(ctx, dir)
}

func wait(ctx context.Context, try func() (bool, error)) error {
	for {
		if ok, err := try(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
