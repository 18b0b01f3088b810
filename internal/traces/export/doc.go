// Package export writes stored traces for other programs and for people: as an
// OTLP/JSON document, as Markdown, or as one HTML file to share.
//
// It promises:
//   - Everything is redacted once more, by the rules of this moment.
//   - No text of a trace can become part of the document's structure: a fence, a tag
//     or an attribute. No character moves a terminal's cursor or reorders text.
//   - The HTML file needs nothing else: no script, font, image or address.
//   - The same traces give the same bytes.
//
// Traces are written one after the other, so that memory holds only one of them.
// Texts are as long as they are in the store, which usually has previews.
package export
