package bridge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hookspan/hookspan/internal/outbound"
)

// Client posts events to bridges on this machine.
type Client struct {
	// Ports are the bridges; each gets every event.
	Ports []int
	// Route is the path; if empty, Cline's.
	Route string
}

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 64 << 10

// Post posts the events to every bridge, in their order, until the context ends. It
// reports for each event whether a bridge took it, and the errors of all bridges.
// A bridge that fails on an event gets none of the later ones.
func (c *Client) Post(ctx context.Context, events ...[]byte) (taken []bool, err error) {
	// The process ends soon: no connection is kept.
	client := outbound.New(outbound.Options{Once: len(events) == 1, MaxAnswer: maxAnswer, Dial: dialOwn})
	defer client.Close()
	counts, errs := make([]int, len(c.Ports)), make([]error, len(c.Ports))
	var wg sync.WaitGroup
	for i, port := range c.Ports {
		wg.Go(func() {
			for _, e := range events {
				if errs[i] = c.post(ctx, client, port, e); errs[i] != nil {
					return
				}
				counts[i]++
			}
		})
	}
	wg.Wait()
	taken = make([]bool, len(events))
	for _, n := range counts {
		for i := range n {
			taken[i] = true
		}
	}
	return taken, errors.Join(errs...)
}

func (c *Client) post(ctx context.Context, client *outbound.Client, port int, event []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address("127.0.0.1", port)+cmp.Or(c.Route, Cline.Route()), bytes.NewReader(event))
	if err != nil {
		return fmt.Errorf("bridge on port %d: %w", port, err)
	}
	req.Header.Set("Content-Type", "application/json")
	a, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("bridge on port %d: %w", port, err)
	}
	// The status alone counts.
	if a.Status != http.StatusOK && a.Status != http.StatusCreated {
		return fmt.Errorf("bridge on port %d: found status %d, want 200 or 201", port, a.Status)
	}
	return nil
}

// PostTimeout is the time that the agent-hooks scripts give all bridges together.
const PostTimeout = 5 * time.Second

// Deliver posts the events. Those that no bridge takes within the limit go to the
// file, if it is not nil, with the reason. Without ports all go to the file. If
// limit is zero, it is PostTimeout. An error means that events are lost.
func Deliver(ctx context.Context, ports []int, limit time.Duration, file *FileStore, events ...[]byte) error {
	rest := events
	var perr error
	if len(ports) > 0 {
		pctx, cancel := context.WithTimeout(ctx, cmp.Or(limit, PostTimeout))
		defer cancel()
		taken, err := (&Client{Ports: ports}).Post(pctx, events...)
		rest, perr = nil, err
		for i, e := range events {
			if !taken[i] {
				rest = append(rest, e)
			}
		}
	}
	if len(rest) == 0 {
		return nil
	}
	if file == nil {
		return fmt.Errorf("%d of %d events lost: %w", len(rest), len(events), perr)
	}
	// The time limit for bridges does not apply to the file.
	wctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fileWait)
	defer cancel()
	if err := file.Append(wctx, rest...); err != nil {
		return fmt.Errorf("%d of %d events lost: %w", len(rest), len(events), errors.Join(perr, err))
	}
	if perr != nil {
		_ = file.LogError(wctx, "http_send_failed", perr, map[string]any{"path": Cline.Route(), "dataLength": size(rest)})
	}
	return nil
}

// fileWait is how long to wait for other writers of the file.
const fileWait = 10 * time.Second

func size(events [][]byte) (n int) {
	for _, e := range events {
		n += len(e)
	}
	return n
}
