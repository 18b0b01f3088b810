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
package config
