package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/files/regular"
)

func pauseCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "pause", Short: "Stop recording; the hooks stay installed",
		RunE: func(*cobra.Command, []string) error {
			if err := createEmpty(a.cfg.PausePath()); err != nil {
				return fmt.Errorf("pause: %w", err)
			}
			a.printf("recording is paused; hookspan resume continues it\n")
			return nil
		},
	}
}

func createEmpty(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, _, err := regular.Open(path, regular.Options{Flag: os.O_CREATE | os.O_WRONLY, Perm: 0o600})
	if err != nil {
		return err
	}
	return f.Close()
}

func resumeCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "resume", Short: "Continue recording after a pause",
		RunE: func(*cobra.Command, []string) error {
			switch err := os.Remove(a.cfg.PausePath()); {
			case errors.Is(err, fs.ErrNotExist):
				a.printf("recording was not paused\n")
			case err != nil:
				return fmt.Errorf("resume: %w", err)
			default:
				a.printf("recording continues\n")
			}
			return nil
		},
	}
}
