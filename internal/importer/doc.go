// Package importer builds traces from what an agent keeps in its own files about
// past sessions, and sends them to the destinations.
//
// transcript.Reader turns a session's transcript into the events that hooks would
// have reported, so that otelmap makes the runs, with the same ids for the same
// files. Importer reads sessions in parallel, leaves out the runs that are already
// known or have not ended, and sends the rest in the order of the sessions. The
// local store gets them in batches, then the other destinations. A session whose files have
// not changed since an import that stored all of it is not read.
//
// It promises that no destination keeps a run from another: the local store notes with each
// trace, in one transaction, which destinations are owed it, until they have answered, and
// the next import, flush or sweep sends it. What is rejected for itself is answered; where
// the sender is rejected, the trace stays owed. A session that cannot be read does not affect
// another.
//
// It does not promise exactly once: what was sent and whose answer was not noted, at most a
// batch, goes out again after a kill, under the same ids; without a local store each import
// sends every run. Times are those of the
// files: a tool begins when the model has asked for it and ends when its result
// was written down, waiting for the user included.
package importer
