package lab

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Outputs is everything that leaves the spool, by its place: the
// destinations, the files below the home folder byte by byte, and what hookspan
// prints of them.
func (w *World) Outputs() map[string]string {
	w.T.Helper()
	out := map[string]string{}
	for i, r := range w.OTLP.Requests() {
		out["otlp request "+strconv.Itoa(i)] = string(r.Body)
	}
	for i, r := range w.Infinium.Requests() {
		out["infinium request "+strconv.Itoa(i)] = string(r.Body)
	}
	err := filepath.WalkDir(w.Home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			// The unchanged events, Cline's own files, the settings.
			if n := d.Name(); n == "spool" || n == ".cline" || n == ".claude" || n == ".config" {
				return fs.SkipDir
			}
			return nil
		}
		b, err := os.ReadFile(path) //nolint:gosec // Below the test's home folder.
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		out[strings.TrimPrefix(path, w.Home)] = string(b)
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, s := range w.Stored() {
		out["stored span "+s.Span] = s.Proto.String()
	}
	roots := []string{}
	for _, s := range w.OTLP.Spans() {
		if s.Parent == "" {
			roots = append(roots, s.Trace)
		}
	}
	commands := [][]string{{"list"}, {"list", "--json"}, {"status"}, {"status", "--json"}, {"doctor"}, {"config"}}
	for _, id := range roots {
		commands = append(commands, []string{"show", id}, []string{"show", "-v", id}, []string{"show", "--json", id})
	}
	for _, c := range commands {
		stdout, stderr, _ := w.Hookspan(c...)
		out["hookspan "+strings.Join(c, " ")] = stdout + stderr
	}
	return out
}
