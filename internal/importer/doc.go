// Package importer builds traces from what an agent keeps in its own files about
// past sessions, and sends them to the destinations.
//
// transcript.Reader turns a session's transcript into the events that hooks would
// have reported, so that otelmap makes the runs, with the same ids for the same
// files. Importer reads sessions in parallel, leaves out the runs that are already
// known or have not ended, and sends the rest in the order of the sessions. The
// local store gets them in batches. A session whose files have not changed since
// an import that left nothing over is not read.
//
// It promises that a run is stored locally only after every other destination
// has answered for it, so that an import can be repeated until nothing is left,
// and that a session that cannot be read does not affect another.
//
// It does not promise exactly once: a run that one destination took while
// another could not take it goes to both again in the next import, under the
// same ids; so does every run without a local store. Times are those of the
// files: a tool begins when the model has asked for it and ends when its result
// was written down, waiting for the user included.
package importer
