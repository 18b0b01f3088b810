package cline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

func TestSDKEnd(t *testing.T) {
	const id = "1795183774559_6x55v"
	ended := time.Date(2026, 11, 20, 14, 9, 37, 620e6, time.UTC)
	tests := []struct {
		name     string
		manifest string
		kind     hook.Kind
		at       time.Time
	}{
		{"under way", `{"status":"running"}`, hook.KindUnknown, time.Time{}},
		{"interrupted", `{"status":"cancelled","ended_at":"2026-11-20T14:09:37.620Z"}`, hook.KindSessionEnd, ended},
		{"completed", `{"status":"completed","ended_at":"2026-11-20T14:09:37.620Z"}`, hook.KindRunComplete, ended},
		{"failed", `{"status":"failed","ended_at":"2026-11-20T14:09:37.620Z"}`, hook.KindRunError, ended},
		{"taken up again", `{"status":"running","ended_at":"2026-11-20T14:09:37.620Z"}`, hook.KindUnknown, time.Time{}},
		{"an end without a time", `{"status":"cancelled","ended_at":"yesterday"}`, hook.KindUnknown, time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			dir := filepath.Join(home, ".cline", "data", "sessions", id)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, id+".json"), []byte(tt.manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			f := &transcript.Files{Home: home, GOOS: "linux"}
			kind, at, err := f.End(context.Background(), Agent, transcript.Query{Session: id, Dialect: DialectSDK})
			if err != nil || kind != tt.kind || !at.Equal(tt.at) {
				t.Errorf("got %s at %s, %v; want %s at %s", kind, at, err, tt.kind, tt.at)
			}
		})
	}
	t.Run("no record", func(t *testing.T) {
		f := &transcript.Files{Home: t.TempDir(), GOOS: "linux"}
		if _, _, err := f.End(context.Background(), Agent, transcript.Query{Session: id, Dialect: DialectSDK}); !errors.Is(err, transcript.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
	})
	t.Run("a hostile id", func(t *testing.T) {
		f := &transcript.Files{Home: t.TempDir(), GOOS: "linux"}
		if _, _, err := f.End(context.Background(), Agent, transcript.Query{Session: "../../etc", Dialect: DialectSDK}); err == nil || errors.Is(err, transcript.ErrNotFound) {
			t.Errorf("got %v, want a refusal", err)
		}
	})
}
