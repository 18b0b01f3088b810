package translate

import (
	"path"
	"strings"
)

// place is where a call happens: what its relative paths are relative to.
type place struct {
	cwd, home string
	roots     []string
	windows   bool
}

// abs is the absolute, cleaned form of a path as a model wrote it. Claude's
// hooks get absolute paths and compare them with prefixes, so ".." must not be
// left in. Without a working directory a relative path stays relative.
func (p place) abs(name string) string {
	if name == "" {
		return ""
	}
	base := p.cwd
	name, base = p.hinted(name, base)
	if p.windows {
		return p.absWindows(name, base)
	}
	if name == "~" || strings.HasPrefix(name, "~/") {
		if p.home != "" {
			name = p.home + name[1:]
		}
	}
	if !path.IsAbs(name) && base != "" {
		name = base + "/" + name
	}
	return path.Clean(name)
}

// hinted resolves "@folder:path", by which Cline names one of several roots.
func (p place) hinted(name, base string) (string, string) {
	rest, ok := strings.CutPrefix(name, "@")
	folder, rest, named := strings.Cut(rest, ":")
	if !ok || !named {
		return name, base
	}
	for _, root := range p.roots {
		if path.Base(strings.ReplaceAll(root, `\`, "/")) == folder {
			return rest, root
		}
	}
	return name, base
}

// absWindows is abs where both slashes separate and drives have letters.
func (p place) absWindows(name, base string) string {
	name, base = slashed(name), slashed(base)
	if name == "~" || strings.HasPrefix(name, "~/") {
		if p.home != "" {
			name = slashed(p.home) + name[1:]
		}
	}
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

// volume splits a drive or the server and share off a path with slashes. The
// prefixes of device paths are dropped: they name the same files.
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
	share, rest, found := strings.Cut(share, "/")
	if found {
		rest = "/" + rest
	} else {
		rest = "/"
	}
	return "//" + host + "/" + share, rest
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func slashed(name string) string { return strings.ReplaceAll(name, `\`, "/") }
