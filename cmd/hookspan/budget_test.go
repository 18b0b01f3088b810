package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// TestKilledDeliverySendsItsMessageAgain kills a flush while the webhook has its message, and another one after it.
func TestKilledDeliverySendsItsMessageAgain(t *testing.T) {
	a, _, _ := newTestApp(t, "flush")
	if code := run(t.Context(), a); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var mu sync.Mutex
	var ids []string
	flush := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "hookspan", "flush")
		cmd.Env = append(os.Environ(), a.environ...)
		return cmd
	}
	killed, gone := make(chan *exec.Cmd, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var f struct{ ID, Level string }
		err := json.NewDecoder(r.Body).Decode(&f)
		mu.Lock()
		defer mu.Unlock()
		if ids = append(ids, f.ID); err != nil || f.Level != "reached" {
			t.Errorf("message %+v, %v", f, err)
		}
		if len(ids) == 1 {
			cmd := <-killed
			_, _ = cmd.Process.Kill(), cmd.Wait() // No process gets the answer.
			close(gone)
		}
	}))
	defer server.Close()
	if err := os.MkdirAll(a.cfg.ConfigDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.cfg.ConfigDir, "hookspan.env"), []byte("HOOKSPAN_BUDGET_PLAN_PERCENT=50\nHOOKSPAN_BUDGET_WEBHOOK="+server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	l, ok := hook.NewLimit(time.Now(), 5*time.Hour, 60, float64(time.Now().Add(time.Hour).Unix()))
	if err := a.limits().Note(hook.HostCodex, []hook.Limit{l}); err != nil || !ok {
		t.Fatal(err, ok)
	}
	first := flush()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	killed <- first
	select {
	case <-gone:
	case <-t.Context().Done():
	}
	for range 2 {
		if out, err := flush().CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if len(ids) != 2 || ids[0] != ids[1] || ids[0] == "" {
		t.Errorf("ids %q, want one twice", ids)
	}
}
