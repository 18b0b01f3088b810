// Package ui serves the page on which people look at traces: a static shell and a
// JSON API over internal/traces/store and internal/traces/view, for one browser on this machine.
//
// It promises:
//   - A request without the token reads nothing: the shell carries no data, and each
//     call of the API needs the token in a header. There are no cookies.
//   - With a host name of NewHost no other server can have left a page, a service worker
//     or a cache in its origin, and the files are in a folder of this start.
//   - A request is refused if its Host is not that name with the port that Serve listens
//     on, if it has another page's Origin, or if the browser says that another site sent it.
//   - No text of a trace becomes markup: answers are JSON, the page makes text nodes
//     of them, and its policy forbids scripts, styles and connections elsewhere.
//     Characters that reorder or hide text are shown as their numbers.
//   - It reads only, but for Options.Edit, of which each change needs a code that no
//     request returns.
//   - Without an open page it does nothing.
//
// It does not protect from programs that run as the same user: they can read the
// store itself.
package ui
