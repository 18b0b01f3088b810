// Package ccusage compares hookspan's sums of tokens and cost with those of ccusage, a
// widely used program from npm, over the same files of Claude Code: the recorded sessions,
// and small ones in the forms that versions have had. It says which of them ccusage reads
// otherwise, and why.
package ccusage
