// Package config holds every setting of hookspan: one struct, filled from the
// process environment and from one env file.
//
// The package promises that Load always returns a usable Config: a wrong value
// is replaced by its default and reported in the error; if the default could send
// more than the user wants, by the strictest value instead. A destination whose
// address or protocol is wrong is left out of [Config.Destinations]. Secrets appear
// neither in problems nor in [Config.Settings].
//
// Precedence, for each variable by itself: process environment, env file,
// default. A variable with an empty value counts as not set, as the
// OpenTelemetry specification asks. The env file is
// $XDG_CONFIG_HOME/hookspan/hookspan.env, or the file HOOKSPAN_CONFIG_FILE
// names; it holds NAME=value lines, and a value with a # in it needs quotes. Below it is
// the machine-wide file of the administrator; with HOOKSPAN_MANAGED=true in it, the
// others can only tighten what it sets.
//
// Not only the user sets the environment. So each value has a side: the user's (env file,
// keyring, defaults), the administrator's (machine-wide file) or the environment's, which
// includes a file that HOOKSPAN_CONFIG_FILE names. A credential goes only to an address of
// its own side, and a user's also to the administrator's; else the destination is off, see
// [Config.Refused]. The environment may keep or show less of the texts than the env file
// allows, never more.
//
// Not promised: that a named path exists or that an endpoint answers. Nothing
// here touches files or network; the file is read through [Input].ReadFile.
// Hook processes link this package, so it must stay free of net/http.
//
// # What the library does, and why it cannot do more
//
// caarlos0/env fills the struct from one text per variable: types, lists, texts that parse
// themselves, the pairs of an endpoint's prefix. It reads one environment at a time, and by
// reflection, which is most of what loading costs a hook. Here each variable has up to four
// values, of which each is checked whether it counts or not, as a side's credential depends
// on its own address and a wrong value on what it would have hidden. What stays ours:
//
//	config.go       the order of the sources; the table, which tags would have each hook scan again
//	check.go        whether a text is valid, before it is a type: the library's errors quote it, secrets too
//	problem.go      one line per fault with place and remedy, secrets and parts of addresses masked
//	envfile.go      go-envparse reads lines; UTF-16, line numbers and names that are nearly right are ours
//	sides.go        whose value it is: which credential goes to which address, what the environment may loosen
//	machine.go      the administrator's file, which holds; the library knows no second source
//	otlp.go         the specification's rules for addresses, headers and attributes; the SDK's code for them links net/http
//	protected.go    which files must be readable before anything is delivered
//	terms.go        the settings that travel with an event, and their form in the log
//	fingerprint.go  where a process sends its runs, without credentials
//	account.go      whose account a credential is of
//	paths.go        folders by the XDG specification, for any system, as tests ask for Windows' on Linux
//	settings.go     what `hookspan config` shows: source, value and text of each variable
//	table.go        what a row of the table says beside the variable's type: group, bounds, default, strict value, text
package config
