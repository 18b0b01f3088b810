// Package security_test attacks the programs as the threat model in SECURITY.md
// describes: with hostile payloads, project files, servers, users and web pages,
// and with secrets that must not get out. Each attempt is a row of the table in
// docs/results/security.md, which `make soak` writes anew.
package security_test
