//go:build !linux

package packages_test

import "testing"

func TestPackages(t *testing.T) {
	t.Skip("the packages are installed into a root folder on Linux")
}
