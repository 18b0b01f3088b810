// Package programs keeps copies of hookspan's programs in one folder of the user's
// data, which hooks start. Hooks so survive the removal of the folder from which
// hookspan was installed, and name the same path in every version.
//
// Programs are replaced while hooks run: each path always holds a whole program,
// the old one or the new one. On Windows, where a running program cannot be
// replaced, it is renamed first, and for an instant the path holds none. The next
// replacement removes what was renamed.
//
// During a replacement programs of two versions are side by side. What a hook
// program stores, a newer hookspan delivers, so that hook programs are replaced
// last. A replacement that was interrupted is recorded and is finished by the next.
//
// The package does not promise that two versions that replace each other alternately
// end with the newer one.
package programs
