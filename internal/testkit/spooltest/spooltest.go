// Package spooltest reads the event logs of a spool in tests.
package spooltest

import (
	"errors"
	"testing"

	"github.com/hookspan/hookspan/spool"
)

// Log is what the log of a session holds.
type Log struct {
	Key     spool.Key
	Records []*spool.Record
	Damage  []spool.Damage
	// Torn reports a torn end, Unknown counts the records of a newer hookspan.
	Torn    bool
	Unknown int
}

// Broken counts the stretches that are damaged, a torn end included.
func (l *Log) Broken() int {
	if l.Torn {
		return len(l.Damage) + 1
	}
	return len(l.Damage)
}

// Logs reads the logs of the spool in a folder. An error of one leaves the others in.
func Logs(dir string) (all []Log, err error) {
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		return nil, err
	}
	keys, err := sp.Sessions()
	for _, k := range keys {
		l, wrong := read(sp, k)
		all, err = append(all, l), errors.Join(err, wrong)
	}
	return all, errors.Join(err, sp.Close())
}

// Read reads the log of a session.
func Read(dir string, k spool.Key) (l Log, err error) {
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		return l, err
	}
	l, err = read(sp, k)
	return l, errors.Join(err, sp.Close())
}

func read(sp *spool.Spool, k spool.Key) (l Log, err error) {
	s, err := sp.Session(k)
	if err != nil {
		return l, err
	}
	r, err := s.Reader(0)
	if err != nil {
		return l, errors.Join(err, s.Close())
	}
	l.Key = k
	for r.Next() {
		l.Records = append(l.Records, r.Record())
	}
	l.Damage, l.Unknown = r.Damage(), len(r.Unknown())
	_, l.Torn = r.Tail()
	return l, errors.Join(r.Err(), r.Close(), s.Close())
}

// Records are those of all logs of the spool in a folder, none of which may be damaged.
func Records(t testing.TB, dir string) (all []*spool.Record) {
	t.Helper()
	logs, err := Logs(dir)
	for _, l := range logs {
		if all = append(all, l.Records...); l.Broken() > 0 {
			t.Fatalf("log of %s: damage %v, torn %v", l.Key, l.Damage, l.Torn)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}
