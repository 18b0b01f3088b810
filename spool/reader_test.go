package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/golden"
)

// result is everything one Reader said.
type result struct {
	records []Record
	damage  []Damage
	unknown int
	tail    Damage
	offset  int64
}

// readAll reads a log and checks the law of conservation: each of its bytes is
// in a record, damaged, unknown or in the torn end.
func readAll(t testing.TB, log []byte) result {
	t.Helper()
	return readFrom(t, log, 0, MaxRecord)
}

func readFrom(t testing.TB, log []byte, offset int64, limit int) result {
	t.Helper()
	r := newReader(bytes.NewReader(log), offset, nil)
	r.max = limit
	var got result
	sum := int64(0)
	last := offset
	for r.Next() {
		rec := r.Record()
		if rec.Offset < last || rec.End <= rec.Offset || r.Offset() != rec.End {
			t.Fatalf("record at [%d, %d) behind %d, offset %d", rec.Offset, rec.End, last, r.Offset())
		}
		last = rec.End
		sum += rec.End - rec.Offset
		got.records = append(got.records, *rec)
	}
	if r.Next() {
		t.Fatal("Next is true again")
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	got.damage, got.unknown, got.offset = r.Damage(), len(r.Unknown()), r.Offset()
	for i, d := range got.damage {
		if d.Length <= 0 || d.Reason == "" || i > 0 && got.damage[i-1].Offset+got.damage[i-1].Length >= d.Offset {
			t.Fatalf("damage %+v of %+v", d, got.damage)
		}
		sum += d.Length
	}
	got.tail, _ = r.Tail()
	if sum += r.unknownBytes + got.tail.Length; sum != int64(len(log))-offset {
		t.Fatalf("%d of %d bytes are accounted for: %+v", sum, int64(len(log))-offset, got)
	}
	if got.offset+got.tail.Length != int64(len(log)) {
		t.Fatalf("offset %d and tail %+v do not meet the end %d", got.offset, got.tail, len(log))
	}
	return got
}

// everyForm is a log with each form of each member.
func everyForm(t testing.TB) ([]Record, []byte) {
	t.Helper()
	payload, err := os.ReadFile(filepath.Join("..", "internal", "demo", "session", "029-TaskCancel.json"))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1795175963, 203_000_001).UTC()
	records := []Record{
		{Host: "cline", Session: "1795175957341", Event: "TaskStart", At: at, Cwd: "/home/dev/project", PPID: 4711, Payload: []byte(`{"taskStart":{"task":"a > b ^ c"}}`)},
		{Host: "cline", Session: "1795175957341", Event: "TaskCancel", At: at.Add(time.Second), Cwd: "/home/dev/\"q\"\\\n", TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", PPID: 4711, Cut: 1 << 40, Payload: payload},
		{Host: "claude-code", Session: "\xff\x00/..", Event: "", Payload: nil, Raw: true},
		{Host: "claude-code", Session: "", Event: "Stop", At: at, Payload: []byte("not \x1e JSON"), Raw: true},
		{Host: "cline", Session: "1795175957341", Event: "TaskComplete", At: at.Add(time.Minute), Payload: []byte("{\"a\":{\"b\":{\n}\n}\n}\n")},
	}
	return records, frame(t, records...)
}

func TestGoldenLog(t *testing.T) {
	want, log := everyForm(t)
	file := filepath.Join("testdata", "golden.json-seq")
	if golden.Updating() {
		if err := os.WriteFile(file, log, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(old, log) {
		t.Errorf("the log is written differently from before:\n%q\nwant\n%q", log, old)
	}
	got := readAll(t, old)
	if d := diff(want, got.records); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	if len(got.damage) > 0 || got.unknown > 0 || got.tail.Length > 0 {
		t.Errorf("a sound log gives %+v", got)
	}
}

func TestReaderResumesAtEveryRecord(t *testing.T) {
	want, log := everyForm(t)
	for i, rec := range readAll(t, log).records {
		got := readFrom(t, log, rec.Offset, MaxRecord)
		if d := diff(want[i:], got.records); d != "" || len(got.damage) > 0 {
			t.Errorf("from %d: damage %v, records (-want +got):\n%s", rec.Offset, got.damage, d)
		}
	}
}

func TestReaderTornAtEveryByte(t *testing.T) {
	want, log := everyForm(t)
	whole := readAll(t, log).records
	for n := range len(log) {
		k, end := 0, int64(0)
		for k < len(whole) && whole[k].End <= int64(n) {
			end = whole[k].End
			k++
		}
		// Torn and not followed: nothing is damaged yet, and a later Reader
		// that starts at Offset sees the record once it is whole.
		got := readAll(t, log[:n])
		if d := diff(want[:k], got.records); d != "" {
			t.Fatalf("first %d bytes (-want +got):\n%s", n, d)
		}
		if len(got.damage) > 0 || got.offset != end {
			t.Fatalf("first %d bytes: offset %d, want %d; damage %+v", n, got.offset, end, got.damage)
		}
		if rest := readFrom(t, log, got.offset, MaxRecord); len(rest.records) != len(want)-k || len(rest.damage) > 0 {
			t.Fatalf("first %d bytes, then the rest: %d records, damage %+v", n, len(rest.records), rest.damage)
		}
		// Torn and followed: the torn record is damage, and all others are there.
		got = readAll(t, append(slices.Clone(log[:n]), log...))
		extra := want[:k]
		if whole, ok := withoutFeed(whole, n); ok {
			extra = want[:whole+1]
		}
		if d := diff(append(slices.Clone(extra), want...), got.records); d != "" {
			t.Fatalf("first %d bytes, then a whole log (-want +got):\n%s", n, d)
		}
		torn := len(extra) == k && int64(n) > end
		if torn != (len(got.damage) == 1) || torn && got.damage[0].Offset != end {
			t.Fatalf("first %d bytes, then a whole log: damage %+v", n, got.damage)
		}
	}
}

// withoutFeed reports that n bytes end at a record that lacks only its line feed.
func withoutFeed(whole []Record, n int) (int, bool) {
	for i, r := range whole {
		if r.End-1 == int64(n) {
			return i, true
		}
	}
	return 0, false
}

func TestReaderEverySingleBitFlip(t *testing.T) {
	want, log := everyForm(t)
	whole := readAll(t, log).records
	flipped := slices.Clone(log)
	for bit := range 8 * len(log) {
		at, mask := bit/8, byte(1)<<(bit%8)
		flipped[at] ^= mask
		owner := slices.IndexFunc(whole, func(r Record) bool { return int64(at) < r.End })
		got := readAll(t, flipped)
		// Only a line feed can be lost without its record.
		expect := slices.Delete(slices.Clone(want), owner, owner+1)
		feed := int64(at) == whole[owner].End-1
		if feed && owner < len(want)-1 {
			expect = want
		}
		if d := diff(expect, got.records); d != "" {
			t.Fatalf("bit %d of byte %d (-want +got):\n%s", bit%8, at, d)
		}
		if len(got.damage) == 0 && got.unknown == 0 && got.tail.Length == 0 {
			t.Fatalf("bit %d of byte %d goes unnoticed", bit%8, at)
		}
		flipped[at] ^= mask
	}
}

func TestReaderDamage(t *testing.T) {
	a := Record{Host: "cline", Session: "s", Event: "A", Payload: []byte("{\n\"n\":{}\n}\n")}
	b := Record{Host: "cline", Session: "s", Event: "B", Payload: []byte(`{"n":2}`)}
	fa, fb := string(frame(t, a)), string(frame(t, b))
	// sealed is a record with the right checksum over any members.
	sealed := func(members string) string {
		return fmt.Sprintf("\x1e%s%08x%s%s\n", head, checksum([]byte(members)), headEnd, members)
	}
	nul := strings.Repeat("\x00", 5000)
	for _, tc := range []struct {
		name    string
		log     string
		want    []Record
		damage  []string
		unknown int
		tail    int
	}{
		{name: "empty log"},
		{name: "sound", log: fa + fb, want: []Record{a, b}},
		{name: "garbage first", log: "garbage" + fa, want: []Record{a}, damage: []string{reasonGarbage}},
		{name: "starts inside a record", log: fa[9:] + fb, want: []Record{b}, damage: []string{reasonGarbage}},
		{name: "garbage between", log: fa + "garbage}\n" + fb, want: []Record{a, b}, damage: []string{reasonGarbage}},
		{name: "garbage with braces", log: fa + "}}\n}\n" + fb, want: []Record{a, b}, damage: []string{reasonGarbage}},
		{name: "zeros between", log: fa + nul + fb, want: []Record{a, b}, damage: []string{reasonGarbage}},
		{name: "zeros in place of the end", log: fa[:20] + nul + fb, want: []Record{b}, damage: []string{reasonFrame}},
		{name: "zeros at the end", log: fa + nul, want: []Record{a}, tail: len(nul)},
		{name: "nothing but zeros", log: nul, tail: len(nul)},
		{name: "only a separator at the end", log: fa + "\x1e", want: []Record{a}, tail: 1},
		{name: "separators in a row", log: "\x1e\x1e" + fa, want: []Record{a}, damage: []string{reasonTorn}},
		{name: "line feed missing", log: fa[:len(fa)-1] + fb, want: []Record{a, b}},
		{name: "line feed missing at the end", log: fa + fb[:len(fb)-1], want: []Record{a}, tail: len(fb) - 1},
		{name: "two line feeds", log: fa + "\n" + fb, want: []Record{a, b}, damage: []string{reasonGarbage}},
		{name: "separator of the second is lost", log: fa + fb[1:], want: []Record{a}, tail: len(fb) - 1},
		{name: "one torn, one torn at the end", log: fa[:30] + fa + fb[:30], want: []Record{a}, damage: []string{reasonTorn}, tail: 30},
		{name: "two stretches", log: fa[:30] + fa + "x" + fb, want: []Record{a, b}, damage: []string{reasonTorn, reasonGarbage}},
		{name: "byte changed", log: strings.Replace(fa, `"n"`, `"m"`, 1) + fb, want: []Record{b}, damage: []string{reasonChecksum}},
		{name: "checksum in capitals", log: strings.Replace(fa, fa[15:23], "ABCDEF01", 1) + fb, want: []Record{b}, damage: []string{reasonFrame}},
		{name: "another version", log: fa + "\x1e{\"v\":2,\"x\":[\n{}\n]}\n" + fb, want: []Record{a, b}, unknown: 1},
		{name: "another version and nothing more", log: "\x1e{\"v\":20}\n", unknown: 1},
		{name: "another version with garbage", log: "\x1e{\"v\":2}\nxx" + fa, want: []Record{a}, unknown: 1, damage: []string{reasonGarbage}},
		{name: "another version torn at the end", log: "\x1e{\"v\":2,\"x\":[{}\n", tail: 16},
		{name: "another version without a line feed", log: "\x1e{\"v\":2}", tail: 8},
		{name: "another version torn", log: "\x1e{\"v\":2,\"x\":[{}\n" + fa, want: []Record{a}, damage: []string{reasonFrame}},
		{name: "version one without a checksum", log: "\x1e{\"v\":1}\n" + fa, want: []Record{a}, damage: []string{reasonFrame}},
		{name: "JSON that is no record", log: "\x1e[1]\n" + fa, want: []Record{a}, damage: []string{reasonFrame}},
		{
			name: "member twice: the later one counts",
			log:  sealed(`"host":"x","host":"cline","session":"s","event":"B","payload":{"n":2}}`),
			want: []Record{b},
		},
		{
			name: "unknown members are skipped",
			log:  sealed(`"host":"cline","new":"a\"b","n":-1.5e3,"session":"s","flag":true,"event":"\u0042","payload":{"n":2}}`),
			want: []Record{b},
		},
		{name: "no payload", log: sealed(`"host":"cline"}`) + fb, want: []Record{b}, damage: []string{reasonMalformed}},
		{name: "member of an unknown shape", log: sealed(`"host":{"a":1},"payload":1}`) + fb, want: []Record{b}, damage: []string{reasonMalformed}},
		{name: "bad time", log: sealed(`"at":"x","payload":1}`) + fb, want: []Record{b}, damage: []string{reasonMalformed}},
		{name: "bad base64", log: sealed(`"raw":"%"}`) + fb, want: []Record{b}, damage: []string{reasonMalformed}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := readAll(t, []byte(tc.log))
			if d := diff(tc.want, got.records); d != "" {
				t.Errorf("records (-want +got):\n%s", d)
			}
			var reasons []string
			for _, d := range got.damage {
				reasons = append(reasons, d.Reason)
			}
			if diff := cmp.Diff(tc.damage, reasons); diff != "" {
				t.Errorf("damage (-want +got):\n%s", diff)
			}
			if got.unknown != tc.unknown || got.tail.Length != int64(tc.tail) {
				t.Errorf("unknown %d, want %d; tail %d, want %d", got.unknown, tc.unknown, got.tail.Length, tc.tail)
			}
		})
	}
}

func TestReaderLimit(t *testing.T) {
	small := Record{Host: "cline", Session: "s", Payload: []byte("1")}
	large := Record{Host: "cline", Session: "s", Payload: bytes.Repeat([]byte("7"), 3*window)}
	ls, ll := frame(t, small), frame(t, large)
	for name, tc := range map[string]struct {
		log    []byte
		limit  int
		want   []Record
		damage int
		tail   int
	}{
		"just allowed":         {slices.Concat(ls, ll, ls), len(ll), []Record{small, large, small}, 0, 0},
		"one byte too large":   {slices.Concat(ls, ll, ls), len(ll) - 1, []Record{small, small}, len(ll), 0},
		"too large at the end": {slices.Concat(ls, ll), len(ll) - 1, []Record{small}, 0, len(ll)},
		"garbage of any size":  {slices.Concat(ls, make([]byte, 5*window), ls), len(ls), []Record{small, small}, 5 * window, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := readFrom(t, tc.log, 0, tc.limit)
			if d := diff(tc.want, got.records); d != "" {
				t.Errorf("records (-want +got):\n%s", d)
			}
			damaged := int64(0)
			for _, d := range got.damage {
				damaged += d.Length
			}
			if damaged != int64(tc.damage) || got.tail.Length != int64(tc.tail) {
				t.Errorf("damage %d, want %d; tail %d, want %d", damaged, tc.damage, got.tail.Length, tc.tail)
			}
		})
	}
}

func TestReaderFreesALargeBuffer(t *testing.T) {
	large := Record{Host: "cline", Session: "s", Payload: bytes.Repeat([]byte("7"), 3*keep)}
	small := Record{Host: "cline", Session: "s", Payload: bytes.Repeat([]byte("1"), 1000)}
	records := []Record{large}
	for range 10 * keep / 1000 {
		records = append(records, small)
	}
	r := newReader(bytes.NewReader(frame(t, records...)), 0, nil)
	n := 0
	for r.Next() {
		n++
	}
	if n != len(records) {
		t.Fatalf("%d records, want %d", n, len(records))
	}
	if len(r.buf) > keep {
		t.Errorf("buffer of %d bytes behind the large record, want at most %d", len(r.buf), keep)
	}
}

// failing fails at and behind an offset.
type failing struct {
	src io.ReaderAt
	at  int64
}

var errDisk = errors.New("disk on fire")

func (f failing) ReadAt(b []byte, off int64) (int, error) {
	if off+int64(len(b)) <= f.at {
		return f.src.ReadAt(b, off)
	}
	n, err := f.src.ReadAt(b[:max(0, f.at-off)], off)
	return n, errors.Join(err, errDisk)
}

func TestReaderReportsTheError(t *testing.T) {
	want, log := everyForm(t)
	for at := range int64(len(log)) {
		r := newReader(failing{bytes.NewReader(log), at}, 0, nil)
		n := 0
		for r.Next() {
			n++
		}
		if !errors.Is(r.Err(), errDisk) || len(r.Damage()) > 0 || n == len(want) {
			t.Fatalf("failure at %d: %d records, error %v, damage %v", at, n, r.Err(), r.Damage())
		}
		if _, torn := r.Tail(); torn {
			t.Fatalf("failure at %d is reported as a torn end", at)
		}
	}
}

func FuzzReader(f *testing.F) {
	_, log := everyForm(f)
	f.Add(log, uint16(0))
	f.Add(log[5:300], uint16(3))
	f.Add([]byte("\x1e{\"v\":2}\n\x1e\x1e"), uint16(0))
	f.Add(slices.Concat(log[:200], make([]byte, 100), log), uint16(60))
	f.Fuzz(func(t *testing.T, log []byte, limit uint16) {
		got := readFrom(t, log, 0, bodyAt+int(limit))
		for i, rec := range got.records {
			// Whatever is read can be read again from its own place.
			again := readFrom(t, log[:rec.End], rec.Offset, bodyAt+int(limit))
			if len(again.records) != 1 && int(rec.End-rec.Offset) <= bodyAt+int(limit) && log[rec.End-1] == '\n' {
				t.Fatalf("record %d at %d: read again as %+v", i, rec.Offset, again)
			}
		}
		// A sound record behind any log is read, and read last.
		want := Record{Host: "cline", Session: "s", Payload: []byte("{}")}
		after := readAll(t, append(slices.Clone(log), frame(t, want)...)).records
		if len(after) == 0 || !cmp.Equal(want, after[len(after)-1], same) {
			t.Fatalf("a sound record at the end is not read: %+v", after)
		}
	})
}
