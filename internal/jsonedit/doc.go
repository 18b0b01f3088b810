// Package jsonedit edits JSON texts that people write, such as settings files,
// and keeps every other byte: order, layout, duplicate keys and the spelling of
// numbers and strings.
//
// [Parse] finds the place of every value in a text. [DetectStyle] finds how the
// text is laid out, and the methods of [Style] write new values in that layout.
// Each edit returns a new text and leaves the old one unchanged; nodes belong to
// the text they were parsed from.
//
// It promises that taking out with [Cut] what was added last by AddMember or
// AddElement gives the former text back, byte by byte, unless the container was
// empty. A text may begin with a byte order mark, which stays. Of equal keys the
// last one counts, as in JavaScript.
//
// It reads what encoding/json reads: no comments, unless asked to, no trailing commas, and at
// most 10,000 levels. It is not meant for texts too large to hold in memory
// several times over.
package jsonedit
