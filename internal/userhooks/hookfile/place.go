package hookfile

// Place is where the hooks of a file run.
type Place struct {
	// Project is the folder of the project whose file it is, empty for the
	// user's own file, which is for all projects.
	Project string
	Home    string
	GOOS    string
	// Path is the PATH on which programs are looked for; if empty, none are.
	Path string
	// Shell is the name of the program that /bin/sh is, such as "dash"; if
	// empty, a shell that only knows POSIX.
	Shell string
	// Env are variables that other files give to these hooks.
	Env []Variable
	// Tools are the names of Cline's tools that matchers are tried against.
	Tools []string
	// Claude reports that Claude Code runs the hooks. What Cline lacks is then no
	// finding, nor is a name that is in no list: Claude Code has tools that Cline has
	// not.
	Claude bool
}
