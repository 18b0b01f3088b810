package main

import (
	"context"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/otelmap"
)

// loaded is the program with these variables, its settings read.
func loaded(t *testing.T, vars ...string) *app {
	t.Helper()
	a, _, stderr := newTestApp(t, "version")
	a.environ = append(a.environ, vars...)
	if code := run(context.Background(), a); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return a
}

func TestJudge(t *testing.T) {
	mine := loaded(t, "HOOKSPAN_CAPTURE=full")
	own := "full/" + mine.cfg.Fingerprint()
	other := "none/" + loaded(t, "HOOKSPAN_CAPTURE=none").cfg.Fingerprint()
	for _, tt := range []struct {
		name, settings string
		byHand         bool
		capture        otelmap.Capture
		same           bool
	}{
		{"its own", own, false, otelmap.CaptureFull, true},
		{"another project's", other, false, otelmap.CaptureNone, false},
		{"another project's, by hand", other, true, otelmap.CaptureNone, false},
		{"under no variables", "preview/", false, otelmap.CapturePreview, false},
		{"under no variables, by hand", "preview/", true, otelmap.CapturePreview, true},
		{"of a record that does not say", "", false, otelmap.CaptureFull, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mine.byHand = tt.byHand
			capture, same := mine.judge(tt.settings)
			if capture != tt.capture || same != tt.same {
				t.Errorf("got %s, %t; want %s, %t", capture, same, tt.capture, tt.same)
			}
		})
	}
}

func TestWithoutTheStoreWhatIsRefusedStaysInTheLog(t *testing.T) {
	for exporters, keep := range map[string]bool{"otlp": true, "store,otlp": false} {
		p, err := loaded(t, "HOOKSPAN_EXPORTERS="+exporters).pipeline(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if p.KeepRefused != keep || (p.Stored == nil) != keep {
			t.Errorf("%s: kept in the log %t, sent from the store %t", exporters, p.KeepRefused, p.Stored != nil)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNothingGoesOutWithoutTheUsersRules(t *testing.T) {
	for _, v := range []string{"HOOKSPAN_REDACT_FILE=rules", "HOOKSPAN_CONFIG_FILE=my.env"} {
		a := loaded(t, v)
		name, _, _ := strings.Cut(v, "=")
		if p, err := a.pipeline(context.Background()); err == nil {
			_ = p.Close()
			t.Errorf("%s: a delivery was set up", v)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v does not name it", v, err)
		}
	}
}

func TestPlaceHoldsNoCredential(t *testing.T) {
	for in, want := range map[string]string{
		"http://localhost:4318/v1/traces":             "http://localhost:4318/v1/traces",
		"https://user:pw@h.example/v1/traces?key=abc": "https://h.example/v1/traces",
		"https://pw@[broken":                          "an endpoint that is no URL",
	} {
		if got := place(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
