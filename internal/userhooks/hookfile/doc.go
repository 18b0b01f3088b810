// Package hookfile reads and edits hooks.json, the file in which users configure
// Claude-format hooks in the format of Claude Code's settings. It reports, with
// line and column, what in the file will not work. It also keeps the list of the
// project files that the user trusts.
//
// [Parse] promises that a fault costs only the value that has it: a broken handler
// does not affect its neighbours, nor a broken group the other groups. Only a file
// that is not a JSON object is an error. Everything that is not used is a
// [Problem]. Keys of other programs are ignored, so a settings.json of Claude Code
// can be parsed. The time is linear in the size of the file.
//
// [Add] and [Remove] promise that the rest of the text stays the same, byte by
// byte, and that the result can be read again.
//
// [Trust] promises that a project's file runs only as long as it has the bytes
// that the user has seen. It does not promise that the programs that the file
// starts have not changed. Of two simultaneous additions one may be lost; that file
// is then not trusted.
//
// The package does not check matchers and permission rules, which is the runner's
// work, and starts nothing.
package hookfile
