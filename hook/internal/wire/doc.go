// Package wire reads the bytes that agents write to their hooks, as far as the
// decoders of all agents need the same: it takes JSON apart without building
// values of all of it, reads single values leniently, and writes values in a
// form in which equal ones are equal texts.
//
// It promises that no bytes make it panic or overflow the stack, that it
// accepts the texts that encoding/json accepts, and that every text it gives
// out is valid UTF-8. It knows nothing of any agent's members or events.
package wire
