package hookmatch

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/hookspan/hookspan/internal/userhooks/plain"
)

// fitsPath tries a path pattern as Claude Code does: //x begins at the root of
// the file system, ~/x at home, /x at the project, x and ./x at the working
// directory. The rest is as in a .gitignore file, without regard to case: a
// pattern without a slash fits at any depth, and one that fits a folder fits all
// below it.
func fitsPath(s plain.Scope, pattern, file string) bool {
	base := s.Dir
	rest := pattern
	switch {
	case strings.HasPrefix(pattern, "//"):
		base, rest = "/", pattern[1:]
	case strings.HasPrefix(pattern, "~/"):
		base, rest = s.Home, pattern[1:]
	case strings.HasPrefix(pattern, "/"):
		base = s.Project
	case strings.HasPrefix(pattern, "./"):
		rest = pattern[2:]
	}
	re, err := pathExpression(rest)
	if err != nil {
		return false // ParseRule has rejected it
	}
	full, base := absolute(s, file), absolute(s, base)
	if s.GOOS == "windows" || s.GOOS == "darwin" {
		full, base = strings.ToLower(full), strings.ToLower(base)
	}
	below, ok := strings.CutPrefix(full, strings.TrimSuffix(base, "/")+"/")
	if !ok {
		// A star at the front matches everywhere, as measured on Claude Code.
		if !strings.HasPrefix(rest, "*") || rest != pattern {
			return false
		}
		below = strings.TrimPrefix(full, "/")
	}
	return re.MatchString(below)
}

// absolute is a path in the form of POSIX: C:\x becomes /c/x.
func absolute(s plain.Scope, p string) string {
	if s.GOOS == "windows" {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		p = s.Home + "/" + rest
	}
	if !strings.HasPrefix(p, "/") && !drive(p) {
		p = s.Dir + "/" + p
	}
	if s.GOOS == "windows" {
		p = strings.ReplaceAll(p, `\`, "/")
		if drive(p) {
			p = "/" + strings.ToLower(p[:1]) + p[2:]
		}
	}
	return path.Clean(p)
}

func drive(p string) bool {
	return len(p) > 1 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// pathExpression is a gitignore pattern as an expression over a path without a
// slash in front. See "PATTERN FORMAT" of gitignore(5).
func pathExpression(pattern string) (*regexp.Regexp, error) {
	p := strings.TrimPrefix(pattern, "/")
	folder := strings.HasSuffix(p, "/")
	p = strings.TrimSuffix(p, "/")
	var b strings.Builder
	b.WriteString("(?is)^")
	if !strings.HasPrefix(pattern, "/") && !strings.Contains(p, "/") {
		b.WriteString("(?:.*/)?")
	}
	parts := strings.Split(p, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		if part == "**" {
			if last {
				b.WriteString(".+")
			} else {
				b.WriteString("(?:.*/)?")
			}
			continue
		}
		if err := segment(&b, part); err != nil {
			return nil, fmt.Errorf("path pattern %q: %w", pattern, err)
		}
		if !last {
			b.WriteByte('/')
		}
	}
	if folder {
		b.WriteString("/.*$")
	} else {
		b.WriteString("(?:/.*)?$")
	}
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("path pattern %q: a bracket or range in it is not closed or upside down; write \\[ for a bracket", pattern)
	}
	return re, nil
}

// segment writes the expression of the text between two slashes.
func segment(b *strings.Builder, s string) error {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '*':
			if !strings.HasSuffix(b.String(), "[^/]*") {
				b.WriteString("[^/]*")
			}
		case '?':
			b.WriteString("[^/]")
		case '\\':
			if i++; i == len(s) {
				return fmt.Errorf("it ends with a backslash")
			}
			b.WriteString(regexp.QuoteMeta(s[i : i+1]))
		case '[':
			end := strings.IndexByte(s[min(i+2, len(s)):], ']')
			if end < 0 {
				return fmt.Errorf("a bracket is not closed; write \\[ for a bracket")
			}
			class := s[i+1 : i+2+end]
			if rest, not := strings.CutPrefix(class, "!"); not {
				class = "^" + rest
			}
			b.WriteString("[" + strings.ReplaceAll(class, "[", `\[`) + "]")
			i += 2 + end
		default:
			b.WriteString(regexp.QuoteMeta(s[i : i+1]))
		}
	}
	return nil
}
