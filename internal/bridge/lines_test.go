package bridge

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// checkLine requires a line that a terminal and a JSON reader can handle.
func checkLine(t *testing.T, line []byte) {
	t.Helper()
	text := strings.TrimSuffix(string(line), "\n")
	if !json.Valid(line) || len(text) != len(line)-1 {
		t.Errorf("no line of JSON: %q", line)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("an unprintable character at %d of %q", i, text)
	}
}

func TestLineIsSafeForATerminal(t *testing.T) {
	text := "a\u009b2J\x7f\u202eb\u2028\U000E0041 é 漢 \U0001F600 & <"
	body, err := rawjson.Marshal(map[string]string{"session_id": "s\u001b[2J", "prompt": text})
	if err != nil {
		t.Fatal(err)
	}
	e, err := ParseEvent(Claude, append(body[:len(body)-1], []byte(",\n\"bad\":\"\xff\u0085\"}")...))
	if err != nil {
		t.Fatal(err)
	}
	line, err := Line(e)
	if err != nil {
		t.Fatal(err)
	}
	checkLine(t, line)
	var got struct {
		Session string
		Payload map[string]string
	}
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	if got.Session != "s\x1b[2J" || got.Payload["prompt"] != text {
		t.Errorf("decoded as %+q", got)
	}
	if !bytes.Contains(line, []byte("é 漢 \U0001F600 & <")) {
		t.Errorf("printable characters are escaped: %s", line)
	}
}

func TestLineOmitsLargePayload(t *testing.T) {
	e, err := ParseEvent(Claude, []byte(`{"session_id":"s","x":"`+strings.Repeat("x", maxLinePayload)+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	line, err := Line(e)
	if err != nil || !strings.HasSuffix(string(line), `"payload":null}`+"\n") {
		t.Errorf("line of %d bytes, %v", len(line), err)
	}
}

func TestStalledReaderDoesNotBlock(t *testing.T) {
	r, w := io.Pipe()
	l := NewLines(w)
	e, err := ParseEvent(Claude, []byte(`{"session_id":"s"}`))
	if err != nil {
		t.Fatal(err)
	}
	const total = 3 * maxLines
	took := 0
	for range total {
		ok, err := l.Take(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			took++
		}
	}
	if took == total {
		t.Fatal("nothing was left out")
	}
	closed := make(chan error, 1)
	go func() {
		closed <- l.Close(t.Context())
		_ = w.Close()
	}()
	out, err := io.ReadAll(r)
	if err != nil || <-closed != nil {
		t.Fatal(err)
	}
	lines, skipped := 0, 0
	for line := range strings.Lines(string(out)) {
		var s struct{ SkippedEvents int }
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		if skipped += s.SkippedEvents; s.SkippedEvents == 0 {
			lines++
		}
	}
	if lines != took || lines+skipped != total {
		t.Errorf("%d lines and %d skipped of %d, %d taken", lines, skipped, total, took)
	}
}

// fixed is a clock that stands still.
func fixed() time.Time { return time.UnixMilli(1795175957341) }
