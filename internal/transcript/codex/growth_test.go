package codex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

func numbered(i int) string { return fmt.Sprintf("019b0000-0000-7000-8000-%012d", i) }

// put writes the file of a thread, whose head has more members.
func put(b *testing.B, f *transcript.Files, i int, more string, rows ...string) {
	b.Helper()
	meta := fmt.Sprintf(`0|session_meta|{"id":%q,"timestamp":"2025-11-06T10:%02d:%02dZ","cwd":"/w"%s}`, numbered(i), i/60%60, i%60, more)
	transcripttest.Write(b, f.Home+"/.codex/"+nameOf(numbered(i)), rowsOf(append([]string{meta}, rows...)...))
}

// BenchmarkTurns reads a session of turns with a call each.
func BenchmarkTurns(b *testing.B) {
	transcripttest.Growth(b, Agent, 300, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		var rows []string
		for i := range n {
			at, id := fmt.Sprint(10*i), fmt.Sprint("c", i)
			rows = append(rows, typed(at, "go"), scripted(at, id, "x"), returned(at, id, "Script running with cell ID "+id, ""), answer(at, "done"), counted(at, 1, i+1))
		}
		put(b, f, 0, "", rows...)
	})
}

// BenchmarkSessions reads sessions of one day.
func BenchmarkSessions(b *testing.B) {
	transcripttest.Growth(b, Agent, 200, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		for i := range n {
			put(b, f, i, "", typed("1", "go"), answer("2", "done"))
		}
	})
}

// BenchmarkForks reads forks of a session that is gone, each with a copy of its turns.
func BenchmarkForks(b *testing.B) {
	transcripttest.Growth(b, Agent, 60, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		gone := fmt.Sprintf(`0|session_meta|{"id":%q,"timestamp":"2025-11-06T09:00:00Z"}`, numbered(n))
		for i := range n {
			rows := []string{gone}
			for turn := range 20 {
				id := fmt.Sprint("t", turn)
				rows = append(rows, strings.Replace(began("0", id), "}", fmt.Sprintf(`,"started_at":%d}`, forkBegin.Unix()-1000+int64(turn)), 1), typed("0", id), answer("0", "done"), ended("0", id, "done"))
			}
			put(b, f, i, "", append(rows, began("9000", fmt.Sprint("own", i)), typed("9001", "go"), answer("9002", "done"))...)
		}
	})
}

// BenchmarkAgents reads a session with subagents, of which it names the half.
func BenchmarkAgents(b *testing.B) {
	transcripttest.Growth(b, Agent, 90, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		rows := []string{began("1", "t"), typed("1", "go")}
		for i := 1; i <= n; i++ {
			if id := fmt.Sprint("c", i); i%2 == 0 {
				rows = append(rows, called("2", id, "spawn_agent", `{"message":"look"}`), output("3", id, `{"agent_id":"`+numbered(i)+`"}`))
			}
			put(b, f, i, `,"source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+numbered(0)+`"}}}`, began("2", "s"), answer("3", "found"), ended("3", "s", "found"))
		}
		put(b, f, 0, "", rows...)
	})
}
