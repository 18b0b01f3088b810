package userhooks

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/spool"
)

// StoredEvent is the event that hooks run for, as the spool holds it.
type StoredEvent struct {
	// SpoolDir is the spool's folder, Sync its option.
	SpoolDir string
	Sync     bool
	// Settings and IdleTimeout are those of the traces.
	Settings    string
	IdleTimeout time.Duration

	hash uint64
}

// Find sets the hash of the event's payload, 16 hexadecimal digits.
func (e *StoredEvent) Find(hash string) (err error) {
	if e.hash, err = strconv.ParseUint(hash, 16, 64); err != nil {
		return fmt.Errorf("--about %q: want 16 hex digits", hash)
	}
	return nil
}

// Parent is the traceparent of the event's span as [Parent] finds it. dir is the
// folder for what is remembered.
func (e *StoredEvent) Parent(find Finder, dir, session string) (string, error) {
	sp, err := spool.Open(e.SpoolDir, spool.Options{})
	if err != nil {
		return "", err
	}
	defer func() { _ = sp.Close() }()
	return Parent(sp, find, dir, session, e.hash, e.IdleTimeout)
}

// Record stores what the hooks did beside the event. now is when they had ended.
func (e *StoredEvent) Record(raw hook.Raw, out *Outcome, now time.Time) error {
	payload, err := out.Record(e.hash)
	if payload == nil || err != nil {
		return err
	}
	sp, err := spool.Open(e.SpoolDir, spool.Options{Sync: e.Sync})
	if err != nil {
		return err
	}
	return errors.Join(sp.Append(&spool.Record{
		Host: cline.Host, Session: out.Call.Session, Event: cline.HookRunsEvent, At: now, Cwd: raw.Cwd,
		TraceParent: raw.TraceParent, Settings: e.Settings, Payload: payload,
	}), sp.Close())
}
