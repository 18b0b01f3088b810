// Package rig runs the real command line programs of coding agents end to end
// and without a network: an agent works on a task against a scripted model, its
// hooks run whatever was installed, and what came out of all of it is handed
// back as one Result. Code for a single agent is in the packages that use this
// one.
//
// Every run has a separate network namespace in which only loopback exists.
// The process that calls Execute starts itself again inside that namespace (see
// Inner); there it brings loopback up, serves the model and the receivers of
// traces, and runs the steps of the Run. The file system is shared, so the
// caller reads the files of a run directly.
//
// The package promises that nothing a run starts outlives it, and that no step
// waits for time to pass where it can wait for an event. It works on Linux
// alone; elsewhere it compiles and Execute returns ErrNoNamespace.
package rig
