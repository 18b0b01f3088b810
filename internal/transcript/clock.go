package transcript

import "time"

// rowSkew is how far the rows of one moment may be out of order.
const rowSkew = time.Second

// Clock gives the rows of a file times that follow their order: the computer's clock may be
// set back while an agent works. What comes after that in the turn is moved by as much, so that
// it takes as long as it took; the next turn has its own times again. Rows of one moment may
// be out of order, and so may be a single row. The zero value is ready to use.
type Clock struct {
	// Off leaves times as they are.
	Off bool

	last, behind time.Time
	ahead        time.Duration
}

// At returns the time of the next row. begins reports that a turn begins with it.
func (c *Clock) At(at time.Time, begins bool) time.Time {
	if c.Off || at.IsZero() {
		return at
	}
	if begins {
		*c = Clock{last: at}
		return at
	}
	moved := at.Add(c.ahead)
	if c.last.Sub(moved) <= rowSkew {
		c.behind = time.Time{}
		if moved.After(c.last) {
			c.last = moved
		}
		return moved
	}
	if c.behind.IsZero() {
		c.behind, c.last = moved, c.last.Add(time.Millisecond)
		return c.last
	}
	c.ahead += c.last.Sub(c.behind)
	c.behind = time.Time{}
	if moved = at.Add(c.ahead); moved.After(c.last) {
		c.last = moved
	}
	return c.last
}

// Moved reports that the newest row's time was moved.
func (c *Clock) Moved() bool { return c.ahead != 0 || !c.behind.IsZero() }

// Move returns a time that a row has besides its own, as the newest row's was moved.
func (c *Clock) Move(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	if !c.behind.IsZero() {
		return at.Add(c.ahead + c.last.Sub(c.behind))
	}
	return at.Add(c.ahead)
}
