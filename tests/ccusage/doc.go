// Package ccusage compares hookspan's sums of tokens and cost with those of ccusage, a
// widely used program from npm, over the same files of Claude Code.
package ccusage
