package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
)

// eachMember calls visit for every member of the object in data, in order,
// with the key as it stands between its quotes and the value's bytes; both
// alias data. It reports whether data is one object and nothing else.
//
// It finds where values end and does not check what is inside them: most of a
// transcript's bytes are in members that nobody asks for, and encoding/json
// would read each of them twice. What is asked for is decoded by it later.
func eachMember(data []byte, visit func(key, value []byte)) bool {
	pos := skipSpace(data, 0)
	if pos >= len(data) || data[pos] != '{' {
		return false
	}
	pos = skipSpace(data, pos+1)
	if pos < len(data) && data[pos] == '}' {
		return skipSpace(data, pos+1) == len(data)
	}
	for {
		if pos >= len(data) || data[pos] != '"' {
			return false
		}
		end := stringEnd(data, pos)
		if end < 0 {
			return false
		}
		key := data[pos+1 : end-1]
		pos = skipSpace(data, end)
		if pos >= len(data) || data[pos] != ':' {
			return false
		}
		start := skipSpace(data, pos+1)
		end = valueEnd(data, start)
		if end < 0 {
			return false
		}
		visit(key, data[start:end])
		pos = skipSpace(data, end)
		if pos >= len(data) {
			return false
		}
		switch data[pos] {
		case ',':
			pos = skipSpace(data, pos+1)
		case '}':
			return skipSpace(data, pos+1) == len(data)
		default:
			return false
		}
	}
}

func skipSpace(data []byte, pos int) int {
	for pos < len(data) && (data[pos] == ' ' || data[pos] == '\t' || data[pos] == '\n' || data[pos] == '\r') {
		pos++
	}
	return pos
}

// stringEnd returns the position after the string that begins at pos, -1 where
// it does not close.
func stringEnd(data []byte, pos int) int {
	for from := pos + 1; ; {
		i := bytes.IndexByte(data[from:], '"')
		if i < 0 {
			return -1
		}
		quote := from + i
		escapes := 0
		for at := quote - 1; at > pos && data[at] == '\\'; at-- {
			escapes++
		}
		from = quote + 1
		if escapes%2 == 0 {
			return from
		}
	}
}

// valueEnd returns the position after the value that begins at pos, -1 where
// there is none or it does not close.
func valueEnd(data []byte, pos int) int {
	if pos >= len(data) {
		return -1
	}
	switch data[pos] {
	case '"':
		return stringEnd(data, pos)
	case '{', '[':
		depth := 0
		for pos < len(data) {
			switch data[pos] {
			case '"':
				if pos = stringEnd(data, pos); pos < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return pos + 1
				}
			}
			pos++
		}
		return -1
	}
	end := pos
	for end < len(data) && strings.IndexByte(",}] \t\r\n:\"{[", data[end]) < 0 {
		end++
	}
	if end == pos {
		return -1
	}
	return end
}

// member returns the value of one member of an object, nil where it has none.
func member(data []byte, name string) []byte {
	var found []byte
	if !eachMember(data, func(key, value []byte) {
		if string(key) == name {
			found = value
		}
	}) {
		return nil
	}
	return found
}

// rawString is a JSON string's value, empty where raw is none.
func rawString(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func rawTrue(raw []byte) bool { return string(raw) == "true" }
