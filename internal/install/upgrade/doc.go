// Package upgrade asks a server for the newest release of hookspan. It makes one
// request for each call, and does nothing by itself.
//
// It does not download or replace programs: what installed them does that.
package upgrade
