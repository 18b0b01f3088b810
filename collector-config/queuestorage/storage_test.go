package queuestorage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// open returns what a component of a kind gets from the extension.
func open(t *testing.T, kind component.Kind, maxSize int64) storage.Client {
	t.Helper()
	f := NewFactory()
	cfg := f.CreateDefaultConfig().(*filestorage.Config)
	cfg.Directory = t.TempDir()
	cfg.MaxSize = maxSize
	ext, err := f.Create(t.Context(), extensiontest.NewNopSettings(f.Type()), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := ext.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	c, err := ext.(storage.Extension).GetClient(t.Context(), kind, component.MustNewID("otlp_http"), "traces")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(c.Close(ctx), ext.Shutdown(ctx)); err != nil {
			t.Error(err)
		}
	})
	return c
}

func batch(t *testing.T, c storage.Client, ops ...*storage.Operation) {
	t.Helper()
	if err := c.Batch(t.Context(), ops...); err != nil {
		t.Fatal(err)
	}
}

// at is the value of a key, empty if there is none.
func at(t *testing.T, c storage.Client, key string) string {
	t.Helper()
	v, err := c.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(v)
}

func put(key, value string) []*storage.Operation {
	return []*storage.Operation{storage.SetOperation("metadata", []byte("of "+key)), storage.SetOperation(key, []byte(value))}
}

// interrupted leaves a queue with requests 0 to n-1 that were being sent, as it
// is after they were read and deleted at a start.
func interrupted(t *testing.T, c storage.Client, n int) {
	t.Helper()
	var gets, deletes []*storage.Operation
	for i := range n {
		batch(t, c, put(fmt.Sprint(i), fmt.Sprint("request ", i))...)
		gets = append(gets, storage.GetOperation(fmt.Sprint(i)))
		deletes = append(deletes, storage.DeleteOperation(fmt.Sprint(i)))
	}
	batch(t, c, gets...)
	batch(t, c, deletes...)
}

func TestEachRequestIsStoredAtEachStep(t *testing.T) {
	const n = 4
	c := open(t, component.KindExporter, 0)
	interrupted(t, c, n)
	for back := range n + 1 {
		for i := range n {
			before, after := at(t, c, fmt.Sprint(i)), at(t, c, fmt.Sprint(n+i))
			want, wantAfter := fmt.Sprint("request ", i), ""
			if i < back {
				want, wantAfter = "", want
			}
			if before != want || after != wantAfter {
				t.Errorf("with %d put back, request %d: %q at its old place, want %q; %q at the new one, want %q", back, i, before, want, after, wantAfter)
			}
		}
		if back < n {
			batch(t, c, put(fmt.Sprint(n+back), fmt.Sprint("request ", back))...)
		}
	}
}

func TestUnreadableRequestsAreDeletedAfterRestart(t *testing.T) {
	c := open(t, component.KindExporter, 0)
	interrupted(t, c, 2)
	batch(t, c, put("2", "request 1")...)
	if got := at(t, c, "0"); got != "request 0" {
		t.Fatalf("request 0 was deleted too early: %q", got)
	}
	read := storage.GetOperation("2")
	batch(t, c, storage.SetOperation("metadata", []byte("x")), read)
	if string(read.Value) != "request 1" {
		t.Errorf("read %q, want request 1", read.Value)
	}
	if got := at(t, c, "0"); got != "" {
		t.Errorf("%q was not deleted", got)
	}
}

func TestOtherDeletionsAreNotDelayed(t *testing.T) {
	c := open(t, component.KindExporter, 0)
	batch(t, c, put("0", "a")...)
	batch(t, c, put("1", "b")...)
	batch(t, c, storage.DeleteOperation("0"))
	batch(t, c, storage.GetOperation("1"))
	batch(t, c, storage.SetOperation("metadata", []byte("done")), storage.DeleteOperation("1"))
	for _, key := range []string{"0", "1"} {
		if got := at(t, c, key); got != "" {
			t.Errorf("%s was not deleted: %q", key, got)
		}
	}
}

// TestNearlyFullFileRestoresItsRequests: the file has no room for all requests at
// their old and their new places.
func TestNearlyFullFileRestoresItsRequests(t *testing.T) {
	const limit = 1 << 20
	value := func(i int) string { return fmt.Sprintf("%d%01000d", i, i) }
	full := 0
	for c := open(t, component.KindExporter, limit); ; full++ {
		err := c.Batch(t.Context(), put(fmt.Sprint(full), value(full))...)
		if errors.Is(err, storage.ErrStorageFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c := open(t, component.KindExporter, limit)
	n := full * 9 / 10
	var gets, deletes []*storage.Operation
	for i := range n {
		batch(t, c, put(fmt.Sprint(i), value(i))...)
		gets = append(gets, storage.GetOperation(fmt.Sprint(i)))
		deletes = append(deletes, storage.DeleteOperation(fmt.Sprint(i)))
	}
	batch(t, c, gets...)
	batch(t, c, deletes...)
	for i := range n {
		batch(t, c, put(fmt.Sprint(n+i), value(i))...)
	}
	for i := range n {
		if at(t, c, fmt.Sprint(n+i)) != value(i) {
			t.Errorf("request %d of %d is lost", i, n)
		}
		if at(t, c, fmt.Sprint(i)) != "" {
			t.Errorf("request %d of %d was stored twice", i, n)
		}
	}
}

// full is a client of a file that has no room for anything.
type full struct{ storage.Client }

func (c full) Batch(ctx context.Context, ops ...*storage.Operation) error {
	if _, sets, _ := count(ops); sets > 0 {
		return storage.ErrStorageFull
	}
	return c.Client.Batch(ctx, ops...)
}

func TestFullFileGivesItsRequests(t *testing.T) {
	c := open(t, component.KindExporter, 0).(*client)
	batch(t, c, put("0", "request 0")...)
	c.Client = full{c.Client}
	read := storage.GetOperation("0")
	batch(t, c, storage.SetOperation("metadata", []byte("x")), read)
	if got := at(t, c, "metadata"); string(read.Value) != "request 0" || got != "of 0" {
		t.Errorf("read %q, want request 0; noted %q, want what was there", read.Value, got)
	}
	if err := c.Batch(t.Context(), put("1", "request 1")...); !errors.Is(err, storage.ErrStorageFull) {
		t.Errorf("put: %v, want an error: its sender has to keep the request", err)
	}
}

// TestFullFileLosesNothing puts requests into a file that stays full, and takes them
// out in turn.
func TestFullFileLosesNothing(t *testing.T) {
	c := open(t, component.KindExporter, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	var values []string
	meta := func() *storage.Operation {
		return storage.SetOperation("qmv0", []byte(strings.Repeat("m", random.IntN(200))))
	}
	for taken := range 500 {
		for {
			value := fmt.Sprintf("%d %0*d", len(values), random.IntN(100_000), 0)
			err := c.Batch(t.Context(), meta(), storage.SetOperation(fmt.Sprint(len(values)), []byte(value)))
			if errors.Is(err, storage.ErrStorageFull) && len(values) > taken {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
			if random.IntN(2) == 0 {
				break
			}
		}
		read := storage.GetOperation(fmt.Sprint(taken))
		if err := c.Batch(t.Context(), meta(), read); err != nil || string(read.Value) != values[taken] {
			t.Fatalf("request %d: %v, %d bytes of %d", taken, err, len(read.Value), len(values[taken]))
		}
		batch(t, c, meta(), storage.DeleteOperation(fmt.Sprint(taken)))
	}
	for i := range values {
		batch(t, c, meta(), storage.DeleteOperation(fmt.Sprint(i)))
	}
	for i := range values {
		if got := at(t, c, fmt.Sprint(i)); got != "" {
			t.Errorf("request %d stays", i)
		}
	}
}

func TestOtherComponentsGetUnchangedClient(t *testing.T) {
	if _, ok := open(t, component.KindReceiver, 0).(*client); ok {
		t.Error("a receiver got the queue's client")
	}
}
