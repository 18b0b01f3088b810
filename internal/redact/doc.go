// Package redact removes secrets from texts: keys and tokens of well-known
// forms, private keys, passwords in URLs, credentials in headers, cookies and
// command lines, and values beside a name such as password or API_KEY.
//
// The package promises:
//   - a found secret is replaced as a whole by [REDACTED:rule-name], wherever it
//     is: in plain text, in JSON, in JSON inside JSON, in shell text;
//   - a private key is found behind the words PRIVATE KEY whatever is before and
//     behind its lines: line numbers, the signs of a diff, colours, a log's prefix;
//   - Preview and Tail leave no head of a secret behind that is longer than a
//     few characters, wherever the text was cut;
//   - redacting twice changes nothing more, and the result is valid UTF-8;
//   - texts without secrets come back as they are;
//   - the cost grows in proportion to the text, whatever it holds.
//
// It does not promise to find a secret that looks like ordinary text and has
// no telling name beside it, one that is encoded or split, the rest of a secret
// whose beginning is missing, or the beginning of one that only its middle or
// its end gives away. Source code must stay readable, so a value beside a
// telling name is only removed if it looks random, or if its surroundings say
// that it is data and it is more than a word.
//
// Where a form belongs:
//   - a key with a fixed beginning: a line of prefixes.txt; one that needs more than a beginning:
//     rules.go and services.go; private keys: pem.go; the words of a wallet: mnemonic.go
//   - words that tell, words that do not, names of calls, fields and vendors: words.txt
//   - a name and its value: a telling word in names.go; the sign, type or line break between them
//     in assign.go (behindName, signBetween, behindSign); both in one clause of a sentence in prose.go;
//     a value in another line, list or member in nearby.go, in a table's column in tables.go
//   - whether the value is a secret: a property or a reason in the tables of judge.go, by what
//     values.go counts. noValues and noWholeValues say what is no value, passwordReasons,
//     tokenReasons and keyReasons decide by the name's kind, blankReasons where only a blank is
//     between name and value
//   - a command: a line of commands.go, or piped.go for what it reads and prints; a call: calls.go, what is typed into a field too
//   - headers and URLs: headers.go, addresses.go; base64: encoded.go; other context: context.go
//   - what was removed once and comes again: memory.go
//
// One pass over a text looks for what the rules' secrets begin with; an expression is
// compiled, and tried, only where its beginning fits. A text in which Tail, Preview or
// Spans changed nothing is remembered and not scanned again, as scanning it again
// would change nothing either. What is cut from such a text, or joined, is another
// text.
//
// Every result is a function of the arguments. Only delivery links this
// package; hook processes do not.
package redact
