package otelcol

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// attributes end the Collector with the process that started it, which may be
// killed before it can do so itself.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

func rss(pid int) (int64, error) {
	file := "/proc/" + strconv.Itoa(pid) + "/status"
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "VmRSS:" && string(f[2]) == "kB" {
			kib, err := strconv.ParseInt(string(f[1]), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no line VmRSS in kB", file)
}
