package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pageFigures are what tests/ui/measure writes: times in milliseconds, sizes in MiB.
type pageFigures struct {
	Spans                                              int
	Paint, Rows, Warm, Small, Fold, Unfold, Next, Live []float64
	MostRows                                           int
	Idle, Open, Peak, After, CPU                       float64
	AssetBytes, AssetGzipBytes                         int
	// Work is what an open page costs while an agent works, in milliseconds a second.
	Work struct{ Server, Browser, Stored float64 }
}

// What the page may take, in milliseconds and MiB.
const (
	paintMost, rowsMost, keyMost, liveMost = 200, 500, 50, 500
	pageIdleMost, pageOpenMost             = 40, 128
	assetsMost, packedMost                 = 200_000, 62_500 // bytes, as the test of the bundle has them
	workMost                               = 100
	// A page with a few dozen rows that takes longer than this is of a busy machine.
	smallMost = 150
)

// thePage opens tasks of 100,000 spans in Chromium. What drives it is in another module.
func thePage(ctx context.Context, f *field, _ options) (report, error) {
	if _, err := exec.LookPath("chromium"); err != nil {
		return report{text: "Not measured: no chromium on this machine.\n"}, nil
	}
	program := filepath.Join(f.root, "measure")
	build := exec.CommandContext(ctx, "go", "-C", filepath.Join("..", "ui"), "build", "-o", program, "./measure") //nolint:gosec // constant but for folders
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return report{}, fmt.Errorf("build tests/ui/measure: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, filepath.Dir(f.program("hookspan"))) //nolint:gosec // built above
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return report{}, fmt.Errorf("measure: %w", err)
	}
	var p pageFigures
	if err := json.Unmarshal(out, &p); err != nil {
		return report{}, fmt.Errorf("measure wrote %.200q: %w", out, err)
	}
	return p.report(), nil
}

// p50p95 returns the middle and all but the last twentieth of milliseconds.
func p50p95(ms []float64) (p50, p95 float64) {
	var took []time.Duration
	for _, m := range ms {
		took = append(took, time.Duration(m*float64(time.Millisecond)))
	}
	return quantile(took, 0.5).Seconds() * 1e3, quantile(took, 0.95).Seconds() * 1e3
}

func (p *pageFigures) report() report {
	var b strings.Builder
	small, _ := p50p95(p.Small)
	fmt.Fprintf(&b, "Two tasks of %d spans, of which the server keeps one, in Chromium without a screen.\n\n", p.Spans)
	b.WriteString("| what | p50 ms | p95 ms | p50 to a small task's rows |\n|---|--:|--:|--:|\n")
	for _, row := range []struct {
		name string
		ms   []float64
	}{
		{"first text of a view", p.Paint},
		{"rows of a small task", p.Small},
		{"rows of a large task", p.Rows},
		{"again", p.Warm},
		{"fold 100,001 rows, from the key until it is painted", p.Fold},
		{"unfold them", p.Unfold},
		{"next failure, with its text", p.Next},
		{"a hook has answered, until its row is painted", p.Live},
	} {
		half, most := p50p95(row.ms)
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.2f |\n", row.name, half, most, half/max(small, 1))
	}
	fmt.Fprintf(&b, "\n| the server | |\n|---|--:|\n| MiB before the first page | %.0f |\n| MiB with a large task open | %.0f |\n| MiB at most | %.0f |\n| MiB 40 s after the page was closed | %.0f |\n| processor ms in 10 s without a page | %.1f |\n| rows in the document, at most | %d |\n| KB of the page's files | %.1f |\n| and compressed by gzip | %.1f |\n",
		p.Idle, p.Open, p.Peak, p.After, p.CPU, p.MostRows, float64(p.AssetBytes)/1e3, float64(p.AssetGzipBytes)/1e3)
	fmt.Fprintf(&b, "\n| an open list of 100,000 tasks, processor ms a second | server | browser |\n|---|--:|--:|\n| an agent reports three events a second | %.0f | %.0f |\n| a task is stored each second | %.0f | |\n", p.Work.Server, p.Work.Browser, p.Work.Stored)
	r := report{text: b.String()}
	within := func(what string, ms []float64, most float64) {
		half, worst := p50p95(ms)
		r.budgets = append(r.budgets, budget{
			what: fmt.Sprintf("%s takes at most %.0f ms at p95", what, most), found: fmt.Sprintf("%.0f ms, %.0f ms at p50; a small task %.0f ms", worst, half, small),
			kept: worst <= most, busy: small > smallMost,
		})
	}
	within("the first text of the page", p.Paint, paintMost)
	within("showing the rows of a task of 100,000 spans", p.Rows, rowsMost)
	within("folding them", p.Fold, keyMost)
	within("the next failure among them", p.Next, keyMost)
	within("from a hook's answer to its row on the page", p.Live, liveMost)
	r.budgets = append(r.budgets,
		budget{what: fmt.Sprintf("the page's server has at most %d MiB without a page, %d MiB with such a task", pageIdleMost, pageOpenMost), found: fmt.Sprintf("%.0f and %.0f MiB", p.Idle, p.Peak), kept: p.Idle <= pageIdleMost && p.Peak <= pageOpenMost},
		budget{what: fmt.Sprintf("the page's files have at most %g KB, %g KB by gzip", assetsMost/1e3, packedMost/1e3), found: fmt.Sprintf("%.0f and %.1f KB", float64(p.AssetBytes)/1e3, float64(p.AssetGzipBytes)/1e3), kept: p.AssetBytes <= assetsMost && p.AssetGzipBytes <= packedMost},
		budget{what: fmt.Sprintf("an open page over 100,000 tasks takes at most %d ms a second while an agent works", workMost), found: fmt.Sprintf("%.0f ms", p.Work.Server+p.Work.Browser), kept: p.Work.Server+p.Work.Browser <= workMost, busy: small > smallMost},
		budget{what: "the page has at most 100 rows in the document", found: fmt.Sprint(p.MostRows), kept: p.MostRows <= 100},
	)
	return r
}
