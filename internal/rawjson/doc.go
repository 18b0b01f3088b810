// Package rawjson reads JSON values as bytes, without building values of all of
// a text, and writes JSON that people can read.
//
// [Check] and [Open] examine a text as a whole: what they accept, encoding/json
// accepts, and the reverse, with the same limit of 10,000 levels. The other
// readers ([EachMember], [Members], [Elements], [Member] and the readers of
// single values) find where values end and do not examine what is inside them:
// that is fast where most of a text is of no interest, and enough for a value of
// a text that was checked. On a text that was not, they return values that may
// not be JSON.
//
// No bytes make the package panic or overflow the stack, and every text that it
// unquotes or encodes is valid UTF-8. Names match in their exact case, and of
// equal names in an object the last one counts, as in JavaScript. A nil slice is
// an absent value.
package rawjson
