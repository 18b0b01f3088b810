package store

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/sqlitetest"
	"github.com/hookspan/hookspan/otelmap"
)

// TestAnotherProgramReadsTheStore has another program read and close the file while
// this process has it open, alone and after it was opened a second time.
func TestAnotherProgramReadsTheStore(t *testing.T) {
	s := open(t)
	foreign := sqlitetest.Reader(t, s.path)
	stored := 0
	store := func() {
		t.Helper()
		b := newBuild(fmt.Sprint("task ", stored))
		b.Root("task", otelmap.OutcomeCompleted, time.Second)
		upload(t, s, b.Messages())
		stored++
	}
	sound := func(after string) {
		t.Helper()
		foreign(`SELECT count(*) FROM traces`)
		wal, err := os.Stat(s.path + "-wal")
		if err != nil {
			t.Fatalf("%s: %v", after, err)
		}
		store()
		if got := foreign(`SELECT count(*) FROM traces`); got != fmt.Sprint(stored) {
			t.Errorf("%s: the other program sees %s traces, want %d", after, got, stored)
		}
		if now, err := os.Stat(s.path + "-wal"); err != nil || !os.SameFile(wal, now) {
			t.Errorf("%s: the log was taken away: %v", after, err)
		}
		if got := foreign(`PRAGMA integrity_check`); got != "ok" {
			t.Errorf("%s: %s", after, got)
		}
	}
	store()
	sound("opened once")
	second, err := Open(t.Context(), s.path)
	if err != nil {
		t.Fatal(err)
	}
	sound("opened twice")
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	sound("the second is closed")
	if n, err := s.Delete(t.Context(), selected(t, s, Filter{})); n != stored || err != nil {
		t.Errorf("deleted %d, %v, want %d", n, err, stored)
	}
}
