package ui

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/lookpath"
	"github.com/hookspan/hookspan/internal/outbound"
)

// Started is a page as a later start finds it.
type Started struct {
	// Dir is the folder of the pages that open it, which only the user can read.
	Dir string
	// Port is where it listens, IP that it does so at 127.0.0.1 and any port.
	Port int
	IP   bool
	// Process, Edit and Address are its own.
	Process int
	Edit    bool
	Address string
}

// openingPage leads the browser to the address and remembers the process.
const openingPage = `<!doctype html>
<meta name="process" content="%d %t">
<meta http-equiv="refresh" content="0;url=%s">
<a href="%[3]s">hookspan</a>
`

var openingParts = regexp.MustCompile(`content="(\d+) (true|false)">[^"]+"refresh" content="0;url=([^"]+)"`)

// File is the path of the opening page. Only the user can read it; every user can read the
// arguments of a browser.
func (s Started) File() string {
	name := strconv.Itoa(s.Port)
	if s.IP {
		name = "ip"
	}
	return filepath.Join(s.Dir, name+".html")
}

// Find fills in the page that an earlier start serves at the same port, or with anyPort at
// any. It must still listen there and know its token: the port may be another program's by
// now.
func (s *Started) Find(ctx context.Context, anyPort bool) bool {
	files := []string{s.File()}
	if anyPort {
		others, _ := fs.Glob(os.DirFS(s.Dir), "*.html") // without the folder there are none
		for _, name := range others {
			files = append(files, filepath.Join(s.Dir, name))
		}
	}
	return slices.ContainsFunc(files, func(file string) bool { return s.find(ctx, file) })
}

func (s *Started) find(ctx context.Context, file string) bool {
	b, err := regular.Read(file, regular.Options{Max: 4096, NoLink: true, Private: true})
	if err != nil {
		return false
	}
	m := openingParts.FindSubmatch(b)
	if m == nil {
		return false
	}
	s.Process, _ = strconv.Atoi(string(m[1]))
	s.Edit, s.Address = string(m[2]) == "true", string(m[3])
	u, err := url.Parse(s.Address)
	if err != nil {
		return false
	}
	nonce := NewToken()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+u.Port()+Here+"?nonce="+nonce, nil)
	if err != nil {
		return false
	}
	req.Host = u.Host
	client := outbound.New(outbound.Options{Once: true})
	defer client.Close()
	answer, err := client.Do(req)
	return err == nil && string(answer.Body) == strconv.Quote(Proof(strings.TrimPrefix(u.Fragment, "token="), nonce))
}

// Write writes the opening page.
func (s Started) Write() error {
	file := s.File()
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = atomicfile.Write(file, fmt.Appendf(nil, openingPage, s.Process, s.Edit, s.Address), atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		return fmt.Errorf("the file that the browser opens: %w", err)
	}
	return nil
}

// Open starts the user's browser and does not wait for it.
func (s Started) Open(ctx context.Context, goos string) error {
	command := map[string][]string{
		"windows": {"rundll32", "url.dll,FileProtocolHandler"}, "darwin": {"open"},
	}[goos]
	if command == nil {
		command = []string{"xdg-open"}
	}
	// The browser outlives this command.
	cmd, err := lookpath.Here().Command(context.WithoutCancel(ctx), command[0], append(command[1:], s.File())...)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
