package spool

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// rs is the record separator of RFC 7464. JSON text cannot contain it.
	rs = 0x1E
	// head opens every record of this version; the checksum's eight digits
	// follow, then headEnd, then what the checksum covers.
	head    = `{"v":1,"crc":"`
	headEnd = `",`
	crcLen  = 8
	bodyAt  = len(head) + crcLen + len(headEnd)
)

// MaxRecord is the largest record in bytes, from separator to line feed. Append
// refuses a larger one, and for a Reader it is damage.
const MaxRecord = 64 << 20

// MaxSettings is the longest Record.Settings and Record.To in bytes; a longer one is left
// out.
const MaxSettings = 64

// Record is one event as a hook process received it.
type Record struct {
	// Host is the agent: 1 to 32 bytes of a-z, 0-9 and "-".
	Host string
	// Session is the host's identity of the session, any bytes.
	Session string
	// Event is the hook's name, from the process's arguments or from the payload.
	Event string
	// At is when the hook process received the event, to the nanosecond; read
	// back in UTC. The zero time is kept; others must lie between the years
	// 1678 and 2262.
	At time.Time
	// Cwd is the hook process's working directory.
	Cwd string
	// TraceParent is the W3C traceparent of the hook process's environment.
	TraceParent string
	// Resource are attributes of the process that the agent runs for, such as a CI's, as
	// url.Values encodes them. They are opaque here.
	Resource string
	// Settings identifies the caller's settings and is opaque here: at most
	// MaxSettings bytes of printable ASCII without quotes and backslashes. Any other
	// value is left out, so that the event is not lost for it.
	Settings string
	// To names the destinations that the caller's settings are for, with commas between
	// them. It is opaque here, and limited as Settings.
	To string
	// PPID is the parent process.
	PPID int
	// Payload is the host's payload, byte for byte. It must be valid JSON unless Raw
	// is set.
	Payload []byte
	// Raw marks a payload that is not JSON, or is empty.
	Raw bool
	// Cut is the payload's size in bytes before it was cut; 0 means whole.
	Cut int64
	// Offset and End are the record's place in the log, from its separator to behind
	// its line feed. A Reader sets them; Append ignores them.
	Offset, End int64
}

// encode returns the record's bytes, from separator to line feed.
func encode(r *Record) ([]byte, error) {
	if !validHost(r.Host) {
		return nil, fmt.Errorf("host %q: want 1 to %d bytes of a-z, 0-9 and \"-\"", r.Host, maxHost)
	}
	raw := r.Raw || !embeddable(r.Payload)
	size := len(r.Payload)
	if raw {
		size = base64.StdEncoding.EncodedLen(size)
	}
	// The strings count twice because of their escapes; too low a guess costs one
	// copy.
	size += 256 + 2*(len(r.Session)+len(r.Event)+len(r.Cwd)+len(r.TraceParent)+len(r.Resource))
	b := make([]byte, 0, size)
	b = append(b, rs)
	b = append(b, head...)
	crcAt := len(b)
	b = append(b, "00000000"+headEnd...)
	from := len(b)

	b = appendMember(b, "host", r.Host)
	b = appendMember(b, "event", r.Event)
	b = appendMember(b, "session", r.Session)
	if !r.At.IsZero() {
		b = append(b, `"at":"`...)
		b = strconv.AppendInt(b, r.At.UnixNano(), 10)
		b = append(b, `",`...)
	}
	if r.Cwd != "" {
		b = appendMember(b, "cwd", r.Cwd)
	}
	if r.TraceParent != "" {
		b = appendMember(b, "traceparent", r.TraceParent)
	}
	if r.Resource != "" {
		b = appendMember(b, "resource", r.Resource)
	}
	b = appendNumber(b, "ppid", int64(r.PPID))
	b = appendNumber(b, "cut", r.Cut)
	if r.Settings != "" && validSettings(r.Settings) {
		b = appendMember(b, "settings", r.Settings)
	}
	if r.To != "" && validSettings(r.To) {
		b = appendMember(b, "to", r.To)
	}
	if raw {
		b = append(b, `"raw":"`...)
		b = base64.StdEncoding.AppendEncode(b, r.Payload)
		b = append(b, '"')
	} else {
		b = append(b, `"payload":`...)
		b = append(b, r.Payload...)
	}
	b = append(b, '}')

	sum := (&checksums{}).of(b[from:])
	hex.Encode(b[crcAt:crcAt+crcLen], binary.BigEndian.AppendUint32(nil, sum))
	b = append(b, '\n')
	if len(b) > MaxRecord {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooLarge, len(b), MaxRecord)
	}
	return b, nil
}

// validSettings reports whether a value can be in a record without an escape.
func validSettings(s string) bool {
	return len(s) <= MaxSettings && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' })
}

// embeddable protects the frame, not the JSON: a payload with a separator, or of
// blanks only, would change what other readers make of the record.
func embeddable(p []byte) bool {
	return bytes.IndexByte(p, rs) < 0 && len(bytes.Trim(p, " \t\r\n")) > 0
}

func appendNumber(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	b = append(b, '"')
	b = append(b, key...)
	b = append(b, '"', ':')
	b = strconv.AppendInt(b, n, 10)
	return append(b, ',')
}

// appendMember writes a string member. JSON cannot hold bytes that are not UTF-8:
// such a value is in base64, in a member with "64" appended to its name.
func appendMember(b []byte, key, value string) []byte {
	b = append(b, '"')
	b = append(b, key...)
	if !utf8.ValidString(value) {
		b = append(b, `64":"`...)
		b = base64.StdEncoding.AppendEncode(b, []byte(value))
		return append(b, `",`...)
	}
	b = append(b, `":"`...)
	b = appendEscaped(b, value)
	return append(b, `",`...)
}

func appendEscaped(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	done := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[done:i]...)
		done = i + 1
		if c < ' ' {
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			continue
		}
		b = append(b, '\\', c)
	}
	return append(b, s[done:]...)
}
