//go:build !windows

package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/hookspan/hookspan/internal/lookpath"
)

// AsUser runs this program as another user, so that files belong to the user and no
// link of the user's leads root anywhere. as is false if this process is the user's. The
// error is an [exec.ExitError] if the program ends with an exit code.
func AsUser(ctx context.Context, name string, args []string, stdout, stderr io.Writer) (as bool, err error) {
	u, err := findUser(ctx, name)
	if err != nil {
		return false, fmt.Errorf("--user %q: %w", name, err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return false, fmt.Errorf("--user %q: %w", name, err)
	}
	switch {
	case int(uid) == os.Geteuid():
		return false, nil
	case os.Geteuid() != 0:
		return false, fmt.Errorf("--user %q: only root can do that for another user", name)
	}
	groups := []uint32{uint32(gid)} //nolint:gosec // It was parsed as 32 bits.
	if ids, err := u.GroupIds(); err == nil {
		groups = nil
		for _, id := range ids {
			if n, err := strconv.ParseUint(id, 10, 32); err == nil {
				groups = append(groups, uint32(n))
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	c := exec.CommandContext(ctx, self, args...) //nolint:gosec // This program.
	c.Dir, c.Stdout, c.Stderr = u.HomeDir, stdout, struct{ io.Writer }{stderr}
	// Nothing of root's environment: it could name root's folders.
	c.Env = []string{
		"HOME=" + u.HomeDir, "USER=" + u.Username, "LOGNAME=" + u.Username,
		"PATH=" + u.HomeDir + "/.local/bin:/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin",
	}
	// With root's terminal, a program of the user's could type there.
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: groups}} //nolint:gosec // Parsed as 32 bits.
	if err := c.Run(); err != nil {
		return true, fmt.Errorf("run %s as %s: %w", self, name, err)
	}
	return true, nil
}

// ForEverybody lets everybody read what this process writes from now on, whatever mask
// it was started with.
func ForEverybody() { syscall.Umask(0o022) }

// findUser finds a user in the system's files, or else where the system looks, such as
// a directory of the company.
func findUser(ctx context.Context, name string) (*user.User, error) {
	u, err := user.Lookup(name)
	if err == nil {
		return u, nil
	}
	cmd, found := lookpath.Here().Command(ctx, "getent", "passwd", "--", name)
	if found != nil {
		return nil, err
	}
	out, failed := cmd.Output()
	f := strings.Split(strings.TrimSpace(string(out)), ":")
	if failed != nil || len(f) < 7 {
		return nil, err
	}
	return &user.User{Username: f[0], Uid: f[2], Gid: f[3], HomeDir: f[5]}, nil
}
