// Package claudecli drives the real Claude Code command line program from npm,
// end to end and without a network. It is what tests/internal/rig leaves open:
// the program, its home folder, its hooks and what is compared with the model's
// own log. What that package promises holds here.
package claudecli
