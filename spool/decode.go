package spool

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
)

// The reasons for damage, as shown after "damaged: ".
const (
	reasonGarbage   = "bytes that belong to no record"
	reasonFrame     = "not the beginning of a record"
	reasonTorn      = "record is incomplete"
	reasonChecksum  = "checksum does not match"
	reasonMalformed = "checksum matches, but the members are malformed"
	reasonTooLarge  = "larger than a record may be"
	reasonTail      = "end of the log is an incomplete record"
)

// parse finds the record at the start of seg, which follows a separator and holds
// none. closed says that another separator follows, so the record will not grow.
// The length counts the record's bytes in seg, line feed included; the bytes after
// them belong to no record. For a record of another version rec is nil, for damage
// there is a reason. Strings that are equal to those of the record before are shared
// with it, which saves most allocations.
func (r *Reader) parse(seg []byte, closed bool) (rec *Record, n int, reason string) {
	if !bytes.HasPrefix(seg, []byte(head[:len(`{"v":1,`)])) {
		if n, ok := unknownVersion(seg, closed); ok {
			return nil, n, ""
		}
		if bytes.HasPrefix([]byte(head), seg) {
			return nil, 0, reasonTorn
		}
		return nil, 0, reasonFrame
	}
	want, ok := declared(seg)
	if !ok {
		return nil, 0, reasonFrame
	}
	end := r.wholeEnd(seg, closed, want)
	if end < 0 {
		end = prefixEnd(seg, want)
	}
	switch {
	case end >= 0:
	case bytes.HasSuffix(seg, []byte("}\n")):
		return nil, 0, reasonChecksum
	default:
		return nil, 0, reasonTorn
	}
	rec = &Record{}
	if !rec.members(seg[bodyAt:end-1], r.rec) {
		return nil, 0, reasonMalformed
	}
	if end < len(seg) && seg[end] == '\n' {
		end++
	}
	return rec, end, ""
}

// declared reads the checksum in the record. Only the spelling that encode writes is
// valid, so that every flipped bit is found.
func declared(seg []byte) (uint32, bool) {
	if len(seg) < bodyAt || string(seg[:len(head)]) != head || string(seg[len(head)+crcLen:bodyAt]) != headEnd {
		return 0, false
	}
	digits := seg[len(head) : len(head)+crcLen]
	if bytes.ContainsAny(digits, "ABCDEF") {
		return 0, false
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], digits); err != nil {
		return 0, false
	}
	return binary.BigEndian.Uint32(sum[:]), true
}

// wholeEnd tries a record that fills the segment, the usual case, and returns the
// index behind its closing brace, or -1. Without a line feed at the end of the log
// the append may not have finished.
func (r *Reader) wholeEnd(seg []byte, closed bool, want uint32) int {
	end := bytes.LastIndexByte(seg, '}') + 1
	if end <= bodyAt || (!closed && (end == len(seg) || seg[end] != '\n')) {
		return -1
	}
	if r.sums.of(seg[bodyAt:end]) != want {
		return -1
	}
	return end
}

// prefixEnd looks for a complete record with garbage behind it and returns the index
// behind its closing brace, or -1. A payload may hold many lines that end in a
// brace, so a match of 32 bits is not enough: the bytes must be JSON as well.
func prefixEnd(seg []byte, want uint32) int {
	table := crc32.MakeTable(crc32.Castagnoli)
	var sum uint32
	for at := bodyAt; ; {
		i := bytes.Index(seg[at:], []byte("}\n"))
		if i < 0 {
			return -1
		}
		end := at + i + 1
		sum = crc32.Update(sum, table, seg[at:end])
		if sum == want && json.Valid(seg[:end]) {
			return end
		}
		at = end
	}
}

// unknownVersion returns the length of a complete record of another version: an
// object whose first member is "v", a number. Nothing else is known about it.
func unknownVersion(seg []byte, closed bool) (int, bool) {
	rest, ok := bytes.CutPrefix(seg, []byte(`{"v":`))
	if !ok {
		return 0, false
	}
	i := 0
	for i < len(rest) && rest[i] >= '0' && rest[i] <= '9' {
		i++
	}
	if i == 0 || i == len(rest) || string(rest[:i]) == "1" || (rest[i] != ',' && rest[i] != '}') {
		return 0, false
	}
	dec := json.NewDecoder(bytes.NewReader(seg))
	var object json.RawMessage
	if err := dec.Decode(&object); err != nil {
		return 0, false
	}
	n := int(dec.InputOffset())
	if n < len(seg) && seg[n] == '\n' {
		return n + 1, true
	}
	return n, closed
}

// members reads the members that the checksum covers, without the closing brace, and
// reports whether they are well-formed. The payload is everything behind its key; its
// bytes are not parsed.
func (r *Record) members(b []byte, prev *Record) bool {
	for {
		key, _, rest, ok := cutString(b)
		if !ok || len(rest) == 0 || rest[0] != ':' {
			return false
		}
		rest = rest[1:]
		switch string(key) {
		case "payload":
			r.Payload = bytes.Clone(rest)
			return true
		case "raw":
			text, escaped, tail, ok := cutString(rest)
			if !ok || escaped || len(tail) > 0 {
				return false
			}
			payload, err := base64.StdEncoding.Strict().AppendDecode([]byte{}, text)
			r.Payload, r.Raw = payload, true
			return err == nil
		}
		if b, ok = r.member(string(key), rest, prev); !ok {
			return false
		}
	}
}

// member reads one value and the comma behind it. Unknown members are skipped: see
// the version rule in FORMAT.md.
func (r *Record) member(key string, b []byte, prev *Record) (rest []byte, ok bool) {
	if len(b) > 0 && b[0] == '"' {
		text, escaped, rest, ok := cutString(b)
		if !ok || len(rest) == 0 || rest[0] != ',' {
			return nil, false
		}
		return rest[1:], r.setString(key, text, escaped, prev)
	}
	token, rest, ok := bytes.Cut(b, []byte{','})
	if !ok || len(token) == 0 || bytes.ContainsAny(token, "{[\"") {
		return nil, false
	}
	var err error
	switch key {
	case "ppid":
		r.PPID, err = strconv.Atoi(string(token))
	case "cut":
		r.Cut, err = strconv.ParseInt(string(token), 10, 64)
	}
	return rest, err == nil
}

// field is the member of that name; nil if there is none or it is not a string.
func (r *Record) field(name string) *string {
	switch name {
	case "host":
		return &r.Host
	case "event":
		return &r.Event
	case "session":
		return &r.Session
	case "cwd":
		return &r.Cwd
	case "traceparent":
		return &r.TraceParent
	case "resource":
		return &r.Resource
	case "settings":
		return &r.Settings
	case "to":
		return &r.To
	}
	return nil
}

func (r *Record) setString(key string, text []byte, escaped bool, prev *Record) bool {
	if key == "at" {
		ns, err := strconv.ParseInt(string(text), 10, 64)
		r.At = time.Unix(0, ns).UTC()
		return err == nil
	}
	name, encoded := strings.CutSuffix(key, "64")
	field := r.field(name)
	if field == nil {
		return true
	}
	var err error
	switch old := *prev.field(name); {
	case (name == "settings" || name == "to") && (encoded || escaped || !validSettings(string(text))):
		*field = "" // This package cannot have written the value.
	case encoded:
		text, err = base64.StdEncoding.Strict().AppendDecode(nil, text)
		*field = string(text)
	case escaped:
		err = json.Unmarshal(append(append([]byte{'"'}, text...), '"'), field)
	case string(text) == old:
		*field = old
	default:
		*field = string(text)
	}
	return err == nil
}

// cutString removes a JSON string from the front of b and returns it without its
// quotes.
func cutString(b []byte) (text []byte, escaped bool, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, false, nil, false
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return b[1:i], escaped, b[i+1:], true
		case '\\':
			escaped = true
			i++
		}
	}
	return nil, false, nil, false
}
