// Package redact removes secrets from texts: keys and tokens of well-known
// forms, private keys, passwords in URLs, credentials in headers, and values
// that are assigned to a name such as password or API_KEY.
//
// The package promises:
//   - a found secret is replaced as a whole by [REDACTED:rule-name], wherever it
//     stands: in plain text, in JSON, in JSON inside JSON, in shell text;
//   - Preview and Tail leave no head of a secret behind that is longer than a
//     few characters, wherever the text was cut;
//   - redacting twice changes nothing more, and the result is valid UTF-8;
//   - texts without secrets come back as they are.
//
// It does not promise to find a secret that looks like ordinary text and has
// no telling name beside it, one that is encoded or split, the rest of a secret
// whose beginning is missing, or the beginning of one that only its middle or
// its end gives away. Source code must stay readable, so a
// value beside a telling name is only removed if it looks random.
//
// Everything here is a function of its arguments. Only delivery links this
// package; hook processes do not.
package redact
