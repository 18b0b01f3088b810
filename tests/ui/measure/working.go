package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/ui/sample"
)

// work is what an open page costs while an agent works at three events a second, over a
// store of many traces: processor time in milliseconds for each second.
type work struct {
	Traces  int     `json:"traces"`
	Server  float64 `json:"server"`
	Browser float64 `json:"browser"`
	// Stored is the same for the server while a task is stored each second.
	Stored float64 `json:"stored"`
}

const manyTraces, workTime = 100_000, 20 * time.Second

// fillMany stores tasks of three spans in sessions of four.
func fillMany(ctx context.Context, path string) error {
	s, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	for i := 0; i < manyTraces && err == nil; i += 500 {
		var all []*tracepb.ResourceSpans
		for n := i; n < i+500; n++ {
			t := manyTask(n)
			all = append(all, t.Spans(time.Now())...)
		}
		err = s.UploadTraces(ctx, all)
	}
	return errors.Join(err, s.Close())
}

func manyTask(n int) sample.Task {
	return sample.Task{
		Ago: time.Hour + time.Duration(n)*20*time.Minute, Host: []string{"cline", "claude-code"}[n%2], Model: fmt.Sprintf("claude-model-%d", n%7), Project: fmt.Sprintf("/home/ada/code/p%d", n%40),
		Session: fmt.Sprintf("s%d", n/4), Prompt: fmt.Sprintf("Task %d", n), Outcome: otelmap.OutcomeCompleted,
		Steps: []sample.Step{{Say: "I look.", Took: time.Second, Context: 9000}, {Tool: "Bash", Took: time.Second, Args: map[string]any{"command": "ls"}, Result: "ok"}},
	}
}

// measureWork fills a store in a folder and measures.
func measureWork(ctx context.Context, programs, dir, chromium string) (w work, err error) {
	w.Traces = manyTraces
	path := filepath.Join(dir, "state", "hookspan", "traces.db")
	if err := fillMany(ctx, path); err != nil {
		return w, err
	}
	s, err := start(ctx, programs, dir)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	browser, closeBrowser := chromedp.NewExecAllocator(ctx, chromedp.ExecPath(chromium), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(filepath.Join(dir, "chromium-work")), chromedp.WSURLReadTimeout(time.Minute))
	defer closeBrowser()
	tab, closeTab := chromedp.NewContext(browser, chromedp.WithErrorf(func(string, ...any) {}))
	defer closeTab()
	p := &tabOf{tab, s}
	if err := chromedp.Run(tab, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.address)); err != nil {
		return w, err
	}
	if err := p.wait(`/live|no hooks/.test(document.querySelector(".live")?.innerText) && document.querySelectorAll(".task").length > 20`); err != nil {
		return w, err
	}
	n := 0
	event := func() error {
		n++
		name := []string{"PreToolUse", "PostToolUse"}[n%2]
		return s.hook(ctx, fmt.Sprintf(`{"session_id":"working","transcript_path":"","cwd":"/work","hook_event_name":%q,"tool_name":"Bash","tool_input":{"command":"echo %d"},"tool_use_id":"t%d"}`, name, n/2, n/2))
	}
	if err := s.hook(ctx, `{"session_id":"working","transcript_path":"","cwd":"/work","hook_event_name":"UserPromptSubmit","prompt":"Work"}`); err != nil {
		return w, err
	}
	pid := chromedp.FromContext(tab).Browser.Process().Pid
	during := func(every time.Duration, f func() error) (server, browser float64, err error) {
		time.Sleep(2 * time.Second)
		before, err := s.processor()
		if err != nil {
			return 0, 0, err
		}
		tree := treeTime(pid)
		begin := time.Now()
		for next := begin; time.Since(begin) < workTime; next = next.Add(every) {
			time.Sleep(time.Until(next))
			if err := f(); err != nil {
				return 0, 0, err
			}
		}
		after, err := s.processor()
		took := time.Since(begin).Seconds()
		return (after - before) / took, (treeTime(pid) - tree) / took, err
	}
	if w.Server, w.Browser, err = during(time.Second/3, event); err != nil {
		return w, err
	}
	st, err := store.Open(ctx, path)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	w.Stored, _, err = during(time.Second, func() error {
		n++
		t := manyTask(manyTraces + n)
		t.Ago = time.Minute
		return st.UploadTraces(ctx, t.Spans(time.Now()))
	})
	return w, err
}

// treeTime is the processor time of a process and those below it, in milliseconds.
func treeTime(pid int) (ms float64) {
	parents, times := make(map[int]int), make(map[int]float64)
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // It has ended.
		}
		_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')'):]), " ")
		f := strings.Fields(rest)
		id, _ := strconv.Atoi(strings.Split(path, "/")[2])
		parents[id], _ = strconv.Atoi(f[1])
		user, _ := strconv.ParseFloat(f[11], 64)
		system, _ := strconv.ParseFloat(f[12], 64)
		times[id] = (user + system) * 10
	}
	for id, t := range times {
		for up := id; up > 1; up = parents[up] {
			if up == pid {
				ms += t
				break
			}
		}
	}
	return ms
}
