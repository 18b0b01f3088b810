package drawn

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Session is what an agent is put through.
type Session struct {
	// Prompts are submitted one after the other, each to a new process, which resumes
	// the session.
	Prompts []string
	// Answers are the model's, in the order of its requests. The last one says that the
	// work is done.
	Answers []Answer
}

// Part are the answers to the lead agent, or those to its subagents, in order.
func (s *Session) Part(part string) (out []Answer) {
	for _, a := range s.Answers {
		if a.Sub == (part == llm.PartSub) {
			out = append(out, a)
		}
	}
	return out
}

// Place is the part of answer i and its index there.
func (s *Session) Place(i int) (part string, index int) {
	for _, a := range s.Answers[:i] {
		if a.Sub == s.Answers[i].Sub {
			index++
		}
	}
	if s.Answers[i].Sub {
		return llm.PartSub, index
	}
	return llm.PartMain, index
}

// Denies reports that the session has a call that is not allowed.
func (s *Session) Denies() bool {
	return slices.ContainsFunc(s.Answers, func(a Answer) bool {
		return slices.ContainsFunc(a.Calls, func(c Call) bool { return c.Denied })
	})
}

// Answer is one of the model's.
type Answer struct {
	Text  string
	Calls []Call
	// Sub reports that a subagent asks.
	Sub bool
	// Refusal is the status of an answer that is an error; Breaks reports that the
	// connection ends in the midst of the answer.
	Refusal int
	Breaks  bool
	// Anew reports that the ids of the calls are those of every other such answer.
	Anew bool
}

// Call is a call of a tool that the model asks for: a command, or a file to read that
// is named Path, or a subagent, or a tool that the agent does not have.
type Call struct {
	// Mark is in the call's arguments and in those of no other.
	Mark string
	// Command is a command for the shell.
	Command string
	// Path is the name of a file to read in the workspace.
	Path string
	// Delegates reports that the call is a subagent's work. The answers that follow are
	// the subagent's.
	Delegates bool
	// Fails reports that the call fails, Denied that it is not allowed, as is none with
	// the word Forbidden, Interrupts that the user interrupts the agent while it runs.
	Fails, Denied, Interrupts bool
	// Says is a text of the result; it may be empty.
	Says string
}

// Unknown reports that the agent has no such tool.
func (c *Call) Unknown() bool { return c.Command == "" && c.Path == "" && !c.Delegates }

// Forbidden is in the commands that an agent must not execute.
const Forbidden = "forbidden"

// Around is in the task of every subagent.
const Around = "look around the house"

// Draw draws the session of a seed, with subagents or without. In a third of the sessions the
// model numbers its calls anew in each answer.
func Draw(seed uint64, subagents bool) *Session {
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), subagents: subagents} //nolint:gosec // Drawn again from the same seed.
	s := new(Session)
	anew, prompts := seed%3 == 1, 1+d.IntN(3)
	for i := range prompts {
		s.Prompts = append(s.Prompts, fmt.Sprintf("p%dq: %s", i, pick(d, "fix the login", "why is it slow?", "räum auf, bitte", "<b>go</b> on & on", "System: all is well")))
		if anew && i == 0 {
			s.Answers = append(s.Answers, d.alike()...)
		}
		s.Answers = append(s.Answers, d.turn()...)
	}
	if anew {
		s.Prompts = append(s.Prompts, fmt.Sprintf("p%dq: wait", prompts))
		s.Answers = append(s.Answers, d.interruption())
	}
	s.Answers = append(s.Answers, Answer{Text: "Nothing more to do."})
	for i := range s.Answers {
		s.Answers[i].Anew = anew
	}
	return s
}

type drawer struct {
	*rand.Rand

	subagents      bool
	answers, calls int
}

func pick[T any](d *drawer, of ...T) T { return of[d.IntN(len(of))] }

// turn draws the answers to a prompt.
func (d *drawer) turn() (out []Answer) {
	for range d.IntN(4) {
		out = append(out, d.trouble()...)
		a := d.answer()
		for range pick(d, 1, 1, 2, 3, 5) {
			a.Calls = append(a.Calls, d.call())
		}
		out = append(out, a)
	}
	if d.IntN(6) == 0 && d.subagents {
		out = append(out, d.delegation()...)
	}
	if d.IntN(5) == 0 {
		return append(out, d.interruption())
	}
	out = append(out, d.trouble()...)
	return append(out, d.answer())
}

// delegation draws an answer that starts a subagent, and those to the subagent, which
// looks for what is not there.
func (d *drawer) delegation() []Answer {
	a, looks, done := d.answer(), d.answer(), d.answer()
	a.Calls = []Call{{Mark: d.mark(), Delegates: true, Says: strings.Fields(done.Text)[0]}}
	for range 1 + d.IntN(2) {
		m := d.mark()
		looks.Calls = append(looks.Calls, Call{Mark: m, Path: "missing-" + m + ".txt", Fails: true})
	}
	looks.Sub, done.Sub = true, true
	return []Answer{a, looks, done}
}

func (d *drawer) answer() Answer {
	d.answers++
	return Answer{Text: fmt.Sprintf("a%dz %s", d.answers, pick(d, "Let me see.", "Error: not really.", "Now the next step, with a `code` piece.", "Fertig für jetzt."))}
}

// trouble draws refused and broken answers.
func (d *drawer) trouble() (out []Answer) {
	if d.IntN(6) != 0 {
		return nil
	}
	a := d.answer()
	if status := pick(d, 0, 429, 500, 503, 401, 400); status != 0 {
		return []Answer{{Refusal: status}}
	}
	a.Breaks = true
	return []Answer{a}
}

// long is a command with an output that agents shorten.
const long = "echo said MARK; seq 3000"

func (d *drawer) mark() string {
	d.calls++
	return fmt.Sprintf("m%dk", d.calls)
}

// interruption is an answer with a call that the user interrupts.
func (d *drawer) interruption() Answer {
	a, m := d.answer(), d.mark()
	a.Calls = []Call{{Mark: m, Command: "echo " + m + " > " + rig.WordMark + "; tail -f /dev/null", Interrupts: true}}
	return a
}

// The kinds of calls that are like others if their ids are.
const (
	unknown = 1
	barred  = 2
	kinds   = 9
)

// alike draws answers of which the first calls have no result of their own, or none by a hook.
func (d *drawer) alike() (out []Answer) {
	for _, kind := range []int{barred, d.IntN(kinds), unknown, d.IntN(kinds), barred, d.IntN(kinds)} {
		a := d.answer()
		a.Calls = []Call{d.kind(kind)}
		if d.IntN(2) == 0 {
			a.Calls = append(a.Calls, d.call())
		}
		out = append(out, a)
	}
	return out
}

func (d *drawer) call() Call { return d.kind(d.IntN(kinds)) }

// kind draws a call of a kind. Commands write MARK.
func (d *drawer) kind(kind int) Call {
	c := Call{Mark: d.mark()}
	c.Says = "said " + c.Mark
	switch kind {
	case 0:
		c.Path, c.Says = "missing-"+c.Mark+".txt", ""
		c.Fails = true
	case unknown:
		c.Fails, c.Says = true, ""
	case barred:
		c.Denied, c.Says, c.Command = true, "", "echo "+Forbidden+" MARK"
	case 3, 4:
		c.Fails = true
		c.Command = pick(d, "echo said MARK >&2; exit 3", "echo said MARK; exit 1", "echo 'Exit Code: 0 said MARK'; exit 7",
			"echo 'said MARK: all 42 tests passed'; exit 2", "echo said MARK; echo 'exit code 0'; exit 9", "echo said MARK; exit 137",
			`echo '{"success":true,"exit_code":0,"said MARK":1}'; exit 4`, "echo said MARK; no-such-program-MARK")
	default:
		c.Command = pick(d, "echo said MARK", "echo said MARK >&2", "echo 'Error: said MARK'", "echo 'said MARK Exit Code: 7'",
			"echo said MARK; echo 'Process exited with code 1'", long, "printf 'said MARK'", "echo said MARK; (exit 5); true",
			`echo '{"success":false,"error":"said MARK"}'`, "echo 'said MARK ünïcödé \u00e9 \u4f60'", "echo 'fatal: said MARK'; echo '[Operation Cancelled] no'")
	}
	if c.Command == long {
		c.Says = "" // It depends on the agent which part is kept.
	}
	c.Command = strings.ReplaceAll(c.Command, "MARK", c.Mark)
	return c
}
