//go:build !linux

package packages_test

import (
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestPackages(t *testing.T) {
	skip.Missing(t, "the packages are installed into a root folder on Linux")
}
