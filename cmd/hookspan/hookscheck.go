package main

import (
	"os"
	"path/filepath"
	"strings"
)

// plainProgram is the program that a shell line starts, where that is written out
// as a path; else it is empty.
func plainProgram(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 || !strings.ContainsAny(words[0], `/\`) || strings.ContainsAny(words[0], "'\"$`&|;<>()*?[]={}!#") {
		return ""
	}
	return words[0]
}

// doubtProgram says why a new hook's program is not likely to be started, or
// nothing. project is the folder of the project that it is for, if it is for one.
func (a *app) doubtProgram(program, project string) string {
	path := program
	switch rest, ofHome := strings.CutPrefix(program, "~/"); {
	case program == "":
		return ""
	case ofHome:
		path = filepath.Join(a.home, rest)
	case strings.HasPrefix(program, "~"):
		return "" // where another user's home is, the shell knows
	case filepath.IsAbs(program):
	case project == "":
		return program + " is sought in the folder where Cline works: for a hook of all your projects write the whole path"
	default:
		path = filepath.Join(project, program)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return path + ": there is no such program yet, and a hook that cannot be started decides nothing"
	case info.IsDir():
		return path + " is a folder, and a hook that cannot be started decides nothing"
	case a.goos != "windows" && info.Mode()&0o111 == 0:
		return path + " is not executable, and a hook that cannot be started decides nothing: chmod +x " + shellWord(path)
	}
	return ""
}
