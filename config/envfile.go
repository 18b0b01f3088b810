package config

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/hashicorp/go-envparse"
)

// source is the environment or an env file.
type source struct {
	name, kind string // Environment or the file's path; its Setting.Source
	from       side
	vars       map[string]string
	// unclear has the variables that a line which cannot be read, or a name that
	// does not exist, probably means. Their wrong value may be the user's privacy,
	// so each counts as a wrong value does.
	unclear map[string]bool
	// replaced reports the user's own file if another is named: what it says about
	// texts and guards alone counts.
	replaced bool
}

// candidate is a value that one source gives a variable.
type candidate struct {
	source source
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
		file := source{name: path, kind: File, from: ofEnvironment}
		errs = c.readFile(&file, c.read, true)
		c.ConfigFile, asked, files = path, false, append(files, file)
	}
	own := source{name: c.ownFile, kind: File, replaced: len(files) > 0}
	errs = append(errs, c.readFile(&own, c.read, asked)...)
	return append(files, own), errs
}

// readFile reads an env file, which must exist if it was asked for. One that others than
// the administrator can change counts for nothing, where that matters; one that is there
// and cannot be read may hold what must stay private, so that nothing is delivered.
func (c *Config) readFile(file *source, read func(string) ([]byte, error), asked bool) (errs []error) {
	if read == nil || file.name == "" {
		return nil
	}
	data, err := read(file.name)
	var open interface{ Untrusted() bool }
	switch {
	case errors.Is(err, fs.ErrNotExist) && !asked:
		return nil
	case errors.As(err, &open) && open.Untrusted():
		return []error{&Problem{Source: file.name, Reason: "counts for nothing: " + reason(err), Allowed: "a file and a folder that only the administrator can change"}}
	case err != nil:
		c.unread = &Problem{Source: file.name, Reason: "cannot be read: " + reason(err), Allowed: "a readable file of NAME=value lines"}
		if file.from == ofMachine {
			c.unread.Allowed = "a file of NAME=value lines that every user can read"
		}
		return []error{c.unread}
	}
	file.vars, file.unclear, errs = parseFile(data, file.name)
	return errs
}

// reason is a file error without its path.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// plain is a file's text in UTF-8 with line feeds only. PowerShell writes UTF-16
// with a byte order mark.
func plain(data []byte) []byte {
	if utf16le := bytes.HasPrefix(data, []byte("\xFF\xFE")); utf16le || bytes.HasPrefix(data, []byte("\xFE\xFF")) {
		var units []uint16
		for ; len(data) > 1; data = data[2:] {
			high, low := data[0], data[1]
			if utf16le {
				high, low = low, high
			}
			units = append(units, uint16(high)<<8|uint16(low))
		}
		data = []byte(string(utf16.Decode(units)))
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

// parseFile reads all lines that can be read. Of two lines with one name the
// later counts. unclear has the variables that the other lines probably mean.
func parseFile(data []byte, path string) (vars map[string]string, unclear map[string]bool, errs []error) {
	data = plain(data)
	if vars, err := envparse.Parse(bytes.NewReader(data)); err == nil {
		return vars, nil, nil
	}
	vars, unclear = make(map[string]string), make(map[string]bool)
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
			meant(string(line), unclear)
			errs = append(errs, &Problem{Source: path, Line: n, Reason: err.Error(), Allowed: "NAME=value, a value with blanks or # in quotes"})
		}
	}
	return vars, unclear, errs
}

// meant adds the variables that a line names, or nearly names, to unclear.
func meant(line string, unclear map[string]bool) {
	line = normal(strings.ReplaceAll(line, "\x00", "")) // UTF-16 without its mark has them
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' })
	for i := range table {
		name := table[i].name
		unclear[name] = unclear[name] || strings.Contains(strings.ReplaceAll(line, " ", "_"), name) ||
			slices.ContainsFunc(words, func(word string) bool { _, ok := near(word, name); return ok })
	}
}

// normal is a text in upper case with a blank for each character that names of
// variables do not have.
func normal(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' {
			return r
		}
		return ' '
	}, strings.ToUpper(text))
}

// unknown reports the file's variables that have a prefix of hookspan's and do
// not exist, and those of the environment whose names are near an existing one.
// Variables of other programs are left alone.
func (c *Config) unknown(sources []source) (errs []error) {
	for i := range sources {
		s := &sources[i]
		file := s.name != Environment
		var names []string
		for name, raw := range s.vars {
			if c.values[name] == nil && (file || raw != "" && name != "HOOKSPAN_CHAIN") && (file || almostOurs(name)) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, only := range bound {
			if s.vars[only.name] != "" && !only.in(s) {
				errs = append(errs, &Problem{Variable: only.name, Reason: "has no effect here", Source: s.name, Allowed: only.where + " only"})
			}
		}
		for _, name := range names {
			best := Nearest(named(name), maps.Keys(c.values))
			if best == "" && (!almostOurs(name) || strings.HasPrefix(named(name), "OTEL_")) {
				continue // another program's, such as the SDK's for metrics
			}
			p := &Problem{Variable: name, Reason: "no such variable", Source: s.name, Allowed: "the variables that hookspan config --all lists"}
			if best != "" {
				p.Reason, p.Allowed = "no such variable, did you mean "+best+"?", ""
				// Of a standard variable, what is right counts: another program may read the name.
				if !strings.HasPrefix(best, "OTEL_") || file && s.vars[best] == "" {
					if s.unclear == nil {
						s.unclear = make(map[string]bool)
					}
					s.unclear[best] = true
				}
			}
			if file || best != "" {
				errs = append(errs, p)
			}
		}
	}
	return errs
}

// ours are how the names of the table begin, in another case too; the last are the standard's.
var ours = [...]string{"HOOKSPAN_", "INFINIUM_", "CONNECTOR_MAX_", "OTEL_"}

// almostOurs reports that a name begins as hookspan's do, but for the last character, which is
// often another separator. It is called for each variable of a hook's environment, so it makes
// no new text.
func almostOurs(name string) bool {
	return slices.ContainsFunc(ours[:], func(prefix string) bool {
		n := len(prefix) - 1
		return len(name) > n && strings.EqualFold(name[:n], prefix[:n])
	})
}

// named is an unknown variable's name in the form of the known ones.
func named(name string) string { return strings.ReplaceAll(normal(name), " ", "_") }

// Nearest is the name that one is probably meant to be, empty if none is near: one or two
// letters are missing, too many, wrong or in the wrong order, and at most half of them.
func Nearest(name string, names iter.Seq[string]) (best string) {
	least := min(fewLetters, len(name)/2) + 1
	for k := range names {
		if d := edits(name, k, fewLetters); d < least || d == least && k < best {
			best, least = k, d
		}
	}
	return best
}

// edits is how many letters have to be added, left out, replaced or exchanged with the next one
// to make one name another, or more than most.
func edits(a, b string, most int) int {
	switch {
	case a == b:
		return 0
	case most == 0 || max(len(a)-len(b), len(b)-len(a)) > most:
		return most + 1
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return edits(a[1:], b[1:], most)
	}
	least := min(edits(a[1:], b[1:], most-1), edits(a[1:], b, most-1), edits(a, b[1:], most-1))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, edits(a[2:], b[2:], most-1))
	}
	return 1 + least
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

// ProjectDisabled reports whether the folder dir switches recording off by a
// line HOOKSPAN_DISABLED=true in its .hookspan.env. Nothing else in that file
// has any effect: a project must be able to set neither endpoint nor credential.
// A file that cannot be read has no effect; a line about HOOKSPAN_DISABLED that
// cannot be read counts as true.
func ProjectDisabled(readFile func(string) ([]byte, error), dir string) bool {
	if readFile == nil || dir == "" {
		return false
	}
	data, err := readFile(strings.TrimRight(dir, `/\`) + "/.hookspan.env")
	if err != nil {
		return false
	}
	vars, unclear, _ := parseFile(data, "")
	raw := strings.TrimSpace(vars["HOOKSPAN_DISABLED"])
	off, valid := checkBool(raw)
	return off == "true" || raw != "" && !valid || unclear["HOOKSPAN_DISABLED"]
}
