// Package atomicfile replaces files. A reader sees the old content or the new
// one, never a part, whatever happens to the writing process.
//
// The new content is written to a temporary file in the same folder, which is
// then renamed. The temporary file's name begins with ".hookspan-" and ends in
// ".tmp"; after an error it is removed, after a crash it stays until RemoveTemps
// is called.
//
// The package promises:
//   - The file has exactly the mode asked for, whatever the umask is.
//   - With SyncFile, which is the default, and SyncName, the content is on disk
//     before the file gets its name: after a power cut too there is the old
//     content or the new one.
//
// It does not promise:
//   - To follow a symbolic link. The link itself is replaced; callers that want
//     its target resolve it first.
//   - To keep the owner, the mode or the access list of the file it replaces.
//   - To keep two writers apart. The last one wins; see internal/files/filelock.
package atomicfile
