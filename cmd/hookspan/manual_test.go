package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// A release writes the manual pages and completions by this test, so that the
// program need not contain what makes them.
var (
	manualDir     = flag.String("manual", "", "write manual pages and completion scripts into this folder")
	manualRelease = flag.String("release", "devel", "the release that the manual pages name")
)

func TestManual(t *testing.T) {
	dir := *manualDir
	if dir == "" {
		dir = t.TempDir()
	}
	a := newApp(nil, strings.NewReader(""), io.Discard, io.Discard, nil)
	root := rootCmd(a)
	withoutDate(root)
	pages := filepath.Join(dir, "man")
	if err := os.MkdirAll(pages, 0o755); err != nil { //nolint:gosec // Everyone reads them.
		t.Fatal(err)
	}
	made, err := manualMonth(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "hookspan " + *manualRelease, Manual: "hookspan", Date: made}, pages); err != nil {
		t.Fatal(err)
	}
	var each func(*cobra.Command)
	each = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(pages, name))
		if err != nil {
			t.Errorf("%s has no manual page: %v", cmd.CommandPath(), err)
		}
		if home := a.home; home != "" && home != "/" && bytes.Contains(page, []byte(home)) {
			t.Errorf("%s names the home folder %q", name, home)
		}
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				each(sub)
			}
		}
	}
	each(root)

	scripts := filepath.Join(dir, "completions")
	if err := os.MkdirAll(scripts, 0o755); err != nil { //nolint:gosec // As above.
		t.Fatal(err)
	}
	for name, write := range map[string]func(io.Writer) error{
		"hookspan.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"hookspan.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"hookspan.ps1":  root.GenPowerShellCompletionWithDesc,
		"_hookspan":     root.GenZshCompletion,
	} {
		var script bytes.Buffer
		if err := write(&script); err != nil || script.Len() == 0 {
			t.Errorf("completions %s: %d bytes, %v", name, script.Len(), err)
		}
		if err := os.WriteFile(filepath.Join(scripts, name), script.Bytes(), 0o644); err != nil { //nolint:gosec // As above.
			t.Fatal(err)
		}
	}
}

// manualMonth is the month that manual pages name, of a number of seconds since 1970 or of now. It is
// that of UTC, not of where they are made as by default.
func manualMonth(seconds string) (*time.Time, error) {
	if seconds == "" {
		return nil, nil //nolint:nilnil // Then it is now.
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	return new(time.Unix(n, 0).UTC()), err
}

func TestManualMonthIsTheSameEverywhere(t *testing.T) {
	local := time.Local
	defer func() { time.Local = local }()
	time.Local = time.FixedZone("east", 9*60*60)
	lastEvening := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
	if made, err := manualMonth(strconv.FormatInt(lastEvening.Unix(), 10)); err != nil || made.Format("Jan 2006") != "Nov 2026" {
		t.Errorf("manual pages name %v, %v, want Nov 2026", made, err)
	}
}

// withoutDate leaves out cobra's last line, the day on which a page was made.
func withoutDate(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	for _, sub := range cmd.Commands() {
		withoutDate(sub)
	}
}
