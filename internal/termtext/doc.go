// Package termtext prepares texts of unknown origin for terminals and cuts texts
// to a limit. It is pure.
//
// The package promises that what Value, Line, Lines and Screen return cannot
// steer a terminal: it holds no control character, no bidirectional override or
// other invisible format character, and is valid UTF-8. The two joiners that
// scripts and emoji need are kept. It does not promise that two different texts
// look different.
package termtext
