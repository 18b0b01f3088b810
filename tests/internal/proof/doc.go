// Package proof runs tables of attempts to break a promise and writes what came
// of them.
//
// A Row is one way to break something: it makes a number of trials and says of
// each what was wrong. `go test` runs each row with its short number, `-soak`
// with its long one. `-publish` saves the table in dist/results and, of all rows,
// writes the sums between two marks in a Markdown file, so that no figure there is
// typed by hand:
//
//	go -C tests test ./fault -soak -publish
//	go -C tests test ./fault -soak -publish -row SIGKILL
//
// Rows that were left out keep their lines.
//
// It promises that a row that could not run says why, in the test's output and in
// the table, and that a row that makes fewer trials than it is meant to fails.
package proof
