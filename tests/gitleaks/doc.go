// Package gitleaks is a second opinion on what is a secret: the rules of
// gitleaks v8.30.1, written by others for other eyes. Tests make secrets that a
// rule finds, redact them, and ask all rules whether anything is left.
//
// gitleaks.toml is gitleaks' own file, unchanged, under the MIT licence that lies
// beside it. The module itself is not used: with what it depends on it takes more
// than 400 MB, and what its rules mean is a few lines here. Left out of that are
// decoding (base64 within texts) and what concerns files' paths.
package gitleaks
