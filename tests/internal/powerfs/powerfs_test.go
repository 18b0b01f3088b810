package powerfs

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// x writes a text as strace does with -xx.
func x(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.WriteString(`\x` + hex.EncodeToString([]byte{c}))
	}
	return b.String()
}

func TestParse(t *testing.T) {
	trace := strings.Join([]string{
		fmt.Sprintf(`7 openat(AT_FDCWD<%s>, "%s", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3<%s>`, x("/h"), x("a"), x("/h/a")),
		fmt.Sprintf(`7 fsync(4<%s> <unfinished ...>`, x("/h")),
		fmt.Sprintf(`8 write(3<%s>, "%s", 5) = 2`, x("/h/a"), x("hello")),
		`7 <... fsync resumed>)             = 0`,
		fmt.Sprintf(`8 pwrite64(3<%s>, "%s", 1, 9) = 1`, x("/h/a"), x("z")),
		fmt.Sprintf(`8 mkdirat(4<%s>, "%s", 0700) = -1 EEXIST (File exists)`, x("/h"), x("d")),
		fmt.Sprintf(`8 renameat(4<%s>, "%s", 4<%s>, "%s") = 0`, x("/h"), x("a"), x("/h"), x("b")),
		fmt.Sprintf(`8 unlinkat(4<%s>, "%s", 0) = 0`, x("/elsewhere"), x("b")),
		`8 +++ exited with 0 +++`,
	}, "\n")
	got, err := Parse(strings.NewReader(trace), "/h")
	if err != nil {
		t.Fatal(err)
	}
	want := []Op{
		{Kind: Create, Path: "/h/a"},
		{Kind: Write, Path: "/h/a", Offset: -1, Data: []byte("he")},
		{Kind: Sync, Path: "/h", Before: 1},
		{Kind: Write, Path: "/h/a", Offset: 9, Data: []byte("z")},
		{Kind: Rename, Path: "/h/a", To: "/h/b"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := Parse(strings.NewReader(fmt.Sprintf(`7 fallocate(3<%s>, 0, 0, 9) = 0`, x("/h/a"))), "/h"); err == nil {
		t.Error("a call that the model does not have is passed over")
	}
}

// TestCrash draws all that may be left, and wants each of these and no other.
func TestCrash(t *testing.T) {
	write := func(name, data string) Op { return Op{Kind: Write, Path: name, Offset: -1, Data: []byte(data)} }
	for _, c := range []struct {
		name string
		ops  []Op
		want []string
	}{
		{"a name that was not synced", []Op{{Kind: Create, Path: "/h/a"}}, []string{"", "a="}},
		{"a file that was synced and its name not", []Op{{Kind: Create, Path: "/h/a"}, write("/h/a", "x"), {Kind: Sync, Path: "/h/a", Before: 2}}, []string{"", "a=x"}},
		{"a name that was synced and the file not", []Op{{Kind: Create, Path: "/h/a"}, {Kind: Sync, Path: "/h", Before: 1}, write("/h/a", "x")}, []string{"a=", "a=\x00", "a=x"}},
		{"both synced", []Op{{Kind: Create, Path: "/h/a"}, write("/h/a", "x"), {Kind: Sync, Path: "/h/a", Before: 2}, {Kind: Sync, Path: "/h", Before: 3}}, []string{"a=x"}},
		{"written while a sync was under way", []Op{{Kind: Create, Path: "/h/a"}, {Kind: Sync, Path: "/h", Before: 1}, write("/h/a", "x"), {Kind: Sync, Path: "/h/a", Before: 2}}, []string{"a=", "a=\x00", "a=x"}},
		{
			"replaced by a file that was synced",
			[]Op{
				{Kind: Create, Path: "/h/a"},
				{Kind: Sync, Path: "/h", Before: 1},
				{Kind: Create, Path: "/h/t"},
				write("/h/t", "x"),
				{Kind: Sync, Path: "/h/t", Before: 4},
				{Kind: Rename, Path: "/h/t", To: "/h/a"},
			},
			[]string{"a=", "a= t=x", "a=x"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := New("/h")
			for _, o := range c.ops {
				if err := fs.Apply(o); err != nil {
					t.Fatal(err)
				}
			}
			seen := make(map[string]bool)
			for n := range uint64(2000) {
				tree := fs.Crash(rand.New(rand.NewPCG(1, n))) //nolint:gosec // A repeatable draw.
				var parts []string
				for _, name := range []string{"a", "t"} {
					if b, ok := tree[name]; ok {
						parts = append(parts, name+"="+string(b))
					}
				}
				seen[strings.Join(parts, " ")] = true
			}
			want := make(map[string]bool)
			for _, w := range c.want {
				want[w] = true
			}
			if d := cmp.Diff(want, seen); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
