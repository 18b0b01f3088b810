package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// TestSaltIsMadeOnce asks for it from several goroutines, then again.
func TestSaltIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	var got [8][]byte
	var asking sync.WaitGroup
	for i := range got {
		asking.Go(func() {
			salt, err := Salt(dir)
			if err != nil {
				t.Error(err)
			}
			got[i] = salt
		})
	}
	asking.Wait()
	again, err := Salt(dir)
	if err != nil || len(again) != saltLen {
		t.Fatalf("%d bytes, %v", len(again), err)
	}
	for _, salt := range got {
		if !bytes.Equal(salt, again) {
			t.Errorf("%x, want %x", salt, again)
		}
	}
	info, err := os.Stat(filepath.Join(dir, saltName))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want mode 0600", info, err)
	}
	if err := os.WriteFile(filepath.Join(dir, saltName), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Salt(dir); err == nil {
		t.Error("a damaged secret is used")
	}
}
