// Package sample makes the payloads that Cline would send, so that people can
// try their hooks without Cline. A payload is one that was recorded with Cline,
// with the tool, its parameters, the texts, the times and the folder replaced.
package sample
