package main

import (
	"context"
	"errors"
)

// asUser has no counterpart on Windows, where only the user's own logon has the user's
// folders.
func asUser(context.Context, *app, string, []string) (as bool, err error) {
	return false, hinted{errors.New("--user: not on Windows"), "run hookspan reconcile as the user, for example from a logon script"}
}
