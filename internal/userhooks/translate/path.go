package translate

import (
	"path"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/jstext"
)

// place has the folders that the paths of a call are relative to.
type place struct {
	cwd     string
	roots   []string
	windows bool
	// hints reports that texts can name their root: "@root:path". named is the root that a
	// name means which no folder of a root has; empty is what Cline takes for it.
	hints bool
	named string
}

// abs is the absolute, cleaned form of a path as a model wrote it. Claude's hooks get
// absolute paths and compare their beginnings, so no ".." may be left in them.
// Without a working directory a relative path stays relative. No Cline expands "~".
func (p place) abs(name string) string {
	if name == "" {
		return ""
	}
	name, base := p.hinted(name)
	if base == "" {
		base = p.cwd
	}
	if p.windows {
		return absWindows(slashed(name), slashed(base))
	}
	if !path.IsAbs(name) && base != "" {
		name = base + "/" + name
	}
	return path.Clean(name)
}

// hinted returns a path, and the folder that it is relative to if it names one of the
// roots, as in "@root:path".
func (p place) hinted(name string) (rest, base string) {
	hint, ok := strings.CutPrefix(name, "@")
	folder, rest, named := strings.Cut(hint, ":")
	if !p.hints || !ok || !named || folder == "" || len(p.roots) == 0 || strings.ContainsAny(rest, lineEnds) {
		return name, ""
	}
	folder, rest = jstext.Trim(folder), jstext.Trim(rest)
	for _, is := range []func(root string) bool{
		func(root string) bool { return path.Base(slashed(root)) == folder },
		func(root string) bool { return root == p.named },
		func(root string) bool { return strings.Contains(root, folder) },
	} {
		if i := slices.IndexFunc(p.roots, is); i >= 0 {
			return rest, p.roots[i]
		}
	}
	return rest, p.roots[0]
}

// lineEnds are what no . of an expression in JavaScript matches.
const lineEnds = "\n\r\u2028\u2029"

// line returns the command that Cline runs for one as a model wrote it. "@root:command"
// runs in one of the roots, whose name is not looked at here.
func (p place) line(command string) string {
	hint, ok := strings.CutPrefix(command, "@")
	name, rest, named := strings.Cut(hint, ":")
	special := func(r rune) bool { return r == '-' || !allowedInName(r) }
	if !p.hints || !ok || !named || name == "" || rest == "" || strings.ContainsFunc(name, special) || strings.ContainsAny(rest, lineEnds) {
		return command
	}
	return jstext.Trim(rest)
}

// absWindows is abs for paths with drives. name and base have slashes.
func absWindows(name, base string) string {
	drive, rest := volume(name)
	switch {
	case drive != "" && strings.HasPrefix(rest, "/"):
	case drive != "":
		// "C:x" is relative to the drive's own directory, which is known only
		// if it is the working directory.
		if d, dir := volume(base); strings.EqualFold(d, drive) {
			rest = dir + "/" + rest
		} else {
			rest = "/" + rest
		}
	default:
		var dir string
		drive, dir = volume(base)
		if !strings.HasPrefix(rest, "/") && base != "" {
			rest = dir + "/" + rest
		}
	}
	return strings.ReplaceAll(drive+path.Clean(rest), "/", `\`)
}

// volume splits a path with slashes after its drive, or its server and share. The
// prefixes of device paths are removed: they name the same files.
func volume(name string) (drive, rest string) {
	for _, prefix := range [...]string{"//?/UNC/", "//./UNC/"} {
		if after, ok := strings.CutPrefix(name, prefix); ok {
			name = "//" + after
		}
	}
	for _, prefix := range [...]string{"//?/", "//./"} {
		name = strings.TrimPrefix(name, prefix)
	}
	if len(name) >= 2 && name[1] == ':' && isLetter(name[0]) {
		return strings.ToUpper(name[:1]) + ":", name[2:]
	}
	server, ok := strings.CutPrefix(name, "//")
	if !ok {
		return "", name
	}
	host, share, _ := strings.Cut(server, "/")
	share, rest, _ = strings.Cut(share, "/")
	return "//" + host + "/" + share, "/" + rest
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func slashed(name string) string { return strings.ReplaceAll(name, `\`, "/") }
