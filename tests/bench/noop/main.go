// Command noop does nothing: it is the least a Go program can cost, against
// which the hook is measured.
package main

func main() {}
