package hookproc

// skipper is the state of leaving something out: one member of an object whose
// members come and go one by one, or the rest of any other container.
type skipper struct {
	on       bool
	member   bool // ends with the member rather than with the container
	depth    int  // containers open in what is left out
	inString bool
	escape   bool // the next byte is escaped
}

// text returns how many bytes of b belong to the string that is left out: all,
// or those before the quote that closes it.
func (s *skipper) text(b []byte) int {
	i := 0
	for i < len(b) {
		if s.escape {
			s.escape = false
			i++
			continue
		}
		i += plainLen(b[i:])
		if i == len(b) || b[i] == '"' {
			break
		}
		s.escape = true
		i++
	}
	return i
}

// plainLen is how many bytes come before a quote or a backslash.
func plainLen(b []byte) int {
	n := 0
	for n < len(b) && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// leaveOut takes back what is written of a member and leaves out what comes,
// beginning in the state s.
func (c *cutter) leaveOut(s skipper) {
	if len(c.stack) == 0 {
		// A number that is larger than the limit, or no JSON.
		c.bad = true
		return
	}
	c.out = c.out[:c.safe]
	l := c.level()
	// With next to no room left, every further member would be tried in vain.
	s.on, s.member = true, l.small > l.big && c.room(l.small) >= minText
	c.skip = s
	if len(c.stack) >= len(c.levels)-1 {
		// The share is used up for the containers around this one too, lest
		// smaller parts of it go on with holes between.
		c.levels[len(c.levels)-1] = level{}
	}
}

// skipOn leaves out the beginning of b and returns what comes after it.
func (c *cutter) skipOn(b []byte) []byte {
	s := &c.skip
	for i := 0; i < len(b); i++ {
		if s.inString {
			if i += s.text(b[i:]); i < len(b) {
				s.inString = false
			}
			continue
		}
		switch b[i] {
		case '"':
			s.inString = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth == 0 {
				s.on = false
				return b[i:]
			}
			s.depth--
		case ',':
			if !s.member || s.depth > 0 {
				continue
			}
			s.on = false
			if c.out[len(c.out)-1] == '{' {
				// What is left out was the first member.
				return b[i+1:]
			}
			return b[i:]
		}
	}
	return nil
}
