// Package importer builds traces from what an agent keeps in its own files
// about sessions of the past, and sends them to the destinations.
//
// Events, its pure part, turns a session's transcript into the events that
// hooks would have reported, so that otelmap makes the runs, with the same ids
// for the same files. Importer goes through sessions one at a time, leaves out
// the runs that are already known or not over yet, and sends the rest.
//
// It promises that a run is stored locally only after every other destination
// has answered for it, so that an import can be repeated until nothing is left,
// and that one session that cannot be read harms no other.
//
// It does not promise exactly once: a run that one destination took while
// another could not take it goes to both again in the next import, under the
// same ids; so does every run where there is no local store to ask. Moments are
// those of the files: a tool begins when the model had asked for it and ends
// when its result was written down, waiting for the user included.
package importer
