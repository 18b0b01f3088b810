// Package queuestorage is the extension file_storage, under the same name and
// with the same settings, for a queue that loses nothing when the Collector is
// killed while it starts.
//
// A queue on disk (exporterhelper 0.158) takes up again at a start what was being
// sent when the Collector ended: it reads those requests, deletes all of them,
// and then puts them back at its end, one transaction each. A kill in between
// loses what is not back yet, up to everything that was being sent. Here such a
// deletion is held back, and each request is deleted in the transaction that puts
// it back.
package queuestorage

import (
	"bytes"
	"context"
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

// GetClient gives exporters, which alone have queues, a client that moves.
func (f files) GetClient(ctx context.Context, kind component.Kind, id component.ID, name string) (storage.Client, error) {
	c, err := f.Extension.GetClient(ctx, kind, id, name)
	if err != nil || kind != component.KindExporter {
		return c, err
	}
	return &client{Client: c}, nil
}

// client tells by the operations of a transaction what the queue does: it reads
// alone and then deletes alone when it takes up again what was being sent; it
// sets alone when it puts a request in; it sets and gets when it takes one out.
type client struct {
	storage.Client

	mu sync.Mutex
	// read is what the last transaction of reading alone returned.
	read []*storage.Operation
	// held is what of it was to be deleted and has not been put back yet.
	held []*storage.Operation
}

// Batch executes the operations in one transaction, and with them the deletions
// that were held back for it.
func (c *client) Batch(ctx context.Context, ops ...*storage.Operation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	gets, sets, deletes := count(ops)
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
	case gets > 0 && len(c.held) > 0:
		// Everything is back. What is held still, nobody can read.
		err := c.Client.Batch(ctx, slices.Concat(ops, deletions(c.held))...)
		if err == nil {
			c.held = nil
		}
		return err
	}
	return c.Client.Batch(ctx, ops...)
}

// hold keeps deletions back and reports true, if they are of what was just read.
func (c *client) hold(ops []*storage.Operation) bool {
	same := slices.EqualFunc(ops, c.read, func(d, r *storage.Operation) bool { return d.Key == r.Key })
	if !same || len(c.held) > 0 {
		return false
	}
	c.held = slices.DeleteFunc(slices.Clone(c.read), func(r *storage.Operation) bool { return r.Value == nil })
	c.read = nil
	return true
}

// put sets, and deletes from where it stood what is put back by that.
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
		// No room for both: the place of the old one is needed.
		if err = c.Client.Batch(ctx, old...); err == nil {
			err = c.Client.Batch(ctx, ops...)
		}
	}
	if err == nil {
		c.held = slices.Delete(c.held, i, i+1)
	}
	return err
}

func deletions(of []*storage.Operation) []*storage.Operation {
	var out []*storage.Operation
	for _, op := range of {
		out = append(out, storage.DeleteOperation(op.Key))
	}
	return out
}

func count(ops []*storage.Operation) (gets, sets, deletes int) {
	for _, op := range ops {
		switch op.Type {
		case storage.Get:
			gets++
		case storage.Set:
			sets++
		case storage.Delete:
			deletes++
		}
	}
	return
}
