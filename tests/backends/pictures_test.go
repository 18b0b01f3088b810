package backends

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// shown is the recorded task in the pictures of the documentation.
const shown = "2d8b5ea5ce50f1f57d654ab503c57379"

func TestPictureOfPhoenix(t *testing.T) {
	from := picturing(t)
	base := startPhoenix(t)
	from.hookspan(t, endpoint{url: base}, nil, "export", "--to", "otlp", "--yes", shown)
	type project struct {
		ID    string
		Trace struct {
			Spans nodes[struct{ ID, Name string }]
		}
	}
	const request = "chat claude-sonnet-5"
	var span string
	var p project
	await(t, "the task in Phoenix", func(ctx context.Context) (err error) {
		p, err = askPhoenix[project](ctx, base, `id trace(traceId: "`+shown+`") { spans(first: 100) { edges { node { id name } } } }`)
		for _, e := range p.Trace.Spans.Edges {
			if e.Node.Name == request {
				span = e.Node.ID
			}
		}
		if err == nil && span == "" {
			err = errors.New("no span " + request)
		}
		return err
	})
	shoot(t, base+"/projects/"+p.ID+"/traces/"+shown+"?selectedSpanNodeId="+span, "phoenix", 1440)
}

func TestPictureOfMLflow(t *testing.T) {
	from := picturing(t)
	m := startMLflow(t)
	from.hookspan(t, m.endpoint(), nil, "export", "--to", "otlp", "--yes", shown)
	// Beside the task's panel there are hints that have nothing to do with it.
	shoot(t, m.base+"/#/experiments/"+m.experiment+"/traces?selectedEvaluationId=tr-"+shown, "mlflow", 1008)
}

// picturing skips a test unless pictures are wanted.
func picturing(t *testing.T) *sender {
	t.Helper()
	asked(t)
	if *pictures == "" {
		skip.Elsewhere(t, "make backend-pictures writes the pictures")
	}
	return newSender(t)
}

// shoot writes a picture of a page, of which it keeps the left part. The browser's time
// passes only while the page waits for no answer.
func shoot(t *testing.T, page, name string, width int) {
	t.Helper()
	file := filepath.Join(*pictures, "backend-"+name+".png")
	cmd := exec.CommandContext(t.Context(), "chromium-headless-shell", "--no-sandbox", "--hide-scrollbars", "--disable-gpu", //nolint:gosec // A page on loopback.
		"--user-data-dir="+t.TempDir(), "--window-size=1440,900", "--virtual-time-budget=60000", "--screenshot="+file, page)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	whole, err := os.ReadFile(file) //nolint:gosec // Just written.
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	kept := image.NewRGBA(image.Rect(0, 0, width, picture.Bounds().Dy()))
	draw.Draw(kept, kept.Bounds(), picture, image.Point{}, draw.Src)
	var part bytes.Buffer
	if err := png.Encode(&part, kept); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, part.Bytes(), 0o644); err != nil { //nolint:gosec // Part of the documentation.
		t.Fatal(err)
	}
}
