package userhooks

import (
	"fmt"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/spool"
)

// storedEvent is the event that hooks run for, as the spool holds it.
type storedEvent struct {
	config *config.Config
	spool  *spool.Spool
	hash   uint64 // of the event's payload
}

// find sets the hash, 16 hexadecimal digits, and opens the spool.
func (e *storedEvent) find(hash string) (err error) {
	if e.hash, err = strconv.ParseUint(hash, 16, 64); err != nil {
		return fmt.Errorf("--about %q: want 16 hex digits", hash)
	}
	if e.spool == nil {
		e.spool, err = spool.Open(e.config.SpoolDir(), spool.Options{Sync: e.config.SpoolSync == "always"})
	}
	return err
}

// parent is the traceparent of the event's span as [Parent] finds it. dir is the
// folder for what is remembered.
func (e *storedEvent) parent(find Finder, dir, session string) (string, error) {
	return Parent(e.spool, find, dir, session, e.hash, e.config.IdleTimeout)
}

// record stores what the hooks did beside the event. now is when they had ended.
func (e *storedEvent) record(raw hook.Raw, out *Outcome, now time.Time) error {
	payload, err := out.Record(e.hash, !e.config.Textless())
	if payload == nil || err != nil {
		return err
	}
	terms, _ := e.config.Terms() // the event's record names the rules
	return e.spool.Append(&spool.Record{
		Host: cline.Host, Session: out.Call.Session, Event: cline.HookRunsEvent, At: now, Cwd: raw.Cwd,
		TraceParent: raw.TraceParent, Settings: terms.String(), Payload: payload,
	})
}
