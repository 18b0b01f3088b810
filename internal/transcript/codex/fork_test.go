package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// forkBegin is when the first of the sessions begins.
var forkBegin = time.Date(2025, 11, 6, 10, 0, 0, 0, time.UTC)

// forked has the files of sessions by the letter in which their id ends.
type forked struct {
	t *testing.T
	f *transcript.Files
	// born are when the threads began, in seconds.
	born map[byte]int
}

func threadOf(letter byte) string { return "019b0000-0000-7000-8000-00000000000" + string(letter) }

func (f *forked) meta(seconds int, letter byte, more string) string {
	born := forkBegin.Add(time.Duration(f.born[letter]) * time.Second).Format(time.RFC3339)
	return fmt.Sprintf(`%d|session_meta|{"id":%q,"timestamp":%q,"cli_version":"0.140.0","cwd":"/w"%s}`, seconds, threadOf(letter), born, more)
}

// turns are turns of one letter each, in capitals if they have no task events: a turn
// begins after as many seconds as its place in the alphabet, and counts as many tokens. If
// copied is not zero, all rows have that time.
func turns(copied int, names string) (rows []string) {
	for _, name := range names {
		began := int(name|0x20) - 'a' + 1
		at := func(n int) string {
			if copied != 0 {
				return fmt.Sprint(copied)
			}
			return fmt.Sprintf("%d.%d", began, n)
		}
		numbered := name >= 'a'
		if numbered {
			rows = append(rows, fmt.Sprintf(`%s|event_msg|{"type":"task_started","turn_id":"turn-%c","started_at":%d}`, at(0), name, forkBegin.Unix()+int64(began)))
		}
		rows = append(
			rows, typed(at(1), string(name)), called(at(2), "call-"+string(name), "exec_command", `{"cmd":"ls"}`), output(at(3), "call-"+string(name), "Process exited with code 0"),
			answer(at(4), "answer "+string(name)), counted(at(5), began, 1000+began),
		)
		if numbered {
			rows = append(rows, fmt.Sprintf(`%s|event_msg|{"type":"task_complete","turn_id":"turn-%c","last_agent_message":"answer %c","completed_at":%d}`, at(6), name, name, forkBegin.Unix()+int64(began)))
		}
	}
	return rows
}

func (f *forked) place(letter byte, rows ...[]string) {
	place(f.t, f.f, nameOf(threadOf(letter)), rowsOf(slices.Concat(rows...)...))
}

// told has, for each session in the order of the list, the prompts with the tokens and the
// calls of all.
func (f *forked) told() (out []string) {
	list, err := f.f.Sessions(f.t.Context(), Agent)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, s := range list {
		tr := readSession(f.t, f.f, s.ID)
		var prompts, calls []string
		var tokens int64
		for _, p := range tr.Prompts {
			prompts = append(prompts, p.Text)
			if at := forkBegin.Add(time.Duration((p.Text[0]|0x20)-'a'+1) * time.Second); p.Text[0] >= 'a' && (p.At.Before(at) || p.At.Sub(at) > time.Second) {
				f.t.Errorf("session %s: the prompt %s has the time %v", s.ID, p.Text, p.At)
			}
		}
		for _, c := range tr.Requests {
			tokens += c.Usage.Input
		}
		for _, r := range tr.ToolResults {
			calls = append(calls, strings.TrimPrefix(r.ID, "call-"))
		}
		ends := 0
		for e := range Agent.Events("codex", tr) {
			if e.Kind == hook.KindRunComplete && e.Agent == "" {
				ends++
			}
		}
		if ends != len(prompts) {
			f.t.Errorf("session %s: %d prompts, %d ends", s.ID, len(prompts), ends)
		}
		out = append(out, fmt.Sprintf("%s: %s %d %s", s.ID[len(s.ID)-1:], strings.Join(prompts, ""), tokens, strings.Join(calls, "")))
	}
	slices.Sort(out)
	return out
}

// TestCopiedTurnsCountOnce has sessions that were forked from others, of which a file may be
// gone. A turn is of the thread that was the newest when it began, or else of the oldest
// that has a copy.
func TestCopiedTurnsCountOnce(t *testing.T) {
	born := map[byte]int{'1': 0, '2': 3, '3': 6, '4': 7}
	for name, tt := range map[string]struct{ there, want string }{
		"all":                     {"1234", "1: ab 3 ab,2: de 9 de,3: h 8 h,4: i 9 i"},
		"without the first":       {"234", "2: abde 12 abde,3: h 8 h,4: i 9 i"},
		"without the second":      {"134", "1: ab 3 ab,3: deh 17 deh,4: i 9 i"},
		"the last alone":          {"4", "4: abdei 21 abdei"},
		"two forks, nothing else": {"34", "3: abdeh 20 abdeh,4: i 9 i"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &forked{t, finder(t, ""), born}
			for letter, rows := range map[byte][]string{
				'1': slices.Concat([]string{f.meta(0, '1', "")}, turns(0, "ab")),
				'2': slices.Concat([]string{f.meta(3, '2', ""), f.meta(3, '1', "")}, turns(3, "ab"), turns(0, "de")),
				'3': slices.Concat([]string{f.meta(6, '3', ""), f.meta(6, '2', ""), f.meta(6, '1', "")}, turns(6, "abde"), []string{counted("7", 5, 1005)}, turns(0, "h")),
				'4': slices.Concat([]string{f.meta(7, '4', ""), f.meta(7, '2', ""), f.meta(7, '1', "")}, turns(7, "abde"), turns(0, "i")),
			} {
				if strings.Contains(tt.there, string(letter)) {
					f.place(letter, rows)
				}
			}
			if diff := cmp.Diff(strings.Split(tt.want, ","), f.told()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTurnThatOnlyALaterForkHas has two forks of a session that is gone, the first of which
// left out its last turn.
func TestTurnThatOnlyALaterForkHas(t *testing.T) {
	f := &forked{t, finder(t, ""), map[byte]int{'1': 0, '2': 6, '3': 7}}
	f.place('2', []string{f.meta(6, '2', ""), f.meta(6, '1', "")}, turns(6, "a"), turns(0, "h"))
	f.place('3', []string{f.meta(7, '3', ""), f.meta(7, '1', "")}, turns(7, "ab"), turns(0, "i"))
	if diff := cmp.Diff([]string{"2: ah 9 ah", "3: bi 11 bi"}, f.told()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestForkWithoutTaskEvents has a fork by a version without them.
func TestForkWithoutTaskEvents(t *testing.T) {
	f := &forked{t, finder(t, ""), map[byte]int{'1': 0, '2': 3}}
	f.place('1', []string{f.meta(0, '1', "")}, turns(0, "AB"))
	f.place('2', []string{f.meta(3, '2', ""), f.meta(3, '1', "")}, turns(3, "AB"), turns(0, "D"))
	if diff := cmp.Diff([]string{"1: AB 3 AB", "2: D 4 D"}, f.told()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.Remove(filepath.Join(f.f.Home, ".codex", filepath.FromSlash(nameOf(threadOf('1'))))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2: ABD 7 ABD"}, f.told()); diff != "" {
		t.Errorf("without the original (-want +got):\n%s", diff)
	}
}

// TestSubagentWithACopyOfTheSession has a subagent of a version that names it in the result of
// the call alone, with a copy of the turn that started it.
func TestSubagentWithACopyOfTheSession(t *testing.T) {
	f := &forked{t, finder(t, ""), map[byte]int{'1': 0, '2': 1}}
	begin := []string{f.meta(0, '1', ""), `1|event_msg|{"type":"task_started","turn_id":"t","started_at":` + fmt.Sprint(forkBegin.Unix()+1) + `}`, typed("1", "a")}
	spawn := called("1.5", "call-s", "spawn_agent", `{"message":"look"}`)
	f.place('1', begin, []string{
		spawn, counted("1.6", 10, 10), output("1.9", "call-s", `{"agent_id":"`+threadOf('2')+`","nickname":"Harvey"}`), answer("5", "seen"), counted("5", 20, 30),
		`6|event_msg|{"type":"task_complete","turn_id":"t","last_agent_message":"seen"}`,
	})
	f.place('2', []string{
		f.meta(1, '2', `,"source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+threadOf('1')+`","depth":1}}}`), f.meta(1, '1', ""),
		strings.Replace(begin[1], "1|", "1|", 1), typed("1", "a"), strings.Replace(spawn, "1.5|", "1|", 1), counted("1", 10, 10),
		`1.01|event_msg|{"type":"task_started","turn_id":"u","started_at":` + fmt.Sprint(forkBegin.Unix()+1) + `}`, called("2", "call-x", "exec_command", `{"cmd":"ls"}`),
		counted("2", 3, 13), output("2.5", "call-x", "Process exited with code 0"), answer("3", "found"), counted("3", 4, 17),
		`3|event_msg|{"type":"task_complete","turn_id":"u","last_agent_message":"found"}`,
	})
	list, err := f.f.Sessions(t.Context(), Agent)
	if err != nil || len(list) != 1 || list[0].ID != threadOf('1') {
		t.Fatalf("sessions %+v, %v", list, err)
	}
	tr := readSession(t, f.f, threadOf('1'))
	var got []string
	for _, c := range tr.Requests {
		got = append(got, fmt.Sprint(c.Agent != "", c.Usage.Input))
	}
	for _, r := range tr.ToolResults {
		got = append(got, fmt.Sprintf("%v %s", r.Agent != "", r.ID))
	}
	for _, a := range tr.Agents {
		got = append(got, a.CallID+" "+a.Task+" "+a.Result)
	}
	want := []string{"false 10", "true 3", "true 4", "false 20", "false call-s", "true call-x", "call-s look found"}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// A subagent that its session does not name is of the turn in which it began.
	f.place('1', begin, []string{counted("1.6", 10, 10), answer("5", "seen"), `6|event_msg|{"type":"task_complete","turn_id":"t","last_agent_message":"seen"}`})
	if list, err = f.f.Sessions(t.Context(), Agent); err != nil || len(list) != 1 {
		t.Fatalf("not named: %+v, %v", list, err)
	}
	if tr := readSession(t, f.f, threadOf('1')); len(tr.Agents) != 1 || tr.Agents[0].Turn != "t" || len(tr.Requests) != 3 {
		t.Errorf("with a subagent that is not named: agents %+v, requests %+v", tr.Agents, tr.Requests)
	}
	// A subagent of a session that is gone counts.
	if err := os.Remove(tr.Sources[0]); err != nil {
		t.Fatal(err)
	}
	if list, err = f.f.Sessions(t.Context(), Agent); err != nil || len(list) != 1 || list[0].ID != threadOf('2') {
		t.Fatalf("without its session: %+v, %v", list, err)
	}
}

// TestOriginOfAFork names the session and the last turn that was copied.
func TestOriginOfAFork(t *testing.T) {
	f := &forked{t, finder(t, ""), map[byte]int{'1': 0, '2': 3}}
	f.place('1', []string{f.meta(0, '1', "")}, turns(0, "ab"))
	f.place('2', []string{f.meta(3, '2', `,"forked_from_id":"`+threadOf('1')+`"`), f.meta(3, '1', "")}, turns(3, "ab"), turns(0, "d"))
	for letter, want := range map[byte]string{'1': " ", '2': threadOf('1') + " turn-b"} {
		origin, turn, err := f.f.Origin(t.Context(), Agent, transcript.Query{Session: threadOf(letter)})
		if got := origin + " " + turn; err != nil || got != want {
			t.Errorf("session %c: %q, %v, want %q", letter, got, err, want)
		}
		if tr := readSession(t, f.f, threadOf(letter)); tr.Origin+" "+tr.OriginTurn != want {
			t.Errorf("session %c: an import has %q %q, want %q", letter, tr.Origin, tr.OriginTurn, want)
		}
	}
}

// TestAgentsOfAgentsThatNoRowNames has a subagent's subagent, and one that names its session.
func TestAgentsOfAgentsThatNoRowNames(t *testing.T) {
	f := &forked{t, finder(t, ""), map[byte]int{'1': 0, '2': 2, '3': 3, '4': 9}}
	spawned := func(by byte, more string) string {
		return `,"source":{"subagent":{"thread_spawn":{"parent_thread_id":"` + threadOf(by) + `"}}}` + more
	}
	f.place('1', []string{f.meta(0, '1', "")}, turns(0, "ag"))
	f.place('2', []string{f.meta(2, '2', spawned('1', ""))}, turns(0, "b"))
	f.place('3', []string{f.meta(3, '3', spawned('2', ""))}, turns(0, "c"))
	f.place('4', []string{f.meta(9, '4', spawned('3', `,"session_id":"`+threadOf('1')+`"`))}, turns(0, "i"))
	list, err := f.f.Sessions(t.Context(), Agent)
	if err != nil || len(list) != 1 {
		t.Fatalf("sessions %+v, %v", list, err)
	}
	var got []string
	for _, a := range readSession(t, f.f, threadOf('1')).Agents {
		got = append(got, fmt.Sprintf("%c in %s", a.ID[len(a.ID)-1], a.Turn))
	}
	if want := []string{"2 in turn-a", "3 in turn-a", "4 in turn-g"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestForksOfADeletedSessionAreReadOnce has forks that copy a session which is gone, with a
// limit that one file and a little more fit in.
func TestForksOfADeletedSessionAreReadOnce(t *testing.T) {
	f := &forked{t, finder(t, ""), map[byte]int{'0': 0}}
	const letters = "123456789"
	var long []string
	for range 100 {
		long = append(long, answer("40", strings.Repeat("x", 1000)))
	}
	for i := range letters {
		f.born[letters[i]] = 40 + i
		f.place(letters[i], []string{f.meta(40+i, letters[i], ""), f.meta(40+i, '0', "")}, turns(40+i, "abcdefgh"), []string{began("50", "own")}, long)
	}
	f.f.MaxBytes = 150 << 10
	for _, files := range []*transcript.Files{f.f, f.f.Remember()} {
		prompts := 0
		for i := range letters {
			tr, err := files.Read(t.Context(), Agent, transcript.Query{Session: threadOf(letters[i]), Full: true})
			if err != nil {
				t.Errorf("session %c: %v", letters[i], err)
				continue
			}
			prompts += len(tr.Prompts)
		}
		if prompts != 8 {
			t.Errorf("%d prompts, want each of 8 once", prompts)
		}
	}
}
