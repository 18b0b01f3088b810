package planlimits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func file(t *testing.T) File {
	t.Helper()
	return File{Path: filepath.Join(t.TempDir(), "state", "limits.jsonl"), Now: func() time.Time { return now }}
}

// said is a limit of five hours that was said some time ago, an hour before it resets.
func said(ago time.Duration, used float64) hook.Limit {
	l, ok := hook.NewLimit(now.Add(-ago), 5*time.Hour, used, float64(now.Add(time.Hour-ago).Unix()))
	if !ok {
		panic("no limit")
	}
	return l
}

func note(t *testing.T, f File, host string, all ...hook.Limit) {
	t.Helper()
	if err := f.Note(host, all); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, f File, want map[string][]hook.Limit) {
	t.Helper()
	got, err := f.ByHost()
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v, in the file (-want +got):\n%s", err, d)
	}
}

func text(t *testing.T, f File) string {
	t.Helper()
	b, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestChangesAreKeptOnce(t *testing.T) {
	f := file(t)
	first, more := said(2*time.Minute, 34), said(2*time.Minute, 35.5)
	note(t, f, "claude-code")
	if _, err := os.Stat(f.Path); err == nil {
		t.Error("there is a file for nothing")
	}
	note(t, f, "claude-code", first)
	again := first
	again.At = now
	note(t, f, "claude-code", again, more) // the first with a later time
	note(t, f, "claude-code", first)       // of a program that idled
	note(t, f, "codex", first)
	want(t, f, map[string][]hook.Limit{"claude-code": {first, more}, "codex": {first}})
	const line = `{"at":"2026-11-20T11:58:00Z","v":1,"agent":"claude-code","minutes":300,"used":34,"resets":"2026-11-20T12:58:00Z"}` + "\n"
	if got := text(t, f); !strings.HasPrefix(got, line) {
		t.Errorf("the file is\n%s, want first\n%s", got, line)
	}
	if info, err := os.Stat(f.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestFileWithoutAFolderKeepsNothing(t *testing.T) {
	note(t, File{}, "codex", said(0, 1))
	want(t, File{}, map[string][]hook.Limit{})
}

// TestFormatIsAsDocumented reads the example in FORMAT.md.
func TestFormatIsAsDocumented(t *testing.T) {
	b, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "```json\n")
	example, _, _ := strings.Cut(rest, "```")
	f := file(t)
	write(t, f, example)
	l, _ := hook.NewLimit(time.Date(2026, 11, 20, 11, 59, 21, 0, time.UTC), 5*time.Hour, 34, float64(time.Date(2026, 11, 20, 14, 10, 0, 0, time.UTC).Unix()))
	want(t, f, map[string][]hook.Limit{"claude-code": {l}})
	note(t, f, "claude-code", l)
	if got := text(t, f); got != example {
		t.Errorf("the file is\n%s, want\n%s", got, example)
	}
}

func write(t *testing.T, f File, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(f.Path), 0o700), os.WriteFile(f.Path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedLinesAreLeftOut(t *testing.T) {
	good := `{"at":"2026-11-20T11:58:00Z","v":1,"agent":"codex","minutes":300,"used":34,"resets":"2026-11-20T12:58:00Z"}`
	for name, bad := range map[string]string{
		"nothing":         "",
		"no JSON":         "no JSON",
		"a list":          "[1]",
		"another version": strings.Replace(good, `"v":1`, `"v":2`, 1),
		"no version":      strings.Replace(good, `"v":1,`, ``, 1),
		"a huge number":   strings.Replace(good, `34`, `1e999`, 1),
		"NaN":             strings.Replace(good, `34`, `NaN`, 1),
		"a negative one":  strings.Replace(good, `34`, `-34`, 1),
		"a text":          strings.Replace(good, `34`, `"34"`, 1),
		"a reset before":  strings.Replace(good, `T12:58`, `T10:58`, 1),
		"a window of -1":  strings.Replace(good, `300`, `-1`, 1),
		"an endless one":  strings.Replace(good, `300`, `9223372036854775807`, 1),
		"no time":         strings.Replace(good, `2026-11-20T11:58:00Z`, `yesterday`, 1),
		"cut off":         good[:60],
		"zeros":           strings.Repeat("\x00", 100),
		"deep":            strings.Repeat("[", 1<<16),
	} {
		f := file(t)
		write(t, f, bad+"\n"+good+"\n"+bad)
		want(t, f, map[string][]hook.Limit{"codex": {said(2*time.Minute, 34)}})
		note(t, f, "codex", said(0, 99))
		want(t, f, map[string][]hook.Limit{"codex": {said(2*time.Minute, 34), said(0, 99)}})
		if t.Failed() {
			t.Fatalf("with %s", name)
		}
	}
}

// TestWritersLoseNothing has several processes note their changes, and some of them the same.
func TestWritersLoseNothing(t *testing.T) {
	f := file(t)
	// The first writer removes this and replaces the file.
	write(t, f, `{"at":"2024-11-20T11:58:00Z","v":1,"agent":"codex","minutes":300,"used":34,"resets":"2024-11-20T12:58:00Z"}`+"\n")
	const writers, changes = 8, 40
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range changes {
				own := File{Path: f.Path, Now: f.Now}
				if err := errors.Join(own.note(t.Context(), "codex", []hook.Limit{said(0, float64(w*changes+i)/10)}), own.note(t.Context(), "claude-code", []hook.Limit{said(0, float64(i))})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := f.ByHost()
	if err != nil || len(got["codex"]) != writers*changes || len(got["claude-code"]) != changes || len(got) != 2 {
		t.Errorf("%d and %d changes of %d agents, %v", len(got["codex"]), len(got["claude-code"]), len(got), err)
	}
}

func TestChangesAreRemovedAfterAYear(t *testing.T) {
	f := file(t)
	young, old := said(364*day, 2), said(365*day+time.Hour, 1)
	note(t, f, "codex", old, young)
	want(t, f, map[string][]hook.Limit{"codex": {young}}) // an import has older ones
	write(t, f, "no JSON\n"+strings.Replace(text(t, f), "codex", "claude-code", 1))
	later := File{Path: f.Path, Now: func() time.Time { return now.Add(day) }}
	note(t, later, "")
	want(t, f, map[string][]hook.Limit{"claude-code": {young}})
	later.Now = func() time.Time { return now.Add(3 * day) }
	note(t, later, "")
	if got := text(t, f); got != "" {
		t.Errorf("the file is %q", got)
	}
}

// TestEachHourKeepsItsMost has work for ten hours a day, in which each minute uses more of two windows.
func TestEachHourKeepsItsMost(t *testing.T) {
	const days = 50
	f := file(t)
	var all, kept []hook.Limit
	said := make(map[hook.Limit]bool)
	for at := now.Add(-(days + 3) * day); at.Before(now.Add(-3 * day)); at = at.Add(time.Minute) {
		if at.Hour() >= 10 {
			continue
		}
		for _, window := range []time.Duration{5 * time.Hour, 7 * 24 * time.Hour} {
			begun := at.Truncate(window)
			l, ok := hook.NewLimit(at, window, 100*float64(at.Sub(begun))/float64(window), float64(begun.Add(window).Unix()))
			if !ok {
				t.Fatalf("%v is no limit", l)
			}
			all = append(all, l)
			what := l
			if what.At = (time.Time{}); said[what] {
				continue
			}
			said[what] = true
			kept = slices.DeleteFunc(kept, func(o hook.Limit) bool {
				return o.Resets.Equal(l.Resets) && o.Window == window && o.At.Truncate(time.Hour).Equal(at.Truncate(time.Hour))
			})
			kept = append(kept, l)
		}
	}
	for part := range slices.Chunk(all, 1000) {
		note(t, f, "codex", part...)
	}
	want(t, f, map[string][]hook.Limit{"codex": kept})
	before := text(t, f)
	if year := len(before) * 365 / days; year > maxSize/2 {
		t.Errorf("a year takes %d bytes, want half of what the file may have at most", year)
	}
	for _, part := range [][]hook.Limit{all[:1000], all[len(all)/2:], nil} { // as imports have it again
		note(t, f, "codex", part...)
		if got := text(t, f); got != before {
			t.Errorf("what is there was noted again: %d bytes, want %d", len(got), len(before))
		}
	}
}

func TestFileNeverExceedsItsSize(t *testing.T) {
	f := file(t)
	full := long(maxSize - 100)
	write(t, f, full)
	note(t, f, "codex", said(0, 1), said(0, 2))
	info, err := os.Stat(f.Path)
	got, err2 := f.ByHost()
	if err = errors.Join(err, err2); err != nil || info.Size() > maxSize/2 || info.Size() < maxSize/2-200 || len(got["codex"]) != 2 || len(got["a0"]) != 0 || info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		t.Errorf("%d bytes with mode %v, of codex %v, %v", info.Size(), info.Mode(), got["codex"], err)
	}
	if !strings.HasPrefix(text(t, f), `{"at":`) {
		t.Error("a line is cut")
	}
	write(t, f, full+full)
	var refused *regular.Error
	if err := f.Note("codex", []hook.Limit{said(0, 1)}); !errors.As(err, &refused) {
		t.Errorf("a file that is too large gives %v", err)
	}
}

// long is a text with the lines of a number of agents.
func long(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		_, _ = fmt.Fprintf(&b, `{"at":"2026-11-20T11:58:00Z","v":1,"agent":"a%d","minutes":300,"used":34,"resets":"2026-11-20T12:58:00Z"}`+"\n", i)
	}
	return b.String()
}

// TestWhatIsAtTheEndIsReadThere has a line between the ends that is removed as soon as all is read.
func TestWhatIsAtTheEndIsReadThere(t *testing.T) {
	f := file(t)
	write(t, f, long(2*maxEnd)+"no JSON\n"+long(2*maxEnd))
	note(t, f, "codex", said(0, 1))
	if got := text(t, f); strings.Contains(got, "no JSON") {
		t.Error("a new line was added, and a damaged one kept")
	}
	write(t, f, long(2*maxEnd)+"no JSON\n"+long(2*maxEnd)+text(t, f))
	before := text(t, f)
	note(t, f, "codex", said(time.Second, 1))
	if got := text(t, f); got != before {
		t.Error("for a line that is there more than the ends was read")
	}
	note(t, f, "a0", said(2*time.Minute, 34)) // in the first lines
	if got := text(t, f); got != before {
		t.Error("a line of the beginning was added again")
	}
	note(t, f, "")
	if got := text(t, f); strings.Contains(got, "no JSON") {
		t.Error("the damaged line is there")
	}
}

func BenchmarkNoteOfWhatIsThere(b *testing.B) {
	f := File{Path: filepath.Join(b.TempDir(), "limits.jsonl"), Now: func() time.Time { return now }}
	if err := errors.Join(os.WriteFile(f.Path, []byte(long(maxSize-200)), 0o600), f.Note("codex", []hook.Limit{said(0, 1)})); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := f.Note("codex", []hook.Limit{said(0, 1)}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestNoteEndsWhileTheFolderIsLocked waits for the lock no longer than its patience, and not at
// all for what is there.
func TestNoteEndsWhileTheFolderIsLocked(t *testing.T) {
	f := file(t)
	note(t, f, "codex", said(0, 1))
	lock, err := filelock.Folder(t.Context(), filepath.Dir(f.Path))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close() //nolint:errcheck // The test has ended.
	if err := f.Note("codex", []hook.Limit{said(0, 1)}); err != nil {
		t.Errorf("what is there: %v", err)
	}
	if err := f.Note("codex", []hook.Limit{said(0, 2)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
