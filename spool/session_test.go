package spool

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// epoch is an arbitrary time.
var epoch = time.Unix(1_795_000_000, 0)

// oneRecord is a spool with a session of one record.
func oneRecord(t *testing.T) (dir string, s *Spool, ses *Session) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "spool")
	s = open(t, dir)
	appendAll(t, s, Record{Host: "cline", Session: "s", Payload: []byte(`{"n":1}`)})
	return dir, s, session(t, s, SessionKey("cline", "s"))
}

func TestMissingSessionIsAnError(t *testing.T) {
	_, s, ses := oneRecord(t)
	if _, err := s.Session(SessionKey("cline", "other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another session: %v, want fs.ErrNotExist", err)
	}
	if _, err := s.Session(SessionKey("other", "s")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another host: %v, want fs.ErrNotExist", err)
	}
	for _, k := range []Key{{}, {"..", ses.Key().Name}, {"cline", ".."}, {"cline", "../cline/" + ses.Key().Name}} {
		if _, err := s.Session(k); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("key %+v: error %v", k, err)
		}
	}
}

func TestSessionLock(t *testing.T) {
	dir, _, a := oneRecord(t)
	b := session(t, open(t, dir), a.Key())
	unlock, ok, err := a.TryLock("flush")
	if !ok || err != nil {
		t.Fatalf("first: %v, %v", ok, err)
	}
	for _, ses := range []*Session{a, b} {
		if _, ok, err := ses.TryLock("flush"); ok || err != nil {
			t.Errorf("second: %v, %v, want neither lock nor error", ok, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Lock(ctx, "flush"); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a context that ended: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		unlock, err := b.Lock(context.Background(), "flush")
		if err == nil {
			err = unlock()
		}
		got <- err
	}()
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("waiting: %v", err)
	}
	if unlock, ok, err = b.TryLock("flush"); !ok || err != nil {
		t.Fatalf("after all: %v, %v", ok, err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestAppendIgnoresTheFlushersLock(t *testing.T) {
	_, s, ses := oneRecord(t)
	unlock, ok, err := ses.TryLock("flush")
	if !ok || err != nil {
		t.Fatalf("lock: %v, %v", ok, err)
	}
	appendAll(t, s, Record{Host: "cline", Session: "s", Payload: []byte("2")})
	if n := len(records(t, ses)); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestAppendWaitsAtMostLockWait(t *testing.T) {
	dir, _, ses := oneRecord(t)
	log, _, err := openFile(ses.dir, logName, appendMode, false)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := tryLock(log, true); !ok || err != nil {
		t.Fatalf("lock: %v, %v", ok, err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.lockWait = time.Millisecond
	err = s.Append(&Record{Host: "cline", Session: "s", Payload: []byte("2")})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append behind a stopped remover: %v, want context.DeadlineExceeded", err)
	}
	if err := errors.Join(log.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestSessionSizeTimeAndSync(t *testing.T) {
	dir, _, ses := oneRecord(t)
	log := logPath(dir, "cline", "s")
	if err := os.Chtimes(log, epoch, epoch); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	size, err := ses.Size()
	if err != nil || size != fi.Size() || size == 0 {
		t.Errorf("size %d, error %v, want %d", size, err, fi.Size())
	}
	at, err := ses.ModTime()
	if err != nil || !at.Equal(epoch) {
		t.Errorf("time %v, error %v, want %v", at, err, epoch)
	}
	if err := ses.Sync(); err != nil {
		t.Error(err)
	}
	if _, err := ses.Reader(size + 1); !errors.Is(err, ErrPastEnd) {
		t.Errorf("reader behind the end: %v, want ErrPastEnd", err)
	}
	if _, err := ses.Reader(-1); err == nil {
		t.Error("a negative offset is accepted")
	}

	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if size, err = ses.Size(); err != nil || size != 0 {
		t.Errorf("without a log: size %d, error %v", size, err)
	}
	if _, err := ses.ModTime(); err != nil {
		t.Errorf("without a log: time: %v", err)
	}
	if err := ses.Sync(); err != nil {
		t.Errorf("without a log: sync: %v", err)
	}
	if got := records(t, ses); len(got) > 0 {
		t.Errorf("without a log: records %v", got)
	}
	if _, err := ses.Reader(1); !errors.Is(err, ErrPastEnd) {
		t.Errorf("without a log: reader from 1: %v, want ErrPastEnd", err)
	}
}

func TestStateFiles(t *testing.T) {
	dir, _, ses := oneRecord(t)
	if _, err := ses.ReadFile("delivery.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is written: %v, want fs.ErrNotExist", err)
	}
	for _, want := range []string{"first", "", strings.Repeat("long", 10_000)} {
		if err := ses.WriteFile("delivery.json", []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := ses.ReadFile("delivery.json"); err != nil || string(got) != want {
			t.Errorf("read %d bytes, error %v, want %d", len(got), err, len(want))
		}
	}
	for _, name := range []string{"", ".", "..", ".hidden", "a/b", `a\b`, "A", "a b", "ü", "a\x00", strings.Repeat("a", 65), logName, "flush" + lockSuffix, quarantineName} {
		if err := ses.WriteFile(name, nil); err == nil {
			t.Errorf("name %q may be written", name)
		}
		if _, err := ses.ReadFile(name); err == nil {
			t.Errorf("name %q may be read", name)
		}
	}
	want := []string{"delivery.json", logName}
	if got := names(t, filepath.Dir(logPath(dir, "cline", "s"))); !slices.Equal(got, want) {
		t.Errorf("folder has %v, want %v", got, want)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	return got
}

func TestQuarantine(t *testing.T) {
	dir, s, ses := oneRecord(t)
	log := logPath(dir, "cline", "s")
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	torn := []byte("\x1e{\"v\":1,\"crc\":")
	if _, err := f.Write(torn); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	appendAll(t, s, Record{Host: "cline", Session: "s", Payload: []byte("2")})
	r, err := ses.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	for r.Next() {
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := ses.Quarantine(r.Damage()); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(filepath.Dir(log), quarantineName)
	kept := names(t, folder)
	if len(kept) != 1 {
		t.Fatalf("quarantine has %v, want one file", kept)
	}
	got, err := os.ReadFile(filepath.Join(folder, kept[0]))
	if err != nil || !bytes.Equal(got, torn) {
		t.Errorf("kept %q, error %v, want %q", got, err, torn)
	}
	for _, d := range []Damage{{Offset: 1 << 40, Length: 1}, {Offset: -1, Length: 1}, {Offset: 0, Length: 0}} {
		if err := ses.Quarantine([]Damage{d}); err == nil {
			t.Errorf("damage %+v is accepted", d)
		}
	}
}

func TestQuarantineHasLimits(t *testing.T) {
	dir, s, ses := oneRecord(t)
	// Each MiB differs, so that each stretch has a separate file.
	var big []byte
	for i := range 6 {
		big = append(big, bytes.Repeat([]byte{byte('a' + i)}, quarantineItem)...)
	}
	appendAll(t, s, Record{Host: "cline", Session: "s", Payload: big, Raw: true})
	var damage []Damage
	for i := range int64(6) {
		damage = append(damage, Damage{Offset: i * quarantineItem, Length: 2 * quarantineItem})
	}
	for i := range int64(2 * quarantineFiles) {
		damage = append(damage, Damage{Offset: i, Length: 1})
	}
	for name, tc := range map[string]struct {
		damage []Damage
		files  int
		bytes  int64
	}{
		"by size":   {damage, quarantineBytes / quarantineItem, quarantineBytes},
		"by number": {damage[6:], quarantineFiles, quarantineFiles},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(filepath.Dir(logPath(dir, "cline", "s")), quarantineName)
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := ses.Quarantine(tc.damage); err != nil {
					t.Fatal(err)
				}
			}
			size := int64(0)
			entries := names(t, folder)
			for _, e := range entries {
				fi, err := os.Stat(filepath.Join(folder, e))
				if err != nil {
					t.Fatal(err)
				}
				size += fi.Size()
			}
			if len(entries) != tc.files || size != tc.bytes {
				t.Errorf("%d files with %d bytes, want %d with %d", len(entries), size, tc.files, tc.bytes)
			}
		})
	}
}

// keepsLocked reports whether this system keeps the name of a removed file until
// the process that locks it has closed it, as Wine does. The session's folder can
// then not be removed while its caller has the session's lock.
func keepsLocked(t *testing.T) bool {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := root.Create("file")
	if err == nil {
		_, err = tryLock(f, true)
	}
	if err == nil {
		err = root.Remove("file")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = root.Lstat("file")
	if err := errors.Join(f.Close(), root.Close()); err != nil {
		t.Fatal(err)
	}
	if err == nil {
		t.Log("this system keeps the names of removed files that are locked: not tested that no folder is left")
	}
	return err == nil
}

func TestRemove(t *testing.T) {
	dir, s, ses := oneRecord(t)
	host := filepath.Join(dir, "cline")
	unlock, ok, err := ses.TryLock("flush")
	if !ok || err != nil {
		t.Fatalf("lock: %v, %v", ok, err)
	}
	if err := ses.WriteFile("delivery.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	size, err := ses.Size()
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, s, Record{Host: "cline", Session: "s", Payload: []byte("2")})
	for _, n := range []int64{0, size, size - 1} {
		if ok, err := ses.Remove(n); ok || err != nil {
			t.Errorf("with size %d: %v, %v, want neither", n, ok, err)
		}
	}
	if n := len(records(t, ses)); n != 2 {
		t.Fatalf("%d records, want 2", n)
	}
	if size, err = ses.Size(); err != nil {
		t.Fatal(err)
	}
	if ok, err := ses.Remove(size); !ok || err != nil {
		t.Fatalf("with the right size: %v, %v", ok, err)
	}
	if got := names(t, host); len(got) > 0 && !keepsLocked(t) {
		t.Errorf("left over: %v", got)
	}

	// Another session may have the same folder name by now; this Session is of the
	// old folder.
	appendAll(t, s, Record{Host: "cline", Session: "s", Payload: []byte("3")})
	if err := ses.WriteFile("delivery.json", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("state written after the removal: %v, want fs.ErrNotExist", err)
	}
	if _, _, err := ses.TryLock("flush"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lock after the removal: %v, want fs.ErrNotExist", err)
	}
	if _, err := ses.Remove(0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed twice: %v, want fs.ErrNotExist", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if n := len(records(t, session(t, s, ses.Key()))); n != 1 {
		t.Errorf("the new log has %d records, want 1", n)
	}
}

func TestRemoveLeavesALogInUseAlone(t *testing.T) {
	_, _, ses := oneRecord(t)
	log, _, err := openFile(ses.dir, logName, appendMode, false)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := tryLock(log, false); !ok || err != nil {
		t.Fatalf("lock: %v, %v", ok, err)
	}
	size, err := ses.Size()
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := ses.Remove(size); ok || err != nil {
		t.Errorf("during an append: %v, %v, want neither", ok, err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if ok, err := ses.Remove(size); !ok || err != nil {
		t.Errorf("after the append: %v, %v", ok, err)
	}
}

func TestRemoveKeepsTheQuarantine(t *testing.T) {
	dir, s, ses := oneRecord(t)
	if err := ses.Quarantine([]Damage{{Offset: 0, Length: 5}}); err != nil {
		t.Fatal(err)
	}
	if err := ses.WriteFile("delivery.json", nil); err != nil {
		t.Fatal(err)
	}
	size, err := ses.Size()
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := ses.Remove(size); !ok || err != nil {
		t.Fatalf("remove: %v, %v", ok, err)
	}
	folder := filepath.Dir(logPath(dir, "cline", "s"))
	if d := cmp.Diff([]string{quarantineName}, names(t, folder)); d != "" {
		t.Errorf("left over (-want +got):\n%s", d)
	}
	again := session(t, s, ses.Key())
	if size, err := again.Size(); err != nil || size != 0 {
		t.Errorf("size %d, error %v, want 0", size, err)
	}
	if ok, err := again.Remove(1); ok || err != nil {
		t.Errorf("remove with a wrong size: %v, %v, want neither", ok, err)
	}
	if ok, err := again.Remove(0); !ok || err != nil {
		t.Fatalf("remove what is left: %v, %v", ok, err)
	}
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder is still there: %v", err)
	}
}

// TestTailReadsTheEndOfTheLog begins at, before and within each record.
func TestTailReadsTheEndOfTheLog(t *testing.T) {
	_, s, ses := oneRecord(t)
	appendAll(t, s,
		Record{Host: "cline", Session: "s", Payload: []byte(`{"n":2}`)},
		Record{Host: "cline", Session: "s", Payload: []byte("not JSON \x1e"), Raw: true},
		Record{Host: "cline", Session: "s", Payload: []byte(`"` + strings.Repeat("x", 2*window) + `"`)})
	size, err := ses.Size()
	if err != nil {
		t.Fatal(err)
	}
	read := func(limit int64) (out []*Record, first bool) {
		t.Helper()
		r, first, err := ses.Tail(limit)
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
			out = append(out, r.Record())
		}
		torn, isTorn := r.Tail()
		if r.Err() != nil || len(r.Damage()) > 0 || isTorn || r.Offset() != size {
			t.Fatalf("last %d bytes: error %v, damage %v, torn %v, offset %d of %d", limit, r.Err(), r.Damage(), torn, r.Offset(), size)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		return out, first
	}
	all, first := read(size + 1)
	if len(all) != 4 || !first {
		t.Fatalf("%d records of 4, from the first: %v", len(all), first)
	}
	for _, from := range []int64{0, 1, all[0].End - 1, all[0].End, all[0].End + 1, all[1].End, all[2].Offset + 1, all[2].End, all[3].Offset + 1, all[3].Offset + window, size - 1, size} {
		i := slices.IndexFunc(all, func(r *Record) bool { return r.Offset >= from })
		var want []*Record
		if i >= 0 {
			want = all[i:]
		}
		got, first := read(size - from)
		if d := cmp.Diff(want, got); d != "" || first != (from == 0) {
			t.Errorf("from %d: first %v, records (-want +got):\n%s", from, first, d)
		}
	}
	if got, _ := read(-1); len(got) > 0 {
		t.Errorf("a limit below zero gives %d records", len(got))
	}
}

func TestTailWithoutALog(t *testing.T) {
	dir, _, ses := oneRecord(t)
	if err := os.Remove(filepath.Join(dir, ses.Key().Host, ses.Key().Name, logName)); err != nil {
		t.Fatal(err)
	}
	r, first, err := ses.Tail(10)
	if err != nil || !first || r.Next() || r.Err() != nil {
		t.Errorf("without a log: first %v, %v", first, err)
	}
}

func TestCheckDetectsALogThatGrewAgain(t *testing.T) {
	dir, s, ses := oneRecord(t)
	log := filepath.Join(dir, ses.Key().Host, ses.Key().Name, logName)
	appendAll(t, s, Record{Host: "cline", Session: "s", Payload: []byte(`"` + strings.Repeat("x", 2*checked) + `"`)})
	size, err := ses.Size()
	if err != nil {
		t.Fatal(err)
	}
	check := func(offset int64) string {
		t.Helper()
		sum, err := ses.Check(offset)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first, second := check(30), check(size)
	appendAll(t, s, Record{Host: "cline", Session: "s", Payload: []byte(`1`)})
	if check(30) != first || check(size) != second {
		t.Error("bytes behind the offset change the checksum")
	}
	if err := os.Truncate(log, size-10); err != nil {
		t.Fatal(err)
	}
	if _, err := ses.Check(size); !errors.Is(err, ErrPastEnd) {
		t.Errorf("behind the end: %v, want %v", err, ErrPastEnd)
	}
	appendAll(t, s, Record{Host: "cline", Session: "s", Payload: []byte(`2`)})
	if check(30) != first || check(size) == second {
		t.Error("another record at the offset does not change the checksum, or one elsewhere does")
	}
}
