package bridge

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strings"
)

// canonical is the hash of a JSON value. Equal values have equal hashes, in
// whatever order an object's members are and however their texts are escaped. It
// is made while the event is decoded, so that a large value is not held twice.
type canonical [sha256.Size]byte

// UnmarshalJSON implements json.Unmarshaler. The value is valid and its depth
// bounded: encoding/json has looked at the whole event first.
func (c *canonical) UnmarshalJSON(value []byte) error {
	h := sha256.New()
	w := bufio.NewWriter(h) // a hash returns no error
	hashValue(w, bytes.TrimLeft(value, space))
	_ = w.Flush()
	*c = canonical(h.Sum(nil))
	return nil
}

// space is what JSON allows between values.
const space = " \t\r\n"

// hashValue writes the value that b begins with to h, in a form that tells where
// it ends, and returns what follows it.
func hashValue(h *bufio.Writer, b []byte) (rest []byte) {
	switch b[0] {
	case '{':
		return hashObject(h, b)
	case '[':
		return hashArray(h, b)
	case '"':
		return hashString(h, b)
	}
	// A number stays as it is written.
	end := 1
	for end < len(b) && strings.IndexByte(",]}"+space, b[end]) < 0 {
		end++
	}
	_, _ = h.Write(b[:end])
	_ = h.WriteByte(',')
	return b[end:]
}

func hashString(h *bufio.Writer, b []byte) (rest []byte) {
	end, escaped := 1, false
	for ; b[end] != '"'; end++ {
		if b[end] == '\\' {
			escaped = true
			end++
		}
	}
	text, rest := b[1:end], b[end+1:]
	if escaped {
		var plain string
		if json.Unmarshal(b[:end+1], &plain) == nil {
			text = []byte(plain)
		}
	}
	_ = h.WriteByte('"')
	_, _ = h.Write(binary.LittleEndian.AppendUint64(h.AvailableBuffer(), uint64(len(text))))
	_, _ = h.Write(text)
	return rest
}

func hashArray(h *bufio.Writer, b []byte) (rest []byte) {
	_ = h.WriteByte('[')
	for b = bytes.TrimLeft(b[1:], space); b[0] != ']'; {
		b = next(hashValue(h, b))
	}
	_ = h.WriteByte(']')
	return b[1:]
}

// hashObject adds the members' hashes up, for which their order makes no
// difference.
func hashObject(h *bufio.Writer, b []byte) (rest []byte) {
	_ = h.WriteByte('{')
	b = bytes.TrimLeft(b[1:], space)
	if b[0] == '}' {
		_ = h.WriteByte('}')
		return b[1:]
	}
	var lanes [sha256.Size / 8]uint64
	sum := make([]byte, 0, sha256.Size)
	member := sha256.New()
	w := bufio.NewWriterSize(member, 64)
	for b[0] != '}' {
		member.Reset()
		b = bytes.TrimLeft(hashString(w, b), space) // the colon follows
		b = next(hashValue(w, bytes.TrimLeft(b[1:], space)))
		_ = w.Flush()
		sum = member.Sum(sum[:0])
		for i := range lanes {
			lanes[i] += binary.LittleEndian.Uint64(sum[8*i:])
		}
	}
	for _, lane := range lanes {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(h.AvailableBuffer(), lane))
	}
	return b[1:]
}

// next is where the next element begins, or the end of what it would be in.
func next(b []byte) []byte {
	b = bytes.TrimLeft(b, space)
	if b[0] == ',' {
		b = bytes.TrimLeft(b[1:], space)
	}
	return b
}
