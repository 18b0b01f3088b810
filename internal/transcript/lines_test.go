package transcript

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func forwards(t testing.TB, text string, maxLine int) []string {
	t.Helper()
	var lines []string
	r := newLineReader(strings.NewReader(text), make([]byte, 16), maxLine)
	for r.Scan() {
		lines = append(lines, r.Text())
	}
	if err := r.Err(); err != nil || r.read != int64(len(text)) {
		t.Fatalf("%d of %d bytes read, error %v", r.read, len(text), err)
	}
	return lines
}

func backwards(t testing.TB, text string, block, maxLine int) []string {
	t.Helper()
	var lines []string
	r := newBackReader(strings.NewReader(text), int64(len(text)), block, maxLine)
	for {
		line, at, err := r.prev()
		if errors.Is(err, io.EOF) {
			slices.Reverse(lines)
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(text[at:], string(line)) {
			t.Fatalf("line %q does not begin at byte %d", line, at)
		}
		lines = append(lines, string(line))
	}
}

func TestLinesOverTheLimitAreLeftOut(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"in front", long + "\na\nb\n", []string{"a", "b"}},
		{"between", "a\n" + long + "\nb\n", []string{"a", "b"}},
		{"at the end", "a\nb\n" + long + "\n", []string{"a", "b"}},
		{"at the end, torn", "a\nb\n" + long, []string{"a", "b"}},
		{"two in succession", "a\n" + long + "\n" + long + "\nb\n", []string{"a", "b"}},
		{"alone", long, nil},
		{"none", "a\nb", []string{"a", "b"}},
		{"empty", "", nil},
		{"of the limit", strings.Repeat("y", 99_999) + "\nb\n", []string{strings.Repeat("y", 99_999), "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, forwards(t, tt.text, 100_000)); diff != "" {
				t.Errorf("forwards (-want +got):\n%s", diff)
			}
			for _, block := range []int{1, 7, 4096, 1 << 20} {
				if block == 1 && len(tt.text) > 300_000 {
					continue // blocks grow with the line; this would only be slow
				}
				if diff := cmp.Diff(tt.want, backwards(t, tt.text, block, 100_000)); diff != "" {
					t.Errorf("backwards in blocks of %d (-want +got):\n%s", block, diff)
				}
			}
		})
	}
}

// Both ways give the same lines, whatever the block.
func TestLinesAreTheSameBothWays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOf(rapid.StringMatching(`[a-z]{0,40}`)).Draw(rt, "lines")
		text := strings.Join(lines, "\n")
		if rapid.Bool().Draw(rt, "ended") {
			text += "\n"
		}
		var want []string
		for _, l := range lines {
			if l != "" && len(l) <= 24 {
				want = append(want, l)
			}
		}
		if diff := cmp.Diff(want, backwards(t, text, rapid.IntRange(1, 64).Draw(rt, "block"), 24)); diff != "" {
			rt.Errorf("backwards (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, forwards(t, text, 24)); diff != "" {
			rt.Errorf("forwards (-want +got):\n%s", diff)
		}
	})
}

// failingReader fails after its bytes.
type failingReader struct{ r io.Reader }

var errDisk = errors.New("disk gone")

func (f failingReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = errDisk
	}
	return n, err
}

func (failingReader) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

func TestLinesBeforeAPlaceComeLastFirst(t *testing.T) {
	text := "one\ntwo\nthree\nfour\n"
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		place string
		until string
		left  int64
		want  []string
		err   error
	}{
		{"all of them", "four", "", 1000, []string{"three", "two", "one"}, nil},
		{"until the visit ends", "four", "two", 1000, []string{"three", "two"}, nil},
		{"none before the first", "one", "", 1000, nil, nil},
		{"as many as may be read", "four", "", 20, []string{"three"}, ErrBeyond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file, err := (&Files{left: &tt.left}).Open(t.Context(), path, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			var got []string
			l := &Lines{Block: 4, Max: 100}
			err = l.Before(t.Context(), file, int64(strings.Index(text, tt.place)), func(line []byte) bool {
				got = append(got, string(line))
				return string(line) != tt.until
			})
			if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v; lines (-want +got):\n%s", err, tt.err, diff)
			}
		})
	}
}

func TestReadErrorsAreReturned(t *testing.T) {
	r := newLineReader(failingReader{bytes.NewReader([]byte("a\nb"))}, make([]byte, 16), 10)
	if !r.Scan() || r.Text() != "a" {
		t.Errorf("line %q, error %v, want a", r.Text(), r.Err())
	}
	for r.Scan() {
		if r.Text() != "b" {
			t.Errorf("line %q, want none but the torn one", r.Text())
		}
	}
	if err := r.Err(); !errors.Is(err, errDisk) {
		t.Errorf("error = %v, want the disk's error", err)
	}
	if _, _, err := newBackReader(failingReader{}, 100, 10, 10).prev(); !errors.Is(err, errDisk) {
		t.Errorf("prev = %v, want the disk's error", err)
	}
}
