package agentmetrics

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"

	"github.com/hookspan/hookspan/otelmap/instruments"
)

// In the storage, the key index has an index as JSON, s/N the series of slot N as
// JSON, and i/N the Nth chunk of span ids, each 8 bytes in little endian. They change
// in one transaction, so that a total and the spans it counts agree.

type index struct {
	Slots  int    `json:"slots"`
	First  uint64 `json:"first"`
	Chunks int    `json:"chunks"`
	// Reported is the latest time of a report.
	Reported time.Time `json:"reported"`
}

func slotKey(n int) string     { return "s/" + strconv.Itoa(n) }
func chunkKey(n uint64) string { return "i/" + strconv.FormatUint(n, 10) }

// write returns when the requests up to a number are in the storage. Concurrent
// callers share a transaction. After an error what is missing is written the next time.
func (c *counter) write(ctx context.Context, upTo uint64) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.written >= upTo {
		return nil
	}
	done, ops, err := c.changes()
	if err == nil && c.store != nil {
		err = c.store.Batch(ctx, ops...)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, one := range done.series {
			c.totals.touch(one)
		}
		c.totals.freed = append(c.totals.freed, done.freed...)
		return fmt.Errorf("write the metrics' totals: %w", err)
	}
	c.written, c.recent.oldest, c.recent.stored = done.upTo, done.first, done.next
	return nil
}

// changed is what a transaction writes.
type changed struct {
	upTo        uint64
	series      []*series
	freed       []int
	first, next uint64
}

// changes returns what is not in the storage yet. The fields oldest and stored of
// recent belong to the holder of writing.
func (c *counter) changes() (done changed, ops []*storage.Operation, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unwritten) > 0 {
		c.recent.keep(c.unwritten)
		c.unwritten = nil
	}
	r := &c.recent
	done = changed{c.added, c.totals.dirty, c.totals.freed, r.first, r.first + uint64(len(r.chunks))}
	c.totals.dirty, c.totals.freed = nil, nil
	for _, n := range done.freed {
		if c.totals.slots[n] == nil {
			ops = append(ops, storage.DeleteOperation(slotKey(n)))
		}
	}
	for n := r.oldest; n < done.first; n++ {
		ops = append(ops, storage.DeleteOperation(chunkKey(n)))
	}
	for n := max(r.stored, done.first); n < done.next; n++ {
		ops = append(ops, storage.SetOperation(chunkKey(n), encodeIDs(r.chunks[n-done.first])))
	}
	for _, one := range done.series {
		one.dirty = false
		b, err := json.Marshal(one)
		if err != nil {
			return done, nil, err
		}
		ops = append(ops, storage.SetOperation(slotKey(one.slot), b))
	}
	b, err := json.Marshal(index{len(c.totals.slots), done.first, len(r.chunks), c.reported})
	return done, append(ops, storage.SetOperation("index", b)), err
}

// restore reads what the Collector before wrote.
func (c *counter) restore(ctx context.Context) error {
	b, err := c.store.Get(ctx, "index")
	if err != nil || b == nil {
		return err
	}
	var in index
	if err := json.Unmarshal(b, &in); err != nil {
		c.set.Logger.Error("The metrics' totals cannot be read: all begin at zero", zap.Error(err))
		return nil
	}
	c.reported = in.Reported
	for n := range in.Slots {
		if b, err = c.store.Get(ctx, slotKey(n)); err != nil {
			return err
		}
		if b == nil {
			continue
		}
		if err := c.totals.restore(n, b); err != nil {
			c.set.Logger.Error("A total cannot be read: its series begins at zero", zap.Int("slot", n), zap.Error(err))
		}
	}
	r := &c.recent
	r.first, r.oldest = in.First, in.First
	for n := range in.Chunks {
		if b, err = c.store.Get(ctx, chunkKey(in.First+uint64(n))); err != nil { //nolint:gosec // Not negative.
			return err
		}
		chunk := decodeIDs(b)
		for _, id := range chunk {
			r.add(id)
		}
		r.chunks = append(r.chunks, chunk)
	}
	r.stored = r.first + uint64(len(r.chunks))
	c.totals.expire(c.now(), c.now().Add(-c.cfg.Expiration))
	return nil
}

// restore reads a series in the form in which it is stored, into its slot.
func (t *totals) restore(slot int, b []byte) error {
	var one series
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	m := instruments.Named(one.Metric)
	if m == nil || len(one.Labels)%2 != 0 || len(one.Own)%2 != 0 || m.Bounds != nil && len(one.Buckets) != len(m.Bounds)+1 {
		return fmt.Errorf("unknown form of %q", one.Metric)
	}
	k := key(one.Metric, one.Service, one.Own, one.Labels)
	if t.byKey[k] == nil {
		for len(t.slots) <= slot {
			t.slots = append(t.slots, nil)
		}
		one.slot = slot
		t.slots[slot], t.byKey[k] = &one, &one
	}
	return nil
}
