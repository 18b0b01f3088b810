package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// FillRecorded stores the recorded sessions of all agents: what their hooks reported,
// mapped by the real programs, as in tests/golden. root is the project's folder.
func FillRecorded(ctx context.Context, s *store.Store, root string) error {
	files, err := filepath.Glob(filepath.Join(root, "tests", "golden", "testdata", "*.otlp.json"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no recorded sessions below %s", root)
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		b, err := os.ReadFile(file) //nolint:gosec // The tests' data.
		if err != nil {
			return err
		}
		for dec := json.NewDecoder(bytes.NewReader(b)); dec.More(); {
			var doc json.RawMessage
			if err := dec.Decode(&doc); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			req, err := otlptest.DecodeJSON(doc)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if err := s.UploadTraces(ctx, req.GetResourceSpans()); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}
