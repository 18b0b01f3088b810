package config

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/go-envparse"
)

// source is the environment or an env file.
type source struct {
	name string // Environment or the file's path
	from side
	vars map[string]string
}

// candidate is a value that one source gives a variable.
type candidate struct {
	source
	// text is raw as checker.check returns it.
	raw, text string
	valid     bool
}

// readFiles reads the env files, the one that HOOKSPAN_CONFIG_FILE names before
// that in the configuration folder. A missing file is wrong only if it is named.
// ConfigFile becomes the file that counts.
func (c *Config) readFiles(named string, k checker) (files []source, errs []error) {
	if c.ConfigDir != "" {
		c.ownFile = join(c.goos, c.ConfigDir, "hookspan.env")
	}
	c.ConfigFile = c.ownFile
	path, asked := k.check(named, &variable{kind: "abspath"})
	if asked && path != c.ownFile {
		vars, problems := c.readFile(path, true)
		c.ConfigFile, asked = path, false
		files, errs = append(files, source{path, ofEnvironment, vars}), problems
	}
	vars, problems := c.readFile(c.ownFile, asked)
	return append(files, source{c.ownFile, ofUser, vars}), append(errs, problems...)
}

func (c *Config) readFile(path string, asked bool) (map[string]string, []error) {
	if c.read == nil || path == "" {
		return nil, nil
	}
	data, err := c.read(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && !asked {
			return nil, nil
		}
		c.unread = &Problem{Source: path, Reason: "cannot be read: " + reason(err), Allowed: "a readable file of NAME=value lines"}
		return nil, []error{c.unread}
	}
	return parseFile(data, path)
}

// reason is a file error without its path.
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
		parsed, err := envparse.Parse(bytes.NewReader(line))
		maps.Copy(vars, parsed)
		if err != nil {
			var pe *envparse.ParseError
			if errors.As(err, &pe) {
				err = pe.Err
			}
			errs = append(errs, &Problem{Source: path, Line: n, Reason: err.Error(), Allowed: "NAME=value, a value with blanks or # in quotes"})
		}
	}
	return vars, errs
}

// unknown reports the file's variables that have a prefix of hookspan's and do
// not exist, and those of the environment whose names are near an existing one.
// Variables of other programs are left alone.
func (c *Config) unknown(sources []source) (errs []error) {
	for _, s := range sources[:2] {
		file := s.name != Environment
		var names []string
		for name, raw := range s.vars {
			if c.values[name] == nil && (file || raw != "" && name != "HOOKSPAN_CHAIN") && hasPrefix(name, "HOOKSPAN_", "INFINIUM_", "CONNECTOR_MAX_") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if _, named := s.vars[configFile]; file && named {
			errs = append(errs, &Problem{Variable: configFile, Reason: "has no effect in a file", Source: s.name, Allowed: "the process environment only"})
		}
		for _, name := range names {
			if p := c.noSuch(name, s.name); file || p.Allowed == "" {
				errs = append(errs, p)
			}
		}
	}
	return errs
}

// noSuch is the problem with an unknown variable. It suggests the known variable
// with the nearest name, or, if none is near, lists what is allowed.
func (c *Config) noSuch(name, source string) *Problem {
	p := &Problem{Variable: name, Reason: "no such variable", Source: source, Allowed: "the variables that hookspan config --all lists"}
	best, least := "", 2*fewLetters+1
	for k := range c.values {
		if d, ok := near(name, k); ok && (d < least || d == least && k < best) {
			best, least = k, d
		}
	}
	if best != "" {
		p.Reason, p.Allowed = "no such variable, did you mean "+best+"?", ""
	}
	return p
}

// fewLetters is how many adjacent letters of each of two near names may differ.
const fewLetters = 2

// near reports whether two names differ only in a few adjacent letters, and how
// many letters differ in both names together.
func near(a, b string) (letters int, ok bool) {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) + len(b), max(len(a), len(b)) <= fewLetters
}

func hasPrefix(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// ProjectDisabled reports whether the project in dir switches recording off by a
// line HOOKSPAN_DISABLED=true in its .hookspan.env. Nothing else in that file
// has any effect: a project must be able to set neither endpoint nor credential.
// A file that cannot be read has no effect.
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
