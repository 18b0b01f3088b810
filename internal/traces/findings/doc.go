// Package findings finds in recorded tasks what cost time or tokens and could have been left out.
// Of is a pure function of a session's tasks, Read applies it to the store, one session at a time.
//
// Each finding is proved by spans, which it names. What is in doubt is none: a rule says what it
// needs to know, and where that was not recorded, or was cut, nothing is found. There are no
// scores and no estimates: a cost is that of the finding's own requests, or there is none.
package findings
