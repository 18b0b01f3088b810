package cline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/install"
)

// documentsTimeout bounds the question to the system. A cold PowerShell takes
// over a second.
const documentsTimeout = 10 * time.Second

// systemDocuments returns the function that asks the running system for the user's
// documents folder in the way Cline's editors do: xdg-user-dir on Linux and
// other systems of its kind, PowerShell on Windows. It returns nil for macOS,
// where the folder is always ~/Documents.
//
// The function answers "" where the system has no such program, as Cline falls
// back to ~/Documents then, and an error when the program fails, gives no
// answer in time or answers something other than an absolute path.
func systemDocuments(goos string) func(context.Context) (string, error) {
	switch goos {
	case "darwin", "ios":
		return nil
	case "windows":
		return func(ctx context.Context) (string, error) {
			return askDocuments(ctx, "powershell", "-NoProfile", "-NonInteractive", "-Command",
				"[Console]::OutputEncoding = [Text.Encoding]::UTF8; [Environment]::GetFolderPath('MyDocuments')")
		}
	default:
		return func(ctx context.Context) (string, error) {
			if err := evaluable(os.Getenv("HOME"), os.Getenv("XDG_CONFIG_HOME")); err != nil {
				return "", err
			}
			return askDocuments(ctx, "xdg-user-dir", "DOCUMENTS")
		}
	}
}

// evaluable refuses folders that xdg-user-dir must not be asked with: it is a
// script that has a shell evaluate their names.
func evaluable(folders ...string) error {
	for _, dir := range folders {
		if strings.ContainsAny(dir, "$`;&|<>(){}[]*?\"'\\\n") {
			return fmt.Errorf("xdg-user-dir is not asked: it would run a part of the folder's name %q", dir)
		}
	}
	return nil
}

func askDocuments(ctx context.Context, name string, args ...string) (string, error) {
	dir, err := install.Ask(ctx, documentsTimeout, name, args...)
	dir = strings.TrimPrefix(dir, "\ufeff")
	if dir != "" && !filepath.IsAbs(dir) {
		return "", fmt.Errorf("run %s: answered %q, want an absolute path", name, dir)
	}
	return dir, err
}
