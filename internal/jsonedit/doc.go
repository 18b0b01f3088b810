// Package jsonedit edits JSON texts that people write, such as settings files,
// and leaves them as they are but for what is asked: order, layout, doubled keys
// and the spelling of numbers and strings stay.
//
// [Parse] finds where every value of a text stands. [DetectStyle] finds how the
// text is laid out, and the methods of [Style] write new values in that layout.
// Each edit gives a new text and leaves the old one alone; the nodes of the old
// text say nothing about the new one, which must be parsed again.
//
// It promises that taking out with [Cut] what was added last by AddMember or
// AddElement gives the former text back, byte by byte, unless the container was
// empty. A text may begin with a byte order mark, which stays. Of equal keys the
// last one counts, as in JavaScript.
//
// It reads what encoding/json reads: no comments, no trailing commas, and at
// most 10,000 levels. It is not meant for texts too large to hold in memory
// several times over.
package jsonedit
