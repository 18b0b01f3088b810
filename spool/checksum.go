package spool

import (
	"encoding/binary"
	"hash/crc32"
)

// checksum is CRC32-C, for many bytes: the first call prepares the standard library's
// tables, which takes more than 100 µs.
func checksum(b []byte) uint32 {
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
}

// soonMany is how many bytes are summed before checksum is the faster one.
const soonMany = 256 << 10

// checksums is checksum for a hook process, which sums few bytes: eight at a time, with
// tables that take few µs. Of many bytes it leaves the rest to checksum.
type checksums struct {
	tables *[8]crc32.Table // [i] is for a byte that i others follow
	bytes  int             // summed so far
}

func (c *checksums) of(b []byte) uint32 {
	c.bytes += len(b)
	if c.bytes > soonMany {
		return checksum(b)
	}
	if c.tables == nil {
		c.tables = castagnoli()
	}
	t, sum := c.tables, ^uint32(0)
	for ; len(b) >= 8; b = b[8:] {
		sum ^= binary.LittleEndian.Uint32(b)
		//nolint:gosec // The lowest bytes are wanted.
		sum = t[7][byte(sum)] ^ t[6][byte(sum>>8)] ^ t[5][byte(sum>>16)] ^ t[4][sum>>24] ^
			t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
	}
	return crc32.Update(^sum, &t[0], b)
}

func castagnoli() *[8]crc32.Table {
	t := new([8]crc32.Table)
	for i := range t[0] {
		c := uint32(i) //nolint:gosec // At most 255.
		for range 8 {
			c = c>>1 ^ crc32.Castagnoli&-(c&1)
		}
		t[0][i] = c
	}
	for n := 1; n < len(t); n++ {
		for i, c := range t[n-1] {
			t[n][i] = c>>8 ^ t[0][byte(c)] //nolint:gosec // The lowest byte is wanted.
		}
	}
	return t
}
