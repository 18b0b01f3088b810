package transcript

import (
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/rawjson"
)

func TestTornLinesGiveTheirWholeRows(t *testing.T) {
	const a, b = `{"type":"a","at":1,"m":{"type":"x","text":"{}"}}`, `{"at":2,"type":"b","m":[{"n":1}]}`
	for _, tt := range []struct {
		name, file string
		want       []string
		left       int
	}{
		{"a byte order mark", "\ufeff" + a, []string{a}, 0},
		{"line ends of Windows", a + "\r\n\r\n" + b + "\r\n", []string{a, b}, 0},
		{"a block of NUL before a row", strings.Repeat("\x00", 100) + a + "\n" + b, []string{a, b}, 1},
		{"a block of NUL alone", a + "\n" + strings.Repeat("\x00", 100) + "\n" + b, []string{a, b}, 1},
		{"two rows on a line", a + b, []string{a, b}, 0},
		{"a row, then a stub", a + b[:9] + "\n" + b, []string{a, b}, 1},
		{"a stub without an end", b[:9], nil, 1},
		{"text that is no JSON", "hello\n" + a + "\n[1]\n" + b, []string{a, b}, 2},
		{"a raw line break in a text", "{\"type\":\"a\",\"at\":1,\"t\":\"b\n}c\td\"}\n" + b, []string{`{"type":"a","at":1,"t":"b\u000a}c\u0009d"}`, b}, 0},
		{"a stub, then a row with a raw line break", `{"type":"z","te{"type":"a","at":1,"t":"b` + "\nc\"}\n" + b, []string{`{"type":"a","at":1,"t":"b\u000ac"}`, b}, 1},
	} {
		checkTorn(t, tt.name, tt.file, tt.want, tt.left)
	}
	stub := `{"at":3,"type":"c\"\\d","m":[{"type":"t","k":null},12,-3.5e7,true]}`
	for cut := 1; cut < len(stub); cut++ {
		if strings.HasSuffix(stub[:cut], "true") || strings.HasSuffix(stub[:cut], "]") {
			continue // a row may follow these
		}
		checkTorn(t, "a row behind "+stub[:cut], stub[:cut]+b+"\n"+a, []string{b, a}, 1)
		checkTorn(t, "a row behind NUL behind "+stub[:cut], stub[:cut]+"\x00\x00"+b+"\n"+a, []string{b, a}, 1)
	}
}

func checkTorn(t *testing.T, name, file string, want []string, left int) {
	t.Helper()
	var got []string
	torn := Damaged{Max: 1000}
	take := func(line []byte) bool {
		m := rawjson.Members(line)
		if m.Get("type") == nil || m.Get("at") == nil {
			return false
		}
		got = append(got, strings.TrimSpace(string(line)))
		return true
	}
	for line := range strings.SplitSeq(file, "\n") {
		if take([]byte(line)) {
			torn.End()
			continue
		}
		torn.Add([]byte(line), take)
	}
	torn.End()
	if !slices.Equal(got, want) || torn.Left != left {
		t.Errorf("%s: rows %q, %d lines left, want %q and %d", name, got, torn.Left, want, left)
	}
}
