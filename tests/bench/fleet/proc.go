package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ticks a second are what Linux counts processor time in, on every machine that
// Go runs on.
const ticks = 100

// cpu is the processor time a process has taken.
func cpu(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in brackets, may hold blanks.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields after the name, want 13 or more", pid, len(fields))
	}
	var sum int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / ticks, nil
}

// peak is the most memory a process has had, in MiB.
func peak(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "VmHWM:" {
			kib, err := strconv.ParseInt(string(f[1]), 10, 64)
			return float64(kib) / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no line VmHWM", pid)
}
