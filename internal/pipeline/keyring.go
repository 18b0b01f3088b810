package pipeline

import (
	"errors"
	"time"

	"github.com/zalando/go-keyring"
)

// KeyringService is the name under which the system's keyring keeps secrets.
const KeyringService = "hookspan"

// secret returns an agent's secret from the system's keyring. Without a keyring
// the call can hang, so it is limited to two seconds.
func secret(agent string) (string, error) {
	type answer struct {
		secret string
		err    error
	}
	got := make(chan answer, 1)
	go func() {
		s, err := keyring.Get(KeyringService, agent)
		got <- answer{s, err}
	}()
	select {
	case r := <-got:
		return r.secret, r.err
	case <-time.After(2 * time.Second):
		return "", errors.New("the keyring did not answer")
	}
}
