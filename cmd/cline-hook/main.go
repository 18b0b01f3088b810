// Command cline-hook is what Cline starts for each of its events:
//
//	cline-hook EVENT < payload
//
// It stores the payload in the spool, answers on standard output and leaves.
// Without EVENT the name is taken from the payload.
package main

import (
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/record/answer"
)

func main() {
	record.Main(answer.ClineHook())
}
