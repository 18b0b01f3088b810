// Command cline-hook is what Cline starts for each of its events:
//
//	cline-hook EVENT < payload
//
// It stores the payload in the spool, answers on standard output and leaves.
// Without EVENT the name is taken from the payload.
package main

import (
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/hookproc"
	"github.com/hookspan/hookspan/internal/hookproc/answer"
)

func main() {
	hookproc.Main(hookproc.Agent{Name: cline.Host, Peek: cline.Peek, Reply: cline.EncodeReply, Answers: answer.Cline().Answers})
}
