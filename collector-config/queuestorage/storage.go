// Package queuestorage is the extension file_storage, under the same name and
// with the same settings, for a queue that loses nothing when the Collector is
// killed during its start, nor when its file is full.
//
// When it starts, a queue on disk (exporterhelper 0.158) restores the requests
// that were being sent when the Collector ended: it reads those requests, deletes
// all of them, and then appends them to the queue, one transaction each. A kill in
// between loses the requests that are not appended yet. This package delays such a
// deletion: each request is deleted in the transaction that appends it.
//
// To take out a request, such a queue notes that and reads the request in one
// transaction. If this fails because the file is full, it deletes the request
// unsent. This package then only reads the request. Deleting a sent request needs room
// too: if there is none, the queue leaves the request in the file. This package deletes
// it later. In both cases the queue's next successful transaction records its state; if
// the Collector is killed before, the request is sent twice.
package queuestorage

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// NewFactory returns the factory of the extension "file_storage".
func NewFactory() extension.Factory {
	inner := filestorage.NewFactory()
	return extension.NewFactory(inner.Type(), inner.CreateDefaultConfig,
		func(ctx context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
			ext, err := inner.Create(ctx, set, cfg)
			if err != nil {
				return nil, err
			}
			return files{ext.(storage.Extension)}, nil
		}, inner.Stability())
}

type files struct{ storage.Extension }

// GetClient gives exporters, the only components with queues, a client that moves
// requests.
func (f files) GetClient(ctx context.Context, kind component.Kind, id component.ID, name string) (storage.Client, error) {
	c, err := f.Extension.GetClient(ctx, kind, id, name)
	if err != nil || kind != component.KindExporter {
		return c, err
	}
	return &client{Client: c}, nil
}

// client recognizes the queue's work by the operations of a transaction: to restore
// requests it only reads and then only deletes; to put a request in it only sets;
// to take one out it sets and gets.
type client struct {
	storage.Client

	mu sync.Mutex
	// read is the result of the last transaction that only read.
	read []*storage.Operation
	// held are the requests of it whose deletion is delayed until they are put back.
	held []*storage.Operation
	// late are deletions for which there was no room.
	late []*storage.Operation
}

// Batch executes the operations in one transaction, together with the deletions
// that were delayed for it.
func (c *client) Batch(ctx context.Context, ops ...*storage.Operation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	gets, sets, deletes := count(ops)
	if len(c.late) > 0 && c.Client.Batch(ctx, c.late...) == nil {
		c.late = nil
	}
	switch {
	case sets+deletes == 0:
		err := c.Client.Batch(ctx, ops...)
		if err == nil {
			c.read = ops
		}
		return err
	case gets+sets == 0 && c.hold(ops):
		return nil
	case gets+deletes == 0:
		return c.put(ctx, ops)
	case gets > 0:
		return c.take(ctx, ops)
	}
	err := c.Client.Batch(ctx, ops...)
	if errors.Is(err, storage.ErrStorageFull) {
		c.late = append(c.late, only(storage.Delete, ops)...)
		err = nil
	}
	return err
}

// hold delays deletions and reports true if they are of the requests just read.
func (c *client) hold(ops []*storage.Operation) bool {
	same := slices.EqualFunc(ops, c.read, func(d, r *storage.Operation) bool { return d.Key == r.Key })
	if !same || len(c.held) > 0 {
		return false
	}
	c.held = slices.DeleteFunc(slices.Clone(c.read), func(r *storage.Operation) bool { return r.Value == nil })
	c.read = nil
	return true
}

// put executes sets and deletes the old copy of the request that they put back.
func (c *client) put(ctx context.Context, ops []*storage.Operation) error {
	c.read = nil
	i := slices.IndexFunc(c.held, func(h *storage.Operation) bool {
		return slices.ContainsFunc(ops, func(op *storage.Operation) bool { return bytes.Equal(op.Value, h.Value) })
	})
	if i < 0 {
		return c.Client.Batch(ctx, ops...)
	}
	old := deletions(c.held[i : i+1])
	err := c.Client.Batch(ctx, slices.Concat(ops, old)...)
	if err != nil {
		// The file has no room for both copies.
		if err = c.Client.Batch(ctx, old...); err == nil {
			err = c.Client.Batch(ctx, ops...)
		}
	}
	if err == nil {
		c.held = slices.Delete(c.held, i, i+1)
	}
	return err
}

// take executes the operations that take out a request, or only those that read it if
// the file is full.
func (c *client) take(ctx context.Context, ops []*storage.Operation) error {
	// All requests are back. The queue could not read those still held.
	err := c.Client.Batch(ctx, slices.Concat(ops, deletions(c.held))...)
	switch {
	case err == nil:
		c.held = nil
	case errors.Is(err, storage.ErrStorageFull):
		err = c.Client.Batch(ctx, only(storage.Get, ops)...)
	}
	return err
}

// only are the operations of a type.
func only(kind storage.OpType, ops []*storage.Operation) []*storage.Operation {
	return slices.DeleteFunc(slices.Clone(ops), func(op *storage.Operation) bool { return op.Type != kind })
}

func deletions(of []*storage.Operation) []*storage.Operation {
	var out []*storage.Operation
	for _, op := range of {
		out = append(out, storage.DeleteOperation(op.Key))
	}
	return out
}

func count(ops []*storage.Operation) (gets, sets, deletes int) {
	return len(only(storage.Get, ops)), len(only(storage.Set, ops)), len(only(storage.Delete, ops))
}
