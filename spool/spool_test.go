package spool

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets the test binary run as another process, see child.
func TestMain(m *testing.M) {
	if role := os.Getenv("SPOOL_TEST_ROLE"); role != "" {
		if err := play(role, os.Getenv("SPOOL_TEST_DIR"), os.Getenv("SPOOL_TEST_ID")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child prepares this binary to play a role in a separate process.
func child(t *testing.T, role, dir, id string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "SPOOL_TEST_ROLE="+role, "SPOOL_TEST_DIR="+dir, "SPOOL_TEST_ID="+id)
	cmd.Stderr = os.Stderr
	return cmd
}

func play(role, dir, id string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	switch role {
	case "append":
		for i := range perWriter {
			if err := s.Append(numbered(id, i)); err != nil {
				return err
			}
		}
	case "append until killed":
		for i := 0; ; i++ {
			if err := s.Append(numbered(id, i)); err != nil {
				return err
			}
			fmt.Println(i)
		}
	default:
		return playUnix(role, s)
	}
	return s.Close()
}

const perWriter = 200

// numbered is the i-th record of one writer; its size differs from its
// neighbours'.
func numbered(writer string, i int) *Record {
	b, err := json.Marshal(map[string]any{"writer": writer, "i": i, "pad": strings.Repeat("p", i*37%9000)})
	if err != nil {
		panic(err)
	}
	return &Record{Host: "cline", Session: "shared", Event: writer + "/" + strconv.Itoa(i), Payload: b}
}

func open(t testing.TB, dir string) *Spool {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func session(t testing.TB, s *Spool, k Key) *Session {
	t.Helper()
	ses, err := s.Session(k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ses.Close(); err != nil {
			t.Error(err)
		}
	})
	return ses
}

func appendAll(t testing.TB, s *Spool, records ...Record) {
	t.Helper()
	for i := range records {
		if err := s.Append(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// records reads a whole session, which must be sound.
func records(t testing.TB, ses *Session) []Record {
	t.Helper()
	r, err := ses.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	var got []Record
	for r.Next() {
		got = append(got, *r.Record())
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if tail, torn := r.Tail(); torn || len(r.Damage()) > 0 || len(r.Unknown()) > 0 {
		t.Fatalf("damage %+v, unknown %d, tail %+v", r.Damage(), r.Unknown(), tail)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return got
}

func logPath(dir, host, session string) string {
	return filepath.Join(dir, filepath.FromSlash(SessionKey(host, session).String()), logName)
}

func TestAppendThenRead(t *testing.T) {
	want, _ := everyForm(t)
	for _, o := range []Options{{}, {Sync: true}} {
		dir := filepath.Join(t.TempDir(), "a", "b", "spool")
		s, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, s, want...)
		got := map[Key][]Record{}
		keys, err := s.Sessions()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			got[k] = records(t, session(t, s, k))
		}
		expect := map[Key][]Record{}
		for _, r := range want {
			k := SessionKey(r.Host, r.Session)
			expect[k] = append(expect[k], r)
		}
		if d := cmp.Diff(expect, got, same); d != "" {
			t.Errorf("options %+v (-want +got):\n%s", o, d)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestHostileSessionIDs(t *testing.T) {
	ids := []string{
		"", ".", "..", "../../../../etc/passwd", "/etc/passwd", `..\..\x`, "a\x00b", "\x00", "\n", "\x1e", `"`, "CON", "nul:",
		"\xff\xfe", "\xff\xff", "\ufffd", strings.Repeat("x", 300), strings.Repeat("é", 5000), "-rf", "$(id)",
	}
	parent := t.TempDir()
	s := open(t, filepath.Join(parent, "spool"))
	seen := map[Key]string{}
	for _, id := range ids {
		k := SessionKey("cline", id)
		if other, ok := seen[k]; ok {
			t.Errorf("%q and %q share a folder", id, other)
		}
		seen[k] = id
		want := Record{Host: "cline", Session: id, Event: id, Cwd: id, TraceParent: id, Payload: []byte("{}")}
		appendAll(t, s, want)
		if d := cmp.Diff([]Record{want}, records(t, session(t, s, k)), same); d != "" {
			t.Errorf("session %q (-want +got):\n%s", id, d)
		}
	}
	keys, err := s.Sessions()
	if err != nil || len(keys) != len(ids) {
		t.Errorf("%d sessions, error %v, want %d", len(keys), err, len(ids))
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
		t.Errorf("entries beside the spool: %v, error %v", entries, err)
	}
}

func TestConcurrentAppends(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	want := map[string]int{}
	var wg sync.WaitGroup
	s := open(t, dir)
	for g := range 16 {
		id := fmt.Sprintf("goroutine-%d", g)
		for i := range perWriter {
			want[numbered(id, i).Event]++
		}
		wg.Go(func() {
			for i := range perWriter {
				if err := s.Append(numbered(id, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for p := range 4 {
		id := fmt.Sprintf("process-%d", p)
		for i := range perWriter {
			want[numbered(id, i).Event]++
		}
		cmd := child(t, "append", dir, id)
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := map[string]int{}
	last := map[string]int{}
	for _, r := range records(t, session(t, s, SessionKey("cline", "shared"))) {
		got[r.Event]++
		writer, n, _ := strings.Cut(r.Event, "/")
		i, err := strconv.Atoi(n)
		if err != nil || i != last[writer] {
			t.Fatalf("record %q behind %d of its writer", r.Event, last[writer])
		}
		last[writer]++
		if d := cmp.Diff(string(numbered(writer, i).Payload), string(r.Payload)); d != "" {
			t.Fatalf("payload of %s (-want +got):\n%s", r.Event, d)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
}

// TestRemoverAgainstAppenders removes the log again and again while others append:
// written = removed + remaining.
func TestRemoverAgainstAppenders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s := open(t, dir)
	key := SessionKey("cline", "shared")
	got := map[string]int{}
	removals := 0
	sweep := func() {
		ses, err := s.Session(key)
		if err != nil {
			return
		}
		defer ses.Close() //nolint:errcheck // Read only.
		unlock, ok, err := ses.TryLock("flush")
		if err != nil || !ok {
			return
		}
		defer unlock() //nolint:errcheck // The lock's file is gone when the session is.
		if err := ses.WriteFile("delivery.json", []byte("{}")); err != nil {
			t.Error(err)
		}
		// The remover reads on and tries again at once, so that an append often
		// happens between two of its steps.
		var events []string
		offset := int64(0)
		for range 100 {
			r, err := ses.Reader(offset)
			if err != nil {
				t.Error(err)
				return
			}
			for r.Next() {
				events = append(events, r.Record().Event)
			}
			if r.Err() != nil || len(r.Damage()) > 0 {
				t.Errorf("error %v, damage %+v", r.Err(), r.Damage())
			}
			offset = r.Offset()
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			removed, err := ses.Remove(offset)
			if err != nil {
				t.Error(err)
			}
			if removed {
				removals++
				for _, e := range events {
					got[e]++
				}
				return
			}
		}
	}

	want := map[string]int{}
	var running atomic.Int32
	var wg sync.WaitGroup
	start := func(id string, run func() error) {
		for i := range perWriter {
			want[numbered(id, i).Event]++
		}
		running.Add(1)
		wg.Go(func() {
			defer running.Add(-1)
			if err := run(); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	for g := range 4 {
		id := fmt.Sprintf("goroutine-%d", g)
		start(id, func() error {
			for i := range perWriter {
				if err := s.Append(numbered(id, i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for p := range 2 {
		id := fmt.Sprintf("process-%d", p)
		start(id, child(t, "append", dir, id).Run)
	}
	for running.Load() > 0 {
		sweep()
	}
	wg.Wait()
	sweep()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	keys, err := s.Sessions()
	if err != nil || len(keys) > 0 && !keepsLocked(t) {
		t.Errorf("sessions left %v, error %v", keys, err)
	}
	t.Logf("%d removals", removals)
}

func TestKilledAppenderLosesNothingAcknowledged(t *testing.T) {
	for round := range 5 {
		dir := filepath.Join(t.TempDir(), "spool")
		cmd := child(t, "append until killed", dir, "w")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acked := 0
		for lines := bufio.NewScanner(out); lines.Scan(); acked++ {
			if acked == 50+round*37 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended before it was killed")
		}
		s := open(t, dir)
		appendAll(t, s, *numbered("next", 0))
		r, err := session(t, s, SessionKey("cline", "shared")).Reader(0)
		if err != nil {
			t.Fatal(err)
		}
		var events []string
		for r.Next() {
			events = append(events, r.Record().Event)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		// One more record may be stored than was acknowledged.
		if n := len(events) - 1; n < acked || n > acked+1 || events[n] != "next/0" {
			t.Fatalf("%d acknowledged, %d stored, last %q", acked, n, events[n])
		}
		for i := range acked {
			if want := numbered("w", i).Event; events[i] != want {
				t.Fatalf("event %d is %q, want %q", i, events[i], want)
			}
		}
	}
}

func TestSessionsSkipsOtherEntries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s := open(t, dir)
	appendAll(t, s,
		Record{Host: "zed", Session: "1", Payload: []byte("1")},
		Record{Host: "cline", Session: "2", Payload: []byte("1")},
		Record{Host: "cline", Session: "1", Payload: []byte("1")})
	name := SessionKey("cline", "1").Name
	for _, d := range []string{"Bad_Host", "lost+found", "cline/short", "cline/" + strings.ToUpper(name), "cline/" + name[:31] + "g"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"file", "zed/" + SessionKey("zed", "2").Name} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	want := []Key{SessionKey("cline", "1"), SessionKey("cline", "2"), SessionKey("zed", "1")}
	if want[0].Name > want[1].Name {
		want[0], want[1] = want[1], want[0]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("sessions (-want +got):\n%s", d)
	}
}

func TestClaimSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s := open(t, dir)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name  string
		after time.Duration
		want  bool
	}{
		{"first ever", 0, true},
		{"at once again", 0, false},
		{"just before the period ends", time.Minute - time.Millisecond, false},
		{"when the period ends", time.Minute, true},
		{"counted from the last claim", time.Minute + 59*time.Second, false},
		{"a little backwards", 30 * time.Second, false},
		{"clock set back by a day", -24 * time.Hour, true},
	} {
		if got := s.ClaimSweep(at.Add(tc.after), time.Minute); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	var claims atomic.Int32
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			if s.ClaimSweep(at.Add(time.Hour), time.Minute) {
				claims.Add(1)
			}
		})
	}
	wg.Wait()
	if claims.Load() != 1 {
		t.Errorf("%d of 32 callers at once have the claim, want 1", claims.Load())
	}
	if keys, err := s.Sessions(); err != nil || len(keys) > 0 {
		t.Errorf("the stamp is listed as a session: %v, error %v", keys, err)
	}
}

func TestOpenSaysThatNoFolderIsKnown(t *testing.T) {
	if _, err := Open("", Options{}); err == nil || !strings.Contains(err.Error(), "HOME or XDG_STATE_HOME") {
		t.Errorf("error %v", err)
	}
}
