package config

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/go-envparse"
)

// readFile reads the env file and returns its variables, its path and what was
// wrong with it. A missing file is wrong only where it was asked for by name.
func (c *Config) readFile(read func(string) ([]byte, error), named string, k checker) (map[string]string, string, []error) {
	path := ""
	if c.ConfigDir != "" {
		path = join(c.goos, c.ConfigDir, "hookspan.env")
	}
	asked := false
	if p, ok := k.check(named, reflectTag("HOOKSPAN_CONFIG_FILE")); ok {
		path, asked = p, true
	}
	if read == nil || path == "" {
		return nil, path, nil
	}
	data, err := read(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && !asked {
			return nil, path, nil
		}
		c.unread = &Problem{Source: path, Reason: "cannot be read: " + reason(err), Allowed: "a readable file of NAME=value lines"}
		return nil, path, []error{c.unread}
	}
	vars, errs := parseFile(data, path)
	return vars, path, errs
}

// reason leaves out the path that a file error repeats.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// parseFile reads all lines that can be read. Of two lines with one name the
// later counts.
func parseFile(data []byte, path string) (map[string]string, []error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if vars, err := envparse.Parse(bytes.NewReader(data)); err == nil {
		return vars, nil
	}
	vars := make(map[string]string)
	var errs []error
	n := 0
	for line := range bytes.Lines(data) {
		n++
		kv, err := envparse.Parse(bytes.NewReader(line))
		if err != nil {
			why := err
			var pe *envparse.ParseError
			if errors.As(err, &pe) {
				why = pe.Err
			}
			errs = append(errs, &Problem{Source: path, Line: n, Reason: why.Error(), Allowed: "NAME=value, a value with blanks or # in quotes"})
			continue
		}
		for k, v := range kv {
			vars[k] = v
		}
	}
	return vars, errs
}

// unknown names the file's variables that bear our prefix and mean nothing,
// which are most often misspelt. Other programs' variables are no business of
// ours.
func unknown(vars map[string]string, known map[string]bool, path string) []error {
	var names []string
	for name := range vars {
		switch {
		case name == "HOOKSPAN_CONFIG_FILE":
			names = append(names, name)
		case ours(name) && !known[name]:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var errs []error
	for _, name := range names {
		p := &Problem{Variable: name, Reason: "no such variable", Source: path, Allowed: "the variables that hookspan config lists"}
		if name == "HOOKSPAN_CONFIG_FILE" {
			p.Reason, p.Allowed = "has no effect in a file", "the process environment only"
		}
		errs = append(errs, p)
	}
	return errs
}

// ours reports that no other program has variables of such a name.
func ours(name string) bool {
	return strings.HasPrefix(name, "HOOKSPAN_") || strings.HasPrefix(name, "INFINIUM_") || strings.HasPrefix(name, "CONNECTOR_MAX_")
}

// ProjectDisabled tells whether the project in dir switches recording off by a
// line HOOKSPAN_DISABLED=true in its .hookspan.env. Nothing else in that file
// has any effect: a project that somebody else wrote must be able to set
// neither endpoint nor credential. A file that cannot be read switches nothing.
func ProjectDisabled(readFile func(string) ([]byte, error), dir string) bool {
	if readFile == nil || dir == "" {
		return false
	}
	data, err := readFile(strings.TrimRight(dir, `/\`) + "/.hookspan.env")
	if err != nil {
		return false
	}
	vars, _ := parseFile(data, "")
	off, _ := checkBool(strings.TrimSpace(vars["HOOKSPAN_DISABLED"]))
	return off == "true"
}
