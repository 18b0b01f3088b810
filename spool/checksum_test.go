package spool

import (
	"bytes"
	"testing"
)

func TestChecksums(t *testing.T) {
	// The check value of CRC-32/ISCSI, from the catalogue of CRC algorithms.
	check := []byte("123456789")
	if a, b := checksum(check), (&checksums{}).of(check); a != 0xe3069283 || b != a {
		t.Errorf("checksums %08x and %08x, want e3069283", a, b)
	}
	long := bytes.Repeat([]byte("h\x00oks\xffpan"), soonMany/8+1)
	for _, n := range []int{0, 1, 7, 8, 9, 15, 4096, soonMany - 1, soonMany, soonMany + 1} {
		var sums checksums
		for _, what := range []string{"first", "further"} {
			if a, b := checksum(long[:n]), sums.of(long[:n]); a != b {
				t.Errorf("%s %d bytes: %08x and %08x", what, n, a, b)
			}
		}
	}
}
