package translate

import "testing"

func TestPaths(t *testing.T) {
	unix := place{cwd: "/w/api", roots: []string{"/w/api", "/w/web"}, hints: true}
	win := place{cwd: `C:\w\api`, roots: []string{`C:\w\api`}, windows: true, hints: true}
	tests := []struct {
		name string
		p    place
		in   string
		want string
	}{
		{"relative", unix, "src/a.go", "/w/api/src/a.go"},
		{"cleaned", unix, "./src/../../x//y/", "/w/x/y"},
		{"absolute", unix, "/etc/../etc/passwd", "/etc/passwd"},
		{"beyond the root", unix, "../../../../etc/passwd", "/etc/passwd"},
		{"a tilde is a name", unix, "~/.ssh/id", "/w/api/~/.ssh/id"},
		{"above a tilde", unix, "~/../.env", "/w/api/.env"},
		{"a backslash is a character", unix, `a\b`, `/w/api/a\b`},
		{"a root by its name", unix, "@web:src/a", "/w/web/src/a"},
		{"a root with spaces", unix, "@ web : src/a", "/w/web/src/a"},
		{"a part of a root's path", unix, "@w/we:src/a", "/w/web/src/a"},
		{"an unknown root is the first", unix, "@other:src/a", "/w/api/src/a"},
		{"absolute in a root", unix, "@web:/etc/passwd", "/etc/passwd"},
		{"a root alone", unix, "@web:", "/w/web"},
		{"a root and a line end", unix, "@web:a\nb", "/w/api/@web:a\nb"},
		{"roots are off", place{cwd: "/w/api", roots: unix.roots}, "@web:a", "/w/api/@web:a"},
		{"no working directory", place{}, "a/../b", "b"},
		{"nothing", unix, "", ""},
		{"windows relative", win, "src/a.go", `C:\w\api\src\a.go`},
		{"windows backslashes", win, `src\..\..\x`, `C:\w\x`},
		{"windows drive", win, "c:/x/../y", `C:\y`},
		{"windows other drive", win, `d:\x`, `D:\x`},
		{"windows relative to its drive", win, "C:x", `C:\w\api\x`},
		{"windows relative to another drive", win, "D:x", `D:\x`},
		{"windows rooted", win, `\x`, `C:\x`},
		{"windows share", win, `\\srv\share\a\..\b`, `\\srv\share\b`},
		{"windows device", win, `\\?\C:\x`, `C:\x`},
		{"windows device share", win, `\\?\UNC\srv\share\x`, `\\srv\share\x`},
		{"windows tilde", win, `~\x`, `C:\w\api\~\x`},
		{"windows beyond the root", win, `..\..\..\..\x`, `C:\x`},
		{"windows root by its name", win, "@api:x", `C:\w\api\x`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.p.abs(tt.in); got != tt.want {
				t.Errorf("abs(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}
