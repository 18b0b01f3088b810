package provision

import (
	"context"
	"errors"
	"io"
)

// ForEverybody does nothing: access rights come from the folder.
func ForEverybody() {}

// AsUser has no counterpart on Windows, where only the user's own logon has the user's
// folders.
func AsUser(context.Context, string, []string, io.Writer, io.Writer) (as bool, err error) {
	return false, errors.ErrUnsupported
}
