package bridge

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// maxHashed is how deep a value is compared by content. Each level is scanned
// once more, and deeper values are compared by their bytes.
const maxHashed = 64

// hashJSON is the hash of a value of a checked text. Equal values have equal
// hashes, whatever the order of an object's members and the escapes of its texts.
// The value is not held twice, however large it is.
func hashJSON(value []byte) [sha256.Size]byte {
	h := sha256.New()
	w := bufio.NewWriter(h) // a hash returns no error
	hashValue(w, value, maxHashed)
	_ = w.Flush()
	return [sha256.Size]byte(h.Sum(nil))
}

// hashValue writes a value in a form that shows where it ends.
func hashValue(w *bufio.Writer, value []byte, levels int) {
	value = rawjson.Trim(value)
	switch {
	case len(value) == 0:
	case levels == 0:
		hashText(w, value)
	case value[0] == '{':
		_ = w.WriteByte('{')
		hashMembers(w, value, levels-1)
	case value[0] == '[':
		_ = w.WriteByte('[')
		rawjson.EachElement(value, func(e []byte) { hashValue(w, e, levels-1) })
		_ = w.WriteByte(']')
	case value[0] != '"':
		_, _ = w.Write(value) // a number as it is spelled
		_ = w.WriteByte(',')
	case bytes.IndexByte(value, '\\') < 0:
		hashText(w, value[1:len(value)-1])
	default:
		hashText(w, []byte(rawjson.Unquote(value)))
	}
}

func hashText(w *bufio.Writer, text []byte) {
	_ = w.WriteByte('"')
	_, _ = w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), uint64(len(text))))
	_, _ = w.Write(text)
}

// hashMembers adds up the hashes of the members, so that their order makes no
// difference.
func hashMembers(w *bufio.Writer, object []byte, levels int) {
	var lanes [sha256.Size / 8]uint64
	sum := make([]byte, 0, sha256.Size)
	member := sha256.New()
	m := bufio.NewWriterSize(member, 64)
	rawjson.EachMember(object, func(name, value []byte) {
		member.Reset()
		hashText(m, name)
		hashValue(m, value, levels)
		_ = m.Flush()
		sum = member.Sum(sum[:0])
		for i := range lanes {
			lanes[i] += binary.LittleEndian.Uint64(sum[8*i:])
		}
	})
	for _, lane := range lanes {
		_, _ = w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), lane))
	}
}
