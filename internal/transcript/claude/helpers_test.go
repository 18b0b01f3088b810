package claude

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
)

// The helpers of all readers' tests.
var (
	newFinder  = transcripttest.Finder
	write      = transcripttest.Write
	addFiles   = transcripttest.Add
	sum        = transcripttest.Sum
	checkCalls = transcripttest.CheckCalls
)

type total = transcripttest.Total

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}
