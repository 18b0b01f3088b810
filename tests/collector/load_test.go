package collector_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
)

// recording is a recorded session that can be played under any name.
type recording struct {
	host, program string
	folder        []string
}

var recordings = []recording{
	{hook.HostCline, "cline-hook", []string{"..", "..", "internal", "demo", "session"}},
	{hook.HostClaude, "claude-hook", []string{"..", "..", "hook", "claude", "testdata", "e2e", "subagent"}},
	{hook.HostClaude, "claude-hook", []string{"..", "..", "hook", "claude", "testdata", "e2e", "tools-resume"}},
}

var sessionName = regexp.MustCompile(`"(?:taskId|session_id)"\s*:\s*"([^"]+)"`)

// played is a session under a new name.
type played struct {
	recording
	id     string
	events []lab.Event
}

// play gives the recording another name.
func (r recording) play(t testing.TB, id string) played {
	t.Helper()
	p := played{recording: r, id: id, events: lab.Recording(t, r.folder...)}
	old := sessionName.FindSubmatch(p.events[0].Payload)
	if old == nil {
		t.Fatalf("no session in %s: %s", filepath.Join(r.folder...), p.events[0].Payload)
	}
	for i := range p.events {
		p.events[i].Payload = bytes.ReplaceAll(p.events[i].Payload, old[1], []byte(id))
	}
	return p
}

// machine is a user's machine with an agent of coding on it: hookspan and what
// its hooks store.
type machine struct {
	*lab.World
	t     *testing.T
	spool *spool.Spool
	// like is a record that a hook has stored; those that are stored without one
	// look the same.
	like *spool.Record
	name string
	// sessions counts those that have been stored.
	sessions int
}

// newMachine makes one whose hookspan sends to an address.
func newMachine(t *testing.T, name, endpoint string) *machine {
	t.Helper()
	m := &machine{
		t: t, name: name,
		World: lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://"+endpoint+"/v1/traces"),
	}
	return m
}

// hooks stores a session through a hook process for each event.
func (m *machine) hooks() {
	m.t.Helper()
	p := m.next()
	for _, e := range p.events {
		want := lab.Neutral
		if p.host == hook.HostClaude {
			want = ""
		}
		o := m.Call(lab.Call{Program: p.program, Args: []string{e.Name}, Stdin: bytes.NewReader(e.Payload)})
		if err := o.Neutral(want); err != nil {
			m.t.Fatalf("%s %s: %v", p.program, e.Name, err)
		}
	}
}

func (m *machine) next() played {
	r := recordings[m.sessions%len(recordings)]
	m.sessions++
	// Cline names its tasks by numbers of this length.
	return r.play(m.t, fmt.Sprintf("17951759%s%04d", m.name, m.sessions))
}

// open is for store, once hooks have stored something.
func (m *machine) open() error {
	m.like = m.Records(m.t)[0]
	sp, err := spool.Open(filepath.Join(m.State(), "spool"), spool.Options{})
	if err != nil {
		return err
	}
	m.spool = sp
	m.t.Cleanup(func() { _ = sp.Close() })
	return nil
}

// store stores a session as hooks would have, without their processes: what has
// to be many comes by this way.
func (m *machine) store() error {
	p := m.next()
	for _, e := range p.events {
		rec := &spool.Record{
			Host: p.host, Session: p.id, Event: e.Name, At: time.Now(), Payload: e.Payload,
			Cwd: m.like.Cwd, PPID: m.like.PPID, Settings: m.like.Settings,
		}
		if err := m.spool.Append(rec); err != nil {
			return fmt.Errorf("store event %s of %s: %w", e.Name, p.id, err)
		}
	}
	return nil
}

// flush delivers once; what is left waits.
func (m *machine) flush() error {
	o := m.Call(lab.Call{Program: "hookspan", Args: []string{"flush", "--json"}})
	if o.Code != 0 && o.Code != 1 {
		return errors.New("hookspan flush: " + o.State + ": " + o.Err)
	}
	return nil
}

// undelivered delivers and says what is left, if anything, and how many runs wait.
func (m *machine) undelivered() (left string, waiting int) {
	m.t.Helper()
	for _, res := range m.Flush() {
		if len(res.Errors) > 0 || res.Waiting > 0 || res.Parked > 0 || res.Busy > 0 {
			left = fmt.Sprintf("%+v", res)
		}
		waiting += res.Waiting
	}
	return left, waiting
}

// stored are the spans of everything that hooks have answered for. Every session
// has ended, and the store is a separate destination that nothing here touches.
func (m *machine) stored() map[otlptest.ID]otlptest.Span {
	m.t.Helper()
	out := make(map[otlptest.ID]otlptest.Span)
	for _, s := range m.Stored() {
		out[s.ID] = s
	}
	return out
}
