// Package hookfile is the file in which people configure Claude-format hooks:
// hooks.json in Claude Code's settings format. It reads it, says with line and
// column what in it will not work, edits it without touching anything else, and
// keeps the list of project files that the user trusts.
//
// [Parse] promises that a fault costs no more than what it stands in: a broken
// handler leaves its neighbours alone, a broken group the other groups. Only a
// file that is no JSON object at all is an error. Nothing that was left out is
// left out silently: each such place is a [Problem]. What concerns other programs
// is not looked at, so that a whole settings.json of Claude Code can be given. The
// time it takes grows with the size of the file and no faster.
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
