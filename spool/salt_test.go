package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
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
}

// TestSaltHeals asks for a secret that a power cut has cut short or filled with zeros.
func TestSaltHeals(t *testing.T) {
	for n := range saltLen + 1 {
		dir := filepath.Join(t.TempDir(), "spool")
		if _, err := Salt(dir); err != nil {
			t.Fatal(err)
		}
		torn := bytes.Repeat([]byte{byte(saltLen - n)}, n)
		if err := os.WriteFile(filepath.Join(dir, saltName), torn, 0o600); err != nil {
			t.Fatal(err)
		}
		salt, err := Salt(dir)
		if err != nil || len(salt) != saltLen || bytes.HasPrefix(salt, torn) && n > 3 {
			t.Fatalf("%d bytes are left: %x, %v", n, salt, err)
		}
		if again, err := Salt(dir); err != nil || !bytes.Equal(again, salt) {
			t.Errorf("%d bytes are left: %x, then %x, %v", n, salt, again, err)
		}
	}
}

// TestSaltDoesNotWait asks while another process that makes the secret is stopped.
func TestSaltDoesNotWait(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	root, err := openRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	f, _, err := openFile(root, saltName, os.O_RDWR, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if ok, err := tryLock(f, true); !ok || err != nil {
		skip.Missing(t, "no locks here: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if _, err := Salt(dir); err == nil || time.Since(begun) > 10*time.Millisecond {
			t.Errorf("waited %v: %v", time.Since(begun), err)
		}
	})
}
