package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/internal/outbound"
)

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 64 << 10

// postTimeout is the time that the agent-hooks scripts give all bridges together.
const postTimeout = 5 * time.Second

// Deliver posts the events to the provider's path of each bridge. Those that no bridge takes in time go to
// the file, if it is not nil, with the reason. Without ports all go to the file. An
// error means that events are lost.
func Deliver(ctx context.Context, p Provider, ports []int, file *FileStore, events ...[]byte) error {
	pctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	taken, perr := postAll(pctx, p, ports, events)
	rest := events[taken:]
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
		_ = file.LogError(wctx, "http_send_failed", perr, map[string]any{"path": p.Route(), "dataLength": len(bytes.Join(rest, nil))})
	}
	return nil
}

// postAll posts the events to every bridge, in their order. It returns how many of
// them a bridge took, and the errors of all bridges. A bridge that fails on an event
// gets none of the later ones.
func postAll(ctx context.Context, p Provider, ports []int, events [][]byte) (taken int, err error) {
	// The process ends soon: no connection is kept.
	client := outbound.New(outbound.Options{Once: len(events) == 1, MaxAnswer: maxAnswer, Dial: loopback.DialOwn})
	defer client.Close()
	counts, errs := make([]int, len(ports)), make([]error, len(ports))
	var wg sync.WaitGroup
	for i, port := range ports {
		wg.Go(func() {
			for _, e := range events {
				errs[i] = post(ctx, client, p, port, e)
				if errs[i] != nil {
					return
				}
				counts[i]++
			}
		})
	}
	wg.Wait()
	return slices.Max(append(counts, 0)), errors.Join(errs...)
}

func post(ctx context.Context, client *outbound.Client, p Provider, port int, event []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d%s", port, p.Route()), bytes.NewReader(event))
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

// fileWait is how long to wait for other writers of the file.
const fileWait = 10 * time.Second
