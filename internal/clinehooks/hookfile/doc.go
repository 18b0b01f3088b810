// Package hookfile is the file in which people configure Claude-format hooks:
// hooks.json in Claude Code's settings format. It reads it, says with line and
// column what in it will not work, edits it without touching anything else, and
// keeps the list of project files that the user trusts.
//
// [Parse] promises that a fault costs only the value that has it: a broken handler
// leaves its neighbours alone, a broken group the other groups. Only a file that is
// no JSON object is an error. Everything that is left out is a [Problem]. Keys of
// other programs are ignored, so a settings.json of Claude Code can be parsed. The
// time is linear in the size of the file.
//
// [Add] and [Remove] promise that the rest of the text stays as it is, byte by
// byte, and that what they write can be read again.
//
// [Trust] promises that a project's file runs only as long as it has the bytes
// that the user has seen. It does not promise that what the file starts has not
// changed, nor that of two additions at the same moment both are kept; the one
// that is lost is not trusted.
//
// The package does not look at matchers and permission rules, which is the
// runner's work, and starts nothing.
package hookfile
