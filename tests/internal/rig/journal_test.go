package rig_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/tests/internal/rig"
)

func TestJournal(t *testing.T) {
	type request struct{ N, Status int }
	var j rig.Journal[request]
	second := j.Seen(2)
	enter := func(n int) *request { return &request{N: n} }
	first := j.Add(enter)
	select {
	case <-second:
		t.Error("the second request was seen with the first")
	default:
	}
	j.Add(enter)
	// Each of them would hang if the request were not seen.
	<-second
	<-j.Seen(1)
	before := j.Requests()
	j.Change(first, func(r *request) { r.Status = 200 })
	if diff := cmp.Diff([]request{{N: 1}, {N: 2}}, before); diff != "" {
		t.Errorf("a copy was changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{request{1, 200}, request{2, 0}}, j.Log()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { j.Add(enter); <-j.Seen(10) })
	}
	wg.Wait()
	for i, r := range j.Requests() {
		if r.N != i+1 {
			t.Fatalf("entry %d has number %d", i, r.N)
		}
	}
}
