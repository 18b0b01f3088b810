package powerfs

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Calls are the system calls that Parse understands: all that change files, and
// those that make a change last.
const Calls = "open,openat,openat2,creat,write,pwrite64,writev,pwritev,pwritev2,sendfile,copy_file_range,splice," +
	"truncate,ftruncate,fallocate,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat," +
	"link,linkat,symlink,symlinkat,fsync,fdatasync,sync_file_range,sync,syncfs"

// StraceArgs are the arguments of strace under which it writes what Parse
// reads. Each string and path is in hex, so that no byte of it looks like a part
// of the line; it is printed whole, however long.
func StraceArgs(out string) []string {
	return []string{"-f", "-y", "-xx", "-s", "67108864", "-e", "signal=none", "-e", "trace=" + Calls, "-o", out}
}

// Kind is what an operation does.
type Kind uint8

// The kinds of operations.
const (
	Create Kind = iota // of an empty file
	Mkdir
	Write    // Data at Offset
	Truncate // to Offset
	Rename   // of Path to To
	Unlink
	Rmdir
	Sync // of a file's data, or of a folder's names
)

// String is the kind's name.
func (k Kind) String() string {
	return [...]string{"create", "mkdir", "write", "truncate", "rename", "unlink", "rmdir", "sync"}[k]
}

// Op is one operation on files that was done.
type Op struct {
	Kind     Kind
	Path, To string
	// Offset is where Data was written; -1 means the end of the file.
	Offset int64
	Data   []byte
	// Before is, of a Sync, the number of operations that were done when it began:
	// it covers no later one.
	Before int
}

// String describes the operation without its data.
func (o Op) String() string {
	s := o.Kind.String() + " " + o.Path
	switch o.Kind {
	case Rename:
		s += " to " + o.To
	case Write:
		s += fmt.Sprintf(", %d bytes at %d", len(o.Data), o.Offset)
	case Truncate:
		s += fmt.Sprintf(" to %d", o.Offset)
	}
	return s
}

var (
	lineForm    = regexp.MustCompile(`^(\d+) +([a-z0-9_]+)\((.*)\) += (-?\d+|\?)(<(?:\\x[0-9a-f]{2})*>)?`)
	resumedForm = regexp.MustCompile(`^(\d+) +<\.\.\. [a-z0-9_]+ resumed>(.*)$`)
	// mapped is the file of SQLite's that is shared memory: what is in it comes
	// from no system call, and nothing reads it after a loss of power.
	mapped = "-shm"
)

// Parse reads a trace and returns the operations below the folders, in the order
// in which they were completed.
func Parse(r io.Reader, below ...string) ([]Op, error) {
	p := parser{below: below, begun: make(map[string]begun)}
	in := bufio.NewReaderSize(r, 1<<20)
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if line != "" {
			if err := p.line(strings.TrimSuffix(line, "\n")); err != nil {
				return nil, fmt.Errorf("line %d of the trace, %.300q: %w", n, line, err)
			}
		}
		if err == io.EOF {
			return p.ops, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

type parser struct {
	below []string
	ops   []Op
	// begun are the calls that have not returned, by thread.
	begun map[string]begun
}

type begun struct {
	text   string
	before int
}

func (p *parser) line(line string) error {
	before := len(p.ops)
	if text, ok := strings.CutSuffix(line, " <unfinished ...>"); ok {
		thread, _, _ := strings.Cut(line, " ")
		p.begun[thread] = begun{text, before}
		return nil
	}
	if m := resumedForm.FindStringSubmatch(line); m != nil {
		b, ok := p.begun[m[1]]
		if !ok {
			return fmt.Errorf("a call goes on that did not begin")
		}
		delete(p.begun, m[1])
		line, before = b.text+m[2], b.before
	}
	m := lineForm.FindStringSubmatch(line)
	if m == nil || strings.HasPrefix(m[4], "-") || m[4] == "?" {
		return nil // the end of a thread, or a call that failed
	}
	return p.call(m[2], strings.Split(m[3], ", "), m[4], m[5], before)
}

// call notes what a call that succeeded has done.
func (p *parser) call(name string, args []string, ret, opened string, before int) error {
	switch name {
	case "open", "openat", "openat2", "creat":
		return p.open(name, args, opened)
	case "write", "pwrite64":
		op := Op{Kind: Write, Path: pathOf(args[0]), Offset: -1}
		if name == "pwrite64" {
			var err error
			if op.Offset, err = strconv.ParseInt(args[3], 10, 64); err != nil {
				return err
			}
		}
		if !p.ours(op.Path) {
			return nil
		}
		n, err := strconv.Atoi(ret)
		if err != nil {
			return err
		}
		if op.Data, err = text(args[1]); err != nil || len(op.Data) < n {
			return fmt.Errorf("%d bytes of data, want %d: %w", len(op.Data), n, err)
		}
		op.Data = op.Data[:n]
		p.add(op)
	case "ftruncate":
		size, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return err
		}
		p.add(Op{Kind: Truncate, Path: pathOf(args[0]), Offset: size})
	case "mkdir", "rmdir", "unlink":
		to, err := named("", args[0])
		if err != nil {
			return err
		}
		p.add(Op{Kind: map[string]Kind{"mkdir": Mkdir, "rmdir": Rmdir, "unlink": Unlink}[name], Path: to})
	case "mkdirat", "unlinkat":
		to, err := named(args[0], args[1])
		if err != nil {
			return err
		}
		kind := Unlink
		switch {
		case name == "mkdirat":
			kind = Mkdir
		case strings.Contains(args[2], "AT_REMOVEDIR"):
			kind = Rmdir
		}
		p.add(Op{Kind: kind, Path: to})
	case "rename", "renameat", "renameat2":
		if name == "rename" {
			args = []string{"", args[0], "", args[1]}
		}
		from, err := named(args[0], args[1])
		if err != nil {
			return err
		}
		to, err := named(args[2], args[3])
		if err != nil {
			return err
		}
		p.add(Op{Kind: Rename, Path: from, To: to})
	case "fsync", "fdatasync":
		p.add(Op{Kind: Sync, Path: pathOf(args[0]), Before: before})
	default:
		if slices.ContainsFunc(args, func(a string) bool { return p.ours(pathOf(a)) }) || strings.HasSuffix(name, "sync") {
			return fmt.Errorf("the model has no call %s", name)
		}
	}
	return nil
}

// open notes files that may be new or cut. Whether one is new the model knows.
func (p *parser) open(name string, args []string, opened string) error {
	flags := strings.Join(args, " ")
	to := pathOf(opened)
	if !p.ours(to) {
		return nil
	}
	if name == "creat" || strings.Contains(flags, "O_CREAT") {
		p.add(Op{Kind: Create, Path: to})
	}
	if name == "creat" || strings.Contains(flags, "O_TRUNC") {
		p.add(Op{Kind: Truncate, Path: to})
	}
	if strings.Contains(flags, "SYNC") {
		return fmt.Errorf("the model has no file that is opened for synchronous writing")
	}
	return nil
}

func (p *parser) add(o Op) {
	if p.ours(o.Path) {
		p.ops = append(p.ops, o)
	}
}

func (p *parser) ours(name string) bool {
	return !strings.HasSuffix(name, mapped) && slices.ContainsFunc(p.below, func(dir string) bool {
		return name == dir || strings.HasPrefix(name, dir+"/")
	})
}

// pathOf is the path that strace shows behind a descriptor, empty of a file
// that has lost its name.
func pathOf(arg string) string {
	_, shown, ok := strings.Cut(arg, "<")
	end := strings.LastIndexByte(shown, '>')
	if !ok || end < 0 || strings.HasSuffix(arg, "(deleted)") {
		return ""
	}
	b, err := unhex(shown[:end])
	if err != nil || strings.HasSuffix(string(b), " (deleted)") {
		return ""
	}
	return string(b)
}

// named is the path that a name means in the folder of a descriptor.
func named(dir, arg string) (string, error) {
	b, err := text(arg)
	if err != nil {
		return "", err
	}
	if path.IsAbs(string(b)) {
		return path.Clean(string(b)), nil
	}
	if dir == "" {
		return "", fmt.Errorf("the folder that %q is seen from is not known: use absolute paths", b)
	}
	return path.Join(pathOf(dir), string(b)), nil
}

func text(arg string) ([]byte, error) {
	if len(arg) < 2 || arg[0] != '"' || arg[len(arg)-1] != '"' {
		return nil, fmt.Errorf("%.100q is no whole string", arg)
	}
	return unhex(arg[1 : len(arg)-1])
}

func unhex(s string) ([]byte, error) { return hex.DecodeString(strings.ReplaceAll(s, `\x`, "")) }
