package plantedkeys

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/secrets"
)

// TestNoPieceIsANumber keeps keys apart from times and sizes, which every output
// has. Parts that are numbers in the real form, as in Slack's keys, stay numbers.
func TestNoPieceIsANumber(t *testing.T) {
	for n, k := range Keys() {
		for part := range strings.SplitSeq(k.Random, "-") {
			if strings.Trim(part, secrets.Digit) == "" {
				continue
			}
			for i := range max(0, len(part)-Piece+1) {
				if piece := part[i : i+Piece]; strings.Trim(piece, secrets.Digit) == "" {
					t.Errorf("key %d has %s, which a time may have as well", n, piece)
				}
			}
		}
	}
}
