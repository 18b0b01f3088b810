package hookproc

const (
	// smallString is how many bytes a string may have to count as short.
	smallString = 1 << 10
	// smallMember is the same for a member: a short name and a short value.
	smallMember = 2*smallString + 16
	// minText and minShare are what a long string and a large container get at
	// least, in bytes. Where there is less room they are left out.
	minText  = 64
	minShare = 256
)

// level bounds what is written at one depth, as a length of the text together
// with what is needed to close it.
type level struct {
	// big bounds everything that can be large.
	big int
	// small bounds short members. It is above big in the objects whose members
	// come and go one by one: the outermost, and those directly in it.
	small int
}

// level is that of the innermost open container.
func (c *cutter) level() *level { return &c.levels[min(len(c.stack), len(c.levels)-1)] }

// room is what may still be written below the bound.
func (c *cutter) room(bound int) int { return bound - len(c.out) - len(c.stack) - cutNote }

// fits tells whether there is room for one more byte of the value or the member
// that is being written.
func (c *cutter) fits() bool {
	l := c.level()
	return c.room(l.big) > 0 ||
		l.small > l.big && c.room(l.small) > 0 && len(c.out)-c.safe <= smallMember
}

// open begins a container and gives it its bounds, or reports that there is no
// room for it. A member of the outermost container may take half of what is
// left, and of its share one of its own members half again, so that of several
// large ones each keeps its beginning; deeper ones share theirs as it comes. Of
// an object in the first two depths, which hold what tells one event from
// another, an eighth is set aside for short members.
func (c *cutter) open(ch byte) bool {
	room := c.room(c.level().big)
	if room <= 0 {
		return false
	}
	if d := len(c.stack); d < len(c.levels)-1 {
		share := room
		if d > 0 {
			if room < minShare {
				return false
			}
			share = max(room/2, minShare)
		}
		bound := c.levels[d].big - room + share
		l := level{big: bound, small: bound}
		if ch == '{' && d+1 < len(c.levels)-1 {
			l.big -= max(share/8, min(4<<10, share/4))
		}
		c.levels[d+1] = l
	}
	c.stack = append(c.stack, ch+2) // '}' and ']' follow their openers by two
	c.out = append(c.out, ch)
	c.safe = len(c.out)
	return true
}

// share is how many bytes a string may have that begins here: an eighth of what
// is left, in a container a quarter of what is left of its share, so that many
// long ones all keep their beginning. It is rounded down, so that a text is cut
// alike in both ends of a tool call, which may be told by their input alone. It
// is 0 where nothing long has room.
func (c *cutter) share() int {
	room := c.room(c.level().big)
	if room < minText {
		return 0
	}
	share := room / 8
	if len(c.stack) >= 2 {
		share = min(c.room(c.levels[1].big)/8, room/4)
	}
	round := minText
	if share >= 8<<10 {
		round = 1 << 10
	}
	return max(minText, share-share%round)
}
