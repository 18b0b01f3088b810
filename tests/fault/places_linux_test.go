package fault_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// placeRows put something else where the programs' folders and files should be.
var placeRows = []proof.Row{
	{
		Name: "home and XDG folders that are missing, no folders, or not the user's",
		Rule: "each hook answers neutrally and exits with 0; events are stored wherever there is a folder for them",
		Run:  strangeHomes,
	},
	{
		Name: "a link, a fifo, a socket, another user's or a shared file where the spool should be",
		Rule: "never hangs, never follows it; hooks answer neutrally, the log or the doctor reports it; once it is gone all is stored and delivered",
		Run:  func(t *testing.T, r *proof.Result) { wrongPlaces(t, r, spoolPlaces(), false) },
	},
	{
		Name: "the same where delivery states and the trace store should be",
		Rule: "never hangs; the other destinations get everything; once it is gone that one does",
		Rest: true,
		Run:  func(t *testing.T, r *proof.Result) { wrongPlaces(t, r, deliveryPlaces(), true) },
	},
	{
		Name: "the same where the log, the settings and the sweep's stamp should be",
		Rule: "never hangs; events are stored, deliveries continue or report the obstacle",
		Rest: true,
		Run:  func(t *testing.T, r *proof.Result) { wrongPlaces(t, r, sidePlaces(), true) },
	},
}

// nobody is the id of a user that has no entry in the system's user database.
const nobody = 54321

// kinds are what can be in the place of a file or a folder. The word is
// in what is said of it.
var kinds = []struct {
	name string
	make func(s *site, path string)
}{
	{"a folder", func(s *site, path string) { s.ok(os.Mkdir(path, 0o700)) }},
	{"a fifo", func(s *site, path string) { s.ok(syscall.Mkfifo(path, 0o600)) }},
	{"a socket", func(s *site, path string) { s.socket(path) }},
	{"a link to nowhere", func(s *site, path string) { s.ok(os.Symlink(filepath.Join(s.Home, "nowhere"), path)) }},
	{"a link to itself", func(s *site, path string) { s.ok(os.Symlink(path, path)) }},
	{"a link to a folder", func(s *site, path string) { s.ok(os.Symlink(s.Work, path)) }},
	{"a link to /dev/zero", func(s *site, path string) { s.ok(os.Symlink("/dev/zero", path)) }},
	{"a link to /dev/full", func(s *site, path string) { s.ok(os.Symlink("/dev/full", path)) }},
	{"garbage", func(s *site, path string) { s.ok(os.WriteFile(path, bytes.Repeat([]byte("\xff\x00{\n"), 4000), 0o600)) }},
	{"an empty file", func(s *site, path string) { s.ok(os.WriteFile(path, nil, 0o600)) }},
}

// socket binds in the folder's own name: a socket's name must be short.
func (s *site) socket(path string) {
	s.t.Helper()
	dir, err := os.Open(filepath.Dir(path))
	s.ok(err)
	defer func() { _ = dir.Close() }()
	l, err := (&net.ListenConfig{}).Listen(s.t.Context(), "unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
	s.ok(err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	s.ok(l.Close())
}

// place is one thing that is wrong.
type place struct {
	name string
	// make makes it and returns what mends it.
	make func(s *site) (undo func())
	// stores says that hooks store events nevertheless, anyhow that they may or
	// may not.
	stores, anyhow bool
	// sent are the destinations that have to get everything meanwhile.
	sent []string
	// told is a word that must be in the log or in doctor's output; empty for no requirement.
	told string
}

// inPlace makes a place for each kind, of a path.
func inPlace(what string, path func(s *site) []string, p place, without ...string) []place {
	var all []place
	for _, k := range kinds {
		if strings.Contains(strings.Join(without, "|"), k.name) {
			continue
		}
		one := p
		one.name = k.name + " where " + what + " should be"
		one.make = func(s *site) func() {
			var undo []func()
			for _, path := range path(s) {
				undo = append(undo, s.replace(path, func(path string) { k.make(s, path) }))
			}
			return func() {
				for _, f := range undo {
					f()
				}
			}
		}
		all = append(all, one)
	}
	return all
}

// replace puts something else in a path's place.
func (s *site) replace(path string, make func(path string)) (undo func()) {
	s.t.Helper()
	s.aside++
	aside := filepath.Join(s.Home, fmt.Sprintf("aside-%d", s.aside))
	err := os.Rename(path, aside)
	there := err == nil
	if !there && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	s.ok(os.MkdirAll(filepath.Dir(path), 0o700))
	make(path)
	return func() {
		s.ok(os.RemoveAll(path))
		if there {
			s.ok(os.Rename(aside, path))
		}
	}
}

// change changes paths and changes them back.
func change(what string, path func(s *site) []string, p place, do, undo func(path string) error) place {
	p.name = what
	p.make = func(s *site) func() {
		for _, path := range path(s) {
			s.ok(do(path))
		}
		return func() {
			for _, path := range path(s) {
				s.ok(undo(path))
			}
		}
	}
	return p
}

func chmod(mode os.FileMode) func(string) error {
	return func(path string) error { return os.Chmod(path, mode) }
}

func chown(uid int) func(string) error {
	return func(path string) error { return os.Lchown(path, uid, uid) }
}

func stateFolder(s *site) []string { return []string{s.State()} }
func spoolFolder(s *site) []string { return []string{s.spoolDir()} }

func hostFolders(s *site) (all []string) {
	for _, a := range agents {
		all = append(all, filepath.Join(s.spoolDir(), a.host))
	}
	return all
}

func sessionFolders(s *site) (all []string) {
	for _, a := range agents {
		all = append(all, filepath.Join(s.spoolDir(), spool.SessionKey(a.host, s.session).String()))
	}
	return all
}

func inSessions(name string) func(s *site) []string {
	return func(s *site) (all []string) {
		for _, dir := range sessionFolders(s) {
			all = append(all, filepath.Join(dir, name))
		}
		return all
	}
}

func inState(name string) func(s *site) []string {
	return func(s *site) []string { return []string{filepath.Join(s.State(), name)} }
}

func spoolPlaces() []place {
	logs := inSessions("events.json-seq")
	unsafe := place{told: "not safe to use"}
	all := inPlace("the state folder", stateFolder, place{anyhow: true}, "a link to a folder", "a folder")
	all = append(all, inPlace("the spool", spoolFolder, unsafe, "a folder")...)
	all = append(all, inPlace("a host's folder", hostFolders, unsafe, "a folder")...)
	all = append(all, inPlace("a session's folder", sessionFolders, unsafe, "a folder")...)
	all = append(all, inPlace("a session's log", logs, unsafe, "garbage", "an empty file")...)
	// What hooks store there goes with it.
	all = append(all, inPlace("a session's log", logs, place{anyhow: true},
		"a folder", "a fifo", "a socket", "a link to nowhere", "a link to itself", "a link to a folder", "a link to /dev/zero", "a link to /dev/full")...)
	all = append(all,
		change("a second name of a session's log", logs, unsafe,
			func(path string) error { return os.Link(path, path+".twin") }, func(path string) error { return os.Remove(path + ".twin") }),
		change("a log of mode 0666", logs, unsafe, chmod(0o666), chmod(0o600)),
		change("a log of mode 0", logs, place{stores: true}, chmod(0), chmod(0o600)),
		change("a session's folder of mode 0777", sessionFolders, unsafe, chmod(0o777), chmod(0o700)),
		change("a host's folder of mode 0777", hostFolders, unsafe, chmod(0o777), chmod(0o700)),
		change("a spool of mode 0777", spoolFolder, unsafe, chmod(0o777), chmod(0o700)),
		change("a spool of mode 0555", spoolFolder, place{anyhow: true}, chmod(0o555), chmod(0o700)),
	)
	if os.Geteuid() == 0 {
		all = append(all,
			change("another user's log", logs, unsafe, chown(nobody), chown(0)),
			change("another user's session folder", sessionFolders, unsafe, chown(nobody), chown(0)),
			change("another user's host folder", hostFolders, unsafe, chown(nobody), chown(0)),
			change("another user's spool", spoolFolder, unsafe, chown(nobody), chown(0)),
			change("another user's state folder", stateFolder, place{anyhow: true}, chown(nobody), chown(0)),
		)
	}
	return all
}

func deliveryPlaces() []place {
	others := []string{"store", "file"}
	all := inPlace("the delivery state of otlp", inSessions("delivery-otlp.json"), place{stores: true, sent: others})
	all = append(all, inPlace("the lock of otlp", inSessions("otlp.lock"), place{stores: true, sent: others})...)
	stores := place{stores: true, sent: []string{"otlp", "file"}}
	all = append(all, inPlace("the delivery state of the store", inSessions("delivery-store.json"), stores)...)
	broken := stores
	broken.told = "traces.db"
	// An empty file becomes a store, and so does what a link leads to; the others
	// are refused.
	all = append(all, inPlace("the trace store", inState("traces.db"), broken, "an empty file", "a link to nowhere")...)
	all = append(all, inPlace("the trace store's log", inState("traces.db-wal"), stores)...)
	all = append(all, inPlace("the trace store's index", inState("traces.db-shm"), stores)...)
	for _, text := range []string{`{"v":99}`, `null`, `[]`, `{"v":1,"offset":-1}`, `{"v":1,"offset":99999999}`, `{"v":1,"offset":3}`, `{"v":1,"off`} {
		all = append(all, place{name: "a delivery state " + text, stores: true, sent: others, make: func(s *site) func() {
			var undo []func()
			for _, path := range inSessions("delivery-otlp.json")(s) {
				undo = append(undo, s.replace(path, func(path string) { s.ok(os.WriteFile(path, []byte(text), 0o600)) }))
			}
			return func() {
				for _, f := range undo {
					f()
				}
			}
		}})
	}
	if os.Geteuid() == 0 {
		all = append(all,
			change("another user's trace store", inState("traces.db"), stores, chown(nobody), chown(0)),
			change("another user's delivery state", inSessions("delivery-otlp.json"), place{stores: true, sent: others}, chown(nobody), chown(0)),
		)
	}
	return all
}

func sidePlaces() []place {
	config := func(s *site) []string { return []string{filepath.Join(s.Home, ".config", "hookspan", "hookspan.env")} }
	fine := place{stores: true}
	all := inPlace("the log", inState("hookspan.log"), fine)
	all = append(all, inPlace("the sweep's stamp", func(s *site) []string { return []string{filepath.Join(s.spoolDir(), "sweep.stamp")} }, fine)...)
	all = append(all, inPlace("the settings", config, fine)...)
	all = append(all, inPlace("the settings' folder", func(s *site) []string { return []string{filepath.Dir(config(s)[0])} }, fine)...)
	all = append(all, inPlace("the project's settings", func(s *site) []string { return []string{filepath.Join(s.Work, ".hookspan.env")} }, fine)...)
	all = append(all, inPlace("the redaction rules", func(s *site) []string { return []string{filepath.Join(filepath.Dir(config(s)[0]), "redact.rules")} }, fine)...)
	return all
}

// wrongPlaces makes each place in separate sessions, which have a run that
// waits, and maybe one that was delivered. The hooks belong to these sessions
// too, or to others apart, which spares waiting for a run to settle.
func wrongPlaces(t *testing.T, r *proof.Result, places []place, apart bool) {
	s := newSite(t, r)
	var sessions []string
	for i, p := range places {
		if !proof.Soak() && i%2 == 1 {
			continue
		}
		s.quiet()
		s.mark()
		s.session = fmt.Sprintf("place-%d", i)
		sessions = append(sessions, s.session)
		s.run()
		if len(p.sent) > 0 {
			s.recover(p.name)
			s.run()
		}
		waits := s.n
		undo := p.make(s)
		var tried []int
		own := s.session
		if apart {
			s.session = "apart"
		}
		for i := range agents {
			s.try(p.name, &agents[i], s.call(&agents[i]))
			tried = append(tried, s.n)
		}
		s.session = own
		s.flush(p.name)
		if p.told != "" {
			s.tells(p.name, p.told)
		}
		for _, name := range p.sent {
			if got := s.arrived(name); !got[waits] {
				r.Break("%s: %s has not got what waited", p.name, name)
			}
		}
		undo()
		s.look(p.name)
		for i, n := range tried {
			if got := s.stored[n] == 1; !p.anyhow && got != p.stores {
				r.Break("%s: %s: the event is stored: %v, want %v%s", p.name, agents[i].program, got, p.stores, s.said())
			}
		}
		if i%10 == 0 {
			s.recover(p.name)
		}
	}
	if apart {
		sessions = []string{"apart"}
	}
	for _, s.session = range sessions {
		s.end()
	}
	s.session = "last"
	s.finish("wrong places")
}

// strangeHomes starts hooks with homes of all kinds.
func strangeHomes(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	file := filepath.Join(s.Home, "file")
	s.ok(os.WriteFile(file, nil, 0o600))
	shut := filepath.Join(s.Home, "shut")
	s.ok(os.Mkdir(shut, 0))
	odd := filepath.Join(s.Home, "a b\n$(c)'\"\\\x01\xff")
	long := filepath.Join(s.Home, strings.Repeat("long/", 900))
	for _, tc := range []struct {
		env []string
		// state is where the event has to be, empty for nowhere or anywhere.
		state string
	}{
		{[]string{"HOME=" + filepath.Join(s.Home, "new", "deep")}, filepath.Join(s.Home, "new", "deep", ".local", "state")},
		{[]string{"HOME=" + odd}, filepath.Join(odd, ".local", "state")},
		{[]string{"HOME=" + s.Home + "/", "XDG_STATE_HOME=relative"}, filepath.Join(s.Home, ".local", "state")},
		{[]string{"HOME=" + s.Home + "/./y//"}, filepath.Join(s.Home, "y", ".local", "state")},
		{[]string{"HOME=" + s.Home, "XDG_STATE_HOME=" + filepath.Join(s.Home, "xdg", "state")}, filepath.Join(s.Home, "xdg", "state")},
		{[]string{"HOME=" + s.Home, "XDG_CONFIG_HOME=/dev/null/x"}, filepath.Join(s.Home, ".local", "state")},
		{[]string{"HOME=relative", "XDG_STATE_HOME=" + filepath.Join(s.Home, "other")}, filepath.Join(s.Home, "other")},
		{[]string{"HOME=" + s.Home, "XDG_STATE_HOME=" + file}, ""},
		{[]string{"HOME=" + s.Home, "XDG_STATE_HOME=/dev/null"}, ""},
		{[]string{"HOME=" + s.Home, "XDG_STATE_HOME=/proc/self/nothing"}, ""},
		{[]string{"HOME=" + s.Home, "XDG_STATE_HOME=/sys"}, ""},
		{[]string{"HOME=" + file}, ""},
		{[]string{"HOME=/dev/null"}, ""},
		{[]string{"HOME=" + shut}, ""},
		{[]string{"HOME=" + long}, ""},
		{[]string{"HOME=."}, ""},
		{[]string{"HOME=~"}, ""},
		{[]string{"HOME=\xff\xfe"}, ""},
	} {
		for i := range agents {
			s.inHome(fmt.Sprintf("%.300q", tc.env), &agents[i], tc.env, tc.state)
		}
	}
	if os.Geteuid() == 0 {
		// The programs of the user nobody find no home in the system's list of users, and may
		// write to none of these.
		for _, env := range [][]string{{}, {"HOME="}, {"HOME=/"}, {"HOME=" + s.Home}, {"HOME=" + shut}, {"HOME=relative"}} {
			for i := range agents {
				s.inHome(fmt.Sprintf("nobody, %q", env), &agents[i], env, "", fmt.Sprintf("uid=%d", nobody))
			}
		}
	}
	s.finish("strange homes")
}

// inHome makes a call with an environment and looks for the event.
func (s *site) inHome(what string, a *agent, env []string, state string, launch ...string) {
	s.t.Helper()
	c := s.call(a)
	c.Environ, c.Launch = append([]string{"PATH=" + os.Getenv("PATH")}, env...), launch
	if len(launch) > 0 {
		c.Dir = "/"
	}
	s.try(what, a, c)
	o := s.Call(lab.Call{Program: "hookspan", Args: []string{"status"}, Environ: c.Environ, Launch: launch, Dir: c.Dir})
	if o.Code < 0 || o.Code != 0 && o.Err == "" {
		s.r.Break("%s: hookspan status: %s, printed %.300q, said %.300q", what, o.State, o.Out, o.Err)
	}
	if state == "" {
		return
	}
	log := filepath.Join(state, "hookspan", "spool", spool.SessionKey(a.host, s.session).String(), "events.json-seq")
	b, err := os.ReadFile(log) //nolint:gosec // The test's own.
	if err != nil || !bytes.Contains(b, fmt.Appendf(nil, "src/%d.go", s.n)) {
		s.r.Break("%s: %s: the event is not in %s: %v", what, a.program, log, err)
	}
	if state == filepath.Dir(s.State()) {
		s.look(what)
	}
}
