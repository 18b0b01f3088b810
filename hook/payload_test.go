package hook

import (
	"errors"
	"io"
	"testing"
)

func TestHash(t *testing.T) {
	// SHA-256 of "abc" begins ba7816bf 8f01cfea (FIPS 180-2, B.1).
	if got := Hash([]byte("abc")); got != 0xba7816bf8f01cfea {
		t.Errorf("hash = %x", got)
	}
}

func TestLines(t *testing.T) {
	tests := []struct {
		name string
		in   []string
		want string
	}{
		{"nothing", nil, ""},
		{"one", []string{"a"}, "a"},
		{"two", []string{"a", "b"}, "a\nb"},
		{"a line end that is there already", []string{"a\n", "b\n"}, "a\nb\n"},
		{"empty ones between", []string{"", "a", "", "b", ""}, "a\nb"},
		{"a line end alone", []string{"\n", "a"}, "\na"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Lines(tt.in...); got != tt.want {
				t.Errorf("Lines(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestDecodeErrorNamesPayloadFaultAndRemedy(t *testing.T) {
	err := error(&DecodeError{Agent: "Some Agent", Event: "On\nEvent", Size: 7, Cause: io.ErrUnexpectedEOF})
	const want = `decode Some Agent payload of hook "On\nEvent" (7 bytes): unexpected EOF; the payload is kept as it came`
	if err.Error() != want {
		t.Errorf("error %s\nwant  %s", err, want)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v does not unwrap to its cause", err)
	}
}
