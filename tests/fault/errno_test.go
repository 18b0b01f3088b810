package fault_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/trace"
)

// errnoRows have the system calls of the hooks fail.
var errnoRows = append(everyHost(errnoHook), noMemory(&hosts[0]), noMemory(&hosts[1]))

// The errors of a disk, of rights and of limits.
const (
	full        = syscall.ENOSPC
	broken      = syscall.EIO
	files       = syscall.EMFILE
	denied      = syscall.EACCES
	interrupted = syscall.EINTR
	quota       = syscall.EDQUOT
	readOnly    = syscall.EROFS
)

// possible are the errors that the kernel, with one file system or another, can
// return from a call. What is left out fails of a wrong argument alone, or of
// want of memory: see noMemory.
var possible = map[string][]syscall.Errno{
	"openat":     {full, broken, files, denied, interrupted, quota, readOnly},
	"newfstatat": {broken, denied, interrupted},
	"fstat":      {broken, interrupted},
	"read":       {broken, interrupted},
	"pread64":    {broken, interrupted},
	"write":      {full, broken, interrupted, quota},
	"pwrite64":   {full, broken, interrupted, quota},
	"close":      {full, broken, interrupted, quota},
	"flock":      {broken, interrupted},
	"fsync":      {full, broken, interrupted, quota, readOnly},
	"fdatasync":  {full, broken, interrupted, quota, readOnly},
	"ftruncate":  {full, broken, denied, interrupted, quota, readOnly},
	"mkdirat":    {full, broken, denied, quota, readOnly},
	"renameat":   {full, broken, denied, quota, readOnly},
	"unlinkat":   {broken, denied, readOnly},
	"fchmod":     {full, broken, denied, quota, readOnly},
	"fchmodat":   {full, broken, denied, quota, readOnly},
	"fchmodat2":  {full, broken, denied, quota, readOnly},
	"utimensat":  {full, broken, denied, quota, readOnly},
	"getdents64": {broken, interrupted},
	"readlinkat": {broken, denied},
	"getcwd":     {denied},
	"pipe2":      {files},
	"dup3":       {files},
	"socket":     {files, denied},
	"connect":    {denied, interrupted},
	"accept4":    {files, interrupted},
	// These wait, and only that can be broken off.
	"epoll_pwait": {interrupted},
	"nanosleep":   {interrupted},
}

// descriptors are further calls that fail once there is no descriptor left. When
// they alone do, the Go runtime ends the process: see noMemory.
var descriptors = []string{"epoll_create1", "eventfd2"}

// lasting is a fault that from the call on has every call fail that can fail so.
func lasting(at trace.Call, errno syscall.Errno) *trace.Fault {
	return &trace.Fault{At: at, Errno: errno, Lasts: func(name string) bool {
		return slices.Contains(possible[name], errno) || errno == files && slices.Contains(descriptors, name)
	}}
}

// everyFault makes a trial for each error that is possible at each use of each
// call, as everyCall steps through them: once, and lasting from there on. An
// interruption does not last, and in the short form one error for each use does, a
// different one for the next.
func everyFault(calls map[string]int, first, step int, can map[string][]syscall.Errno, trial func(f *trace.Fault, what string) (hit bool)) {
	calls = maps.Clone(calls)
	maps.DeleteFunc(calls, func(name string, _ int) bool { return len(can[name]) == 0 })
	everyCall(calls, first, step, func(c trace.Call) (hit bool) {
		errnos := can[c.Name]
		for i, errno := range errnos {
			what := fmt.Sprintf("%q at %s", errno, c)
			hit = trial(&trace.Fault{At: c, Errno: errno}, what)
			if errno != interrupted && (proof.Soak() || i == c.N%len(errnos)) {
				trial(lasting(c, errno), what+" and from there on")
			}
		}
		return hit
	})
}

func errnoHook(a *host) proof.Row {
	return proof.Row{
		Name: "Every error that a system call of " + a.command() + " can return",
		Rule: "the answer is neutral, nothing else is said, the exit code is 0; earlier events are untouched, later hooks work; an interruption costs no event",
		Run: func(t *testing.T, r *proof.Result) {
			if err := trace.Available(); err != nil {
				r.Skip("%v", err)
			}
			t.Run("in", func(t *testing.T) {
				for _, s := range a.plays() {
					t.Run(s.name, func(t *testing.T) {
						t.Parallel()
						errnoInSituation(t, r, a, &s)
					})
				}
			})
		},
	}
}

func errnoInSituation(t *testing.T, r *proof.Result, a *host, s *situation) {
	w := lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp,file")
	var l ledger
	hook := a.tool
	if s.ends {
		hook = a.end
	}
	n := l.number()
	s.prepare(t, w)
	quiet, err := trace.Run(a.traced(w, hook, s.session(n), n), nil)
	if err != nil {
		t.Fatal(err)
	}
	first, step := a.steps()
	everyFault(quiet.Calls, first, step, possible, func(f *trace.Fault, what string) bool {
		s.prepare(t, w)
		if s.fresh {
			l.acked = nil
		}
		n := l.number()
		end, err := trace.Run(a.traced(w, hook, s.session(n), n), f)
		if err != nil {
			t.Fatal(err)
		}
		if end.Hit {
			r.Trial(1)
		}
		// No program can answer where the answer cannot be written.
		mute := len(end.Stdout) == 0 && f.Errno != interrupted && (f.At.Name == "write" || f.Lasts != nil && f.Lasts("write"))
		if end.Code != 0 || end.Hung || len(end.Stderr) > 0 || string(end.Stdout) != a.answer && !mute {
			r.Break("%s, %s: code %d, signal %q, answered %q, said %.300q", s.name, what, end.Code, end.Signal, end.Stdout, end.Stderr)
		}
		l.acked[n] = f.Errno == interrupted || !end.Hit
		after := l.number()
		if err := a.hook(w, a.tool, s.session(n), after); err != nil {
			r.Break("%s, after %s: %v", s.name, what, err)
		}
		l.acked[after] = true
		if s.fresh {
			records, _ := stored(t, w)
			l.check(t, r, records)
		}
		return end.Hit
	})
	if err := lab.EndDeliveries(w.Home); err != nil {
		t.Fatal(err)
	}
	if _, inMaking := strays(t, w); inMaking > 0 && !s.delivers {
		r.Break("%s: hooks left %d files in the making", s.name, inMaking)
	}
	if _, damage := stored(t, w); damage > 0 {
		r.Break("%s: %d stretches of damage", s.name, damage)
	}
	deliverAll(t, r, w, &l)
}

// noMemory are failures of calls that the Go runtime makes for itself.
func noMemory(a *host) proof.Row {
	can := map[string][]syscall.Errno{
		"mmap": {syscall.ENOMEM}, "munmap": {syscall.ENOMEM}, "madvise": {syscall.ENOMEM, syscall.EAGAIN},
		"clone": {syscall.EAGAIN, syscall.ENOMEM}, "epoll_create1": {files, syscall.ENOMEM},
		"eventfd2": {files, syscall.ENOMEM}, "epoll_ctl": {full, syscall.ENOMEM},
	}
	return proof.Row{
		Name: "No memory, thread or descriptor for the Go runtime of " + a.command(),
		Rule: "half an answer is never given, and once main runs the exit code is never 2",
		Run: func(t *testing.T, r *proof.Result) {
			if err := trace.Available(); err != nil {
				r.Skip("%v", err)
			}
			w := lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp,file")
			var l ledger
			holdSweeps(t, w)
			n := l.number()
			quiet, err := trace.Run(a.traced(w, a.tool, "memory", n), nil)
			if err != nil {
				t.Fatal(err)
			}
			ends := make(map[string]int)
			first, step := a.steps()
			everyFault(quiet.Calls, first, step, can, func(f *trace.Fault, what string) bool {
				holdSweeps(t, w)
				n := l.number()
				if f.Lasts == nil { // The calls after it count.
					f.Lasts = func(string) bool { return false }
				}
				end, err := trace.Run(a.traced(w, a.tool, "memory", n), f)
				if err != nil {
					t.Fatal(err)
				}
				if !end.Hit {
					return false
				}
				r.Trial(1)
				answered := string(end.Stdout) == a.answer
				// A pipe is tried for in the first lines of main.
				inMain := end.Calls["pipe2"] > 0
				if end.Hung || !answered && len(end.Stdout) > 0 || inMain && end.Code == 2 {
					r.Break("%s: code %d, signal %q, answered %q", what, end.Code, end.Signal, end.Stdout)
				}
				switch {
				case end.Code == 0:
					ends["went on"]++
				case end.Code > 0:
					ends[fmt.Sprintf("ended with code %d before main", end.Code)]++
				default:
					ends["ended by "+end.Signal]++
				}
				return true
			})
			records, _ := stored(t, w)
			l.check(t, r, records)
			var told []string
			for _, how := range slices.Sorted(maps.Keys(ends)) {
				told = append(told, fmt.Sprintf("%d %s", ends[how], how))
			}
			r.Note("%s", strings.Join(told, ", "))
		},
	}
}
