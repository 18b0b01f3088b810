package rawjson

// EscapeControls returns text with the control characters that are inside strings as
// escapes, as JSON demands them. Without any it returns text itself.
func EscapeControls(text []byte) []byte {
	if !hasControl(text) {
		return text
	}
	const hexDigits = "0123456789abcdef"
	out := make([]byte, 0, len(text)+len(text)/16+32)
	quoted, escaped := false, false
	for _, c := range text {
		switch {
		case quoted && c < ' ':
			if escaped {
				out = append(out, '\\') // the backslash is a character
			}
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			escaped = false
			continue
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		}
		out = append(out, c)
	}
	return out
}

// OpenRaw is [Open] of a text whose writer may have left control characters in strings
// unescaped: they are read as if they were escapes.
func OpenRaw(text []byte) (Object, error) {
	o, err := Open(text)
	if err == nil {
		return o, nil
	}
	escaped := EscapeControls(text)
	if len(escaped) == len(text) {
		return o, err
	}
	return Open(escaped)
}
