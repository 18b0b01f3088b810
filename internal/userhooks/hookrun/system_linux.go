package hookrun

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervisor starts the hooks of one call of Run and finds their descendants. On
// Linux it makes this process the reaper of orphans, so that a process which forks
// twice stays a descendant.
//
// Three signs show to which hook a process belongs, since a process can lose each:
//
//   - the mark in its environment, which survives fork, exec and setsid, unless a
//     program starts another with a new environment;
//   - its session or group, which is that of the hook until it leaves both;
//   - the chain of its parents, up to a process with either sign. If the parents
//     have ended, the orphan is our child: it belongs to the hook that ran when
//     it started, if there was only one; else it is left alone.
//
// The kernel ends a hook when this process ends (see prctl(2), PR_SET_PDEATHSIG),
// so that no hook runs without a limit. The signal does not reach the processes that
// the hook has started. To the kernel the parent is the thread that starts it, which
// must live until the hook has ended.
type supervisor struct {
	// mu is held while a hook is started, which can hang in the kernel.
	mu sync.Mutex
	// noting guards all and the lives in it. A hook that ends takes no other lock.
	noting sync.Mutex
	all    []*processTree
}

// processTree is a hook and everything that it has started.
type processTree struct {
	supervisor *supervisor
	mark       string
	pid        int
	life       lifetime
	// found are the processes of the tree, with their start, since ids are reused.
	found map[int]uint64
}

// lifetime is when a hook ran, in the ticks since boot that /proc uses. end is 0
// while it runs.
type lifetime struct{ begin, end uint64 }

// begin starts a hook and records it. It starts one at a time, so that every
// child that is seen was recorded.
func (s *supervisor) begin(t *processTree, cmd *exec.Cmd, detached bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Where the kernel refuses, orphans go to the system's own reaper, and those
	// without a mark are not found.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if !detached {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	begin := ticks()
	if err := cmd.Start(); err != nil {
		return err
	}
	s.noting.Lock()
	defer s.noting.Unlock()
	t.pid, t.found, t.life.begin = cmd.Process.Pid, map[int]uint64{}, begin
	s.all = append(s.all, t)
	return nil
}

// ended records that the hook's own process has ended.
func (t *processTree) ended() {
	t.supervisor.noting.Lock()
	defer t.supervisor.noting.Unlock()
	if t.life.end == 0 {
		t.life.end = ticks() + 1
	}
}

// others reports whether a process is another hook, and whether t was the only hook
// that ran when the process started.
func (s *supervisor) others(t *processTree, pid int, started uint64) (hook, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noting.Lock()
	defer s.noting.Unlock()
	alone = true
	for _, o := range s.all {
		if o == t {
			continue
		}
		if o.pid == pid {
			return true, false
		}
		if o.life.begin <= started && (o.life.end == 0 || started <= o.life.end) {
			alone = false
		}
	}
	return false, alone
}

// signalDescendants signals all live processes of the tree. known is false if the
// system's processes cannot be listed.
func (t *processTree) signalDescendants(s syscall.Signal) (alive, known bool) {
	procs := readProcesses()
	if procs == nil {
		return false, false
	}
	t.find(procs)
	for pid, start := range t.found {
		p, ok := procs[pid]
		switch {
		case !ok || p.start != start:
			delete(t.found, pid)
		case !p.dead:
			alive = true
			_ = syscall.Kill(pid, s)
		case p.parent == os.Getpid() && pid != t.pid:
			// An adopted orphan. The hook's own process is reaped elsewhere.
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
	return alive, true
}

// find adds the processes of the tree to those found.
func (t *processTree) find(procs map[int]stat) {
	self := os.Getpid()
	for pid, p := range procs {
		if _, ok := t.found[pid]; ok || pid == self || p.start < t.life.begin {
			continue
		}
		if pid == t.pid || p.group == t.pid || p.session == t.pid || t.marked(pid) {
			t.found[pid] = p.start
		}
	}
	t.followParents(procs)
	own, err := os.Readlink("/proc/self/exe")
	for pid, p := range procs {
		if _, ok := t.found[pid]; ok || p.parent != self || p.start < t.life.begin || t.life.end != 0 && p.start > t.life.end {
			continue
		}
		hook, alone := t.supervisor.others(t, pid, p.start)
		if hook || !alone || p.session == self || p.group == unix.Getpgrp() {
			continue
		}
		// Our own program may have been started by us, to do its own work.
		if exe, e := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe")); err == nil && e == nil && exe == own {
			continue
		}
		t.found[pid] = p.start
	}
	t.followParents(procs)
}

// followParents adds the children of the processes found, and their children.
func (t *processTree) followParents(procs map[int]stat) {
	for more := true; more; {
		more = false
		for pid, p := range procs {
			_, known := t.found[pid]
			_, parent := t.found[p.parent]
			if parent && !known {
				t.found[pid], more = p.start, true
			}
		}
	}
}

// stopHolders ends the processes that hold one of these pipes.
func (t *processTree) stopHolders(pipes ...*os.File) {
	names := map[string]bool{}
	for _, p := range pipes {
		if info, err := p.Stat(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				names["pipe:["+strconv.FormatUint(st.Ino, 10)+"]"] = true
			}
		}
	}
	end(func(s syscall.Signal) bool {
		// A hook that is being started holds all our files until it runs.
		t.supervisor.mu.Lock()
		defer t.supervisor.mu.Unlock()
		alive := false
		for pid, p := range readProcesses() {
			if pid != os.Getpid() && p.start >= t.life.begin && !p.dead && holds(pid, names) {
				alive = true
				_ = syscall.Kill(pid, s)
			}
		}
		return alive
	})
}

// holds reports whether a process has one of the files open.
func holds(pid int, names map[string]bool) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false // another user's
	}
	for _, e := range entries {
		if name, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && names[name] {
			return true
		}
	}
	return false
}

// marked reports whether a process has the tree's mark.
func (t *processTree) marked(pid int) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return err == nil && bytes.Contains(env, []byte(markVariable+"="+t.mark))
}

// stat is the part of /proc/PID/stat that matters here.
type stat struct {
	parent, group, session int
	start                  uint64
	dead                   bool
}

// readProcesses reads all processes, nil where that is not possible.
func readProcesses() map[int]stat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	out := make(map[int]stat, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, ok := readStat(pid); ok {
			out[pid] = s
		}
	}
	return out
}

func readStat(pid int) (stat, bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, false
	}
	return parseStat(data)
}

// parseStat reads the stat of proc(5). The program's name, which may have any
// character, is in brackets before the fields that matter.
func parseStat(data []byte) (s stat, ok bool) {
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if !bytes.Contains(data, []byte{')'}) || len(fields) < 20 {
		return stat{}, false
	}
	number := func(i int) int {
		n, err := strconv.Atoi(string(fields[i]))
		ok = ok && err == nil
		return n
	}
	ok = true
	s = stat{parent: number(1), group: number(2), session: number(3), dead: fields[0][0] == 'Z' || fields[0][0] == 'X'}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if !ok || err != nil {
		return stat{}, false
	}
	s.start = start
	return s, true
}

// ticks is the time since boot in /proc's unit, which is always 10 ms.
func ticks() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return uint64(t.Nano()) / 10_000_000 //nolint:gosec // the system started in the past
}
