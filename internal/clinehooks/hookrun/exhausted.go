package hookrun

import (
	"errors"
	"strings"

	"github.com/hookspan/hookspan/internal/outbound"
)

// Exhausted reports that an error says that the system had no descriptors,
// processes or memory left.
func Exhausted(err error) bool {
	request := (*outbound.Error)(nil)
	_ = errors.As(err, &request)
	for _, shortage := range shortages {
		if errors.Is(err, shortage) {
			return true
		}
		// Only the text is left where a look-up failed, or a secret was removed.
		if request != nil && strings.HasSuffix(request.Error(), ": "+shortage.Error()) {
			return true
		}
	}
	return false
}
