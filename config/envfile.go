package config

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/go-envparse"
)

// envFiles are the variables of the env files.
type envFiles struct {
	// own is the file in the configuration folder; named is another one, which
	// HOOKSPAN_CONFIG_FILE names and which then counts in its place, or nil.
	own, named         map[string]string
	ownPath, namedPath string
}

// vars are those of the file that counts.
func (f envFiles) vars() map[string]string {
	if f.named != nil {
		return f.named
	}
	return f.own
}

// candidates are the values that places give a variable; the first one wins. What
// the user's own file says about texts counts also where another file is named.
func (f envFiles) candidates(name, environ string) []candidate {
	var out []candidate
	add := func(raw, source string, from side) {
		if raw != "" {
			out = append(out, candidate{raw: raw, source: source, from: from})
		}
	}
	add(environ, Environment, outer)
	if name == "HOOKSPAN_CONFIG_FILE" {
		return out
	}
	if f.named != nil {
		add(f.named[name], f.namedPath, outer)
		switch name {
		case "HOOKSPAN_CAPTURE", "HOOKSPAN_REDACT", "HOOKSPAN_REDACT_FILE", "CONNECTOR_MAX_INPUT_PREVIEW", "CONNECTOR_MAX_OUTPUT_PREVIEW":
		default:
			return out
		}
	}
	add(f.own[name], f.ownPath, mine)
	return out
}

// readFiles reads the env files and returns what is wrong with them. A missing file
// is wrong only if it is named. ConfigFile becomes the file that counts.
func (c *Config) readFiles(read func(string) ([]byte, error), named string, k checker) (f envFiles, errs []error) {
	if c.ConfigDir != "" {
		f.ownPath = join(c.goos, c.ConfigDir, "hookspan.env")
	}
	c.ownFile, c.ConfigFile = f.ownPath, f.ownPath
	p, asked := k.check(named, lookup("HOOKSPAN_CONFIG_FILE"))
	if asked && p != f.ownPath {
		f.namedPath, c.ConfigFile = p, p
		f.named, errs = c.readFile(read, p, true)
		if f.named == nil {
			f.named = map[string]string{}
		}
		asked = false
	}
	var problems []error
	f.own, problems = c.readFile(read, f.ownPath, asked)
	return f, append(errs, problems...)
}

func (c *Config) readFile(read func(string) ([]byte, error), path string, asked bool) (map[string]string, []error) {
	if read == nil || path == "" {
		return nil, nil
	}
	data, err := read(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && !asked {
			return nil, nil
		}
		c.unread = &Problem{Source: path, Reason: "cannot be read: " + reason(err), Allowed: "a readable file of NAME=value lines"}
		return nil, []error{c.unread}
	}
	return parseFile(data, path)
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
// which are most often misspelt, and those of the environment whose names are near
// one of ours. Other programs' variables are left alone.
func unknown(file, environ map[string]string, known map[string]bool, path string) []error {
	var problems []*Problem
	for name := range file {
		switch {
		case name == "HOOKSPAN_CONFIG_FILE":
			problems = append(problems, &Problem{Variable: name, Reason: "has no effect in a file", Source: path, Allowed: "the process environment only"})
		case ours(name) && !known[name]:
			problems = append(problems, noSuch(known, name, path))
		}
	}
	for name, value := range environ {
		if value == "" || !ours(name) || known[name] || name == "HOOKSPAN_CHAIN" {
			continue
		}
		if p := noSuch(known, name, Environment); p.Allowed == "" {
			problems = append(problems, p)
		}
	}
	slices.SortFunc(problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Variable, b.Variable), cmp.Compare(a.Source, b.Source))
	})
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errs
}

// noSuch is the problem with an unknown variable. It suggests the known variable
// with the nearest name, or, where none is near, says what is allowed.
func noSuch(known map[string]bool, name, source string) *Problem {
	p := &Problem{Variable: name, Reason: "no such variable", Source: source, Allowed: "the variables that hookspan config --all lists"}
	best, least := "", 2*fewLetters+1
	for k := range known {
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

// near reports whether two names differ only in a few adjacent letters, and in how
// many of both names together.
func near(a, b string) (letters int, ok bool) {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) + len(b), max(len(a), len(b)) <= fewLetters
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
