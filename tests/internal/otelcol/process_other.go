//go:build !linux

package otelcol

import (
	"fmt"
	"runtime"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func rss(int) (int64, error) {
	return 0, fmt.Errorf("memory of the Collector: not measured on %s", runtime.GOOS)
}
