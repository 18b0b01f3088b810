// Package security_test attacks the programs as the threat model in SECURITY.md
// describes: with hostile payloads, project files, servers, users and web pages,
// and with secrets that must not get out. Each attempt is a row of a table
// that `make soak` writes into dist/results; docs/results/security.md has its sums.
package security_test
