// Package backlog writes long sessions into a spool, as hooks would have stored
// them over hours, in seconds.
//
// It promises logs that package spool reads without damage and that map to a
// known number of spans. The events are those of a plain agent: turns of tool
// calls that all succeed, with texts of a few hundred bytes.
package backlog

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/spool"
)

// Dialect is a form of event.
type Dialect string

// The dialects that a backlog can be in.
const (
	Classic Dialect = "classic Cline"
	SDK     Dialect = "Cline SDK"
	Claude  Dialect = "Claude Code"
)

// pace is the time between two events.
const pace = 10 * time.Millisecond

// Session is one session of an agent.
type Session struct {
	Dialect Dialect
	// Turns is the number of runs, Turn that of events in each: even, and at
	// least 6.
	Turns, Turn int
	// End is when the last event came.
	End time.Time
}

// Events is the number of records the session has.
func (s Session) Events() int { return s.Turns * s.Turn }

// Spans is the number of spans the session makes: a root for each turn and one
// span for each tool call.
func (s Session) Spans() int { return s.Turns * (1 + s.calls()) }

// around is the number of a turn's events that are no tool calls.
func (s Session) around() int {
	if s.Dialect == Classic {
		return 4
	}
	return 2
}

func (s Session) calls() int { return (s.Turn - s.around()) / 2 }

func (s Session) host() string {
	if s.Dialect == Claude {
		return hook.HostClaude
	}
	return hook.HostCline
}

// ID is the session's own name, of the kind its host gives.
func (s Session) ID() string {
	switch s.Dialect {
	case Claude:
		return "7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17"
	case SDK:
		return "conv_1795175976718_1sqz0a8"
	case Classic:
	}
	return "1795175957341"
}

// Key identifies the session in a spool.
func (s Session) Key() spool.Key { return spool.SessionKey(s.host(), s.ID()) }

// Records are the session's events, in order. A record is valid until the next.
func (s Session) Records() iter.Seq[*spool.Record] {
	return func(yield func(*spool.Record) bool) {
		w := writer{s: s, at: s.End.Add(-pace * time.Duration(s.Events()-1))}
		rec := &spool.Record{Host: s.host(), Session: s.ID(), Cwd: "/home/dev/project", PPID: 4711, Settings: "preview/"}
		for e := range w.events() {
			rec.Event, rec.At, rec.Payload = e.name, e.at, e.payload
			if !yield(rec) {
				return
			}
		}
	}
}

// Write puts the session into the spool in that folder and returns the size of
// its log, which is on disk then.
func (s Session) Write(dir string) (size int64, err error) {
	if s.Turns < 1 || s.Turn < 6 || s.Turn%2 != 0 {
		return 0, fmt.Errorf("backlog of %d turns with %d events: want at least one turn and an even number of events, at least 6", s.Turns, s.Turn)
	}
	var log *os.File
	var w *bufio.Writer
	var frame []byte
	for rec := range s.Records() {
		if log == nil {
			// The first makes the folders and the log.
			if err := first(dir, rec); err != nil {
				return 0, err
			}
			key := s.Key()
			log, err = os.OpenFile(filepath.Join(dir, key.Host, key.Name, "events.json-seq"), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return 0, err
			}
			defer func() { err = errors.Join(err, log.Close()) }()
			w = bufio.NewWriterSize(log, 1<<20)
			continue
		}
		frame = appendFrame(frame[:0], rec)
		if _, err := w.Write(frame); err != nil {
			return 0, err
		}
	}
	if err := errors.Join(w.Flush(), log.Sync()); err != nil {
		return 0, err
	}
	info, err := log.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func first(dir string, rec *spool.Record) (err error) {
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sp.Close()) }()
	return sp.Append(rec)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame writes a record as spool/FORMAT.md has it. None of its strings
// needs an escape.
func appendFrame(b []byte, r *spool.Record) []byte {
	b = append(b, "\x1e{\"v\":1,\"crc\":\"00000000\","...)
	from := len(b)
	b = append(b, `"host":"`...)
	b = append(b, r.Host...)
	b = append(b, `","event":"`...)
	b = append(b, r.Event...)
	b = append(b, `","session":"`...)
	b = append(b, r.Session...)
	b = append(b, `","at":"`...)
	b = strconv.AppendInt(b, r.At.UnixNano(), 10)
	b = append(b, `","cwd":"`...)
	b = append(b, r.Cwd...)
	b = append(b, `","ppid":`...)
	b = strconv.AppendInt(b, int64(r.PPID), 10)
	b = append(b, `,"settings":"`...)
	b = append(b, r.Settings...)
	b = append(b, `","payload":`...)
	b = append(b, r.Payload...)
	b = append(b, '}')
	sum := crc32.Checksum(b[from:], castagnoli)
	hex.Encode(b[from-10:from-2], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return append(b, '\n')
}
