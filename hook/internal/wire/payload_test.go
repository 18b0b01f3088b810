package wire

import (
	"errors"
	"testing"
)

func TestTrim(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " \r\n\t": "", "\ufeff": "", "\ufeff {}\r\n": "{}", "{} \ufeff": "{} \ufeff", "\v{}": "\v{}",
	} {
		if got := string(Trim([]byte(in))); got != want {
			t.Errorf("Trim(%q) = %q, want %q", in, got, want)
		}
	}
}

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
			if got := Lines(tt.in); got != tt.want {
				t.Errorf("Lines(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestDecodeErrorNamesPayloadFaultAndRemedy(t *testing.T) {
	fault := &SyntaxError{Offset: 3, Found: "the end", Want: "a JSON value"}
	err := error(&DecodeError{Agent: "Some Agent", Event: "On\nEvent", Size: 7, Cause: fault})
	const want = `decode Some Agent payload of hook "On\nEvent" (7 bytes): byte 3: found the end, want a JSON value; ` +
		`the payload is kept as it came`
	if err.Error() != want {
		t.Errorf("error %s\nwant  %s", err, want)
	}
	var got *SyntaxError
	if !errors.As(err, &got) || got != fault {
		t.Errorf("%v does not unwrap to its cause", err)
	}
}
