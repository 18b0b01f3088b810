// Package powerfs is a model of a file system that loses power. It takes the
// operations that programs did, as strace recorded them, and draws what a disk
// may hold afterwards.
//
// The model promises no more than POSIX does: what was written to a file lasts
// once the file was synced, and a name once its folder was synced. Of all else any
// part may last, in any order, whatever came later: blocks of 512 bytes or 4 KiB,
// the front of a write, the size without the bytes, a rename without what was
// written to the file, a folder's newer names without its older ones. One rename
// is never half done, and the changes of one name last in their order.
package powerfs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// FS is the file system. It is for one goroutine.
type FS struct {
	top  string
	root *node
	seq  int
}

// node is a file or a folder.
type node struct {
	dir bool

	// data is what lasts of a file, live what programs see, changes what leads
	// from the one to the other.
	data, live []byte
	changes    []change

	// names last in a folder, now is what programs see, moves lead from the one
	// to the other.
	names, now map[string]*node
	moves      []move
}

// change is a write, or where data is nil a truncation to at.
type change struct {
	seq  int
	at   int64
	data []byte
}

// move takes a name away, and gives a name to a node; either may be empty.
type move struct {
	seq      int
	from, to string
	node     *node
}

// New is a file system that holds the folder top and these folders in it, which
// last.
func New(top string, folders ...string) *FS {
	f := &FS{top: top, root: newDir()}
	for _, name := range folders {
		n := newDir()
		f.root.names[name], f.root.now[name] = n, n
	}
	return f
}

func newDir() *node {
	return &node{dir: true, names: make(map[string]*node), now: make(map[string]*node)}
}

// find returns the folder and the last name of a path, and the node if there is
// one.
func (f *FS) find(name string) (dir *node, base string, n *node, err error) {
	if name == f.top {
		return nil, "", f.root, nil
	}
	rest, ok := strings.CutPrefix(name, f.top+"/")
	if !ok {
		return nil, "", nil, fmt.Errorf("%s lies outside of %s", name, f.top)
	}
	dir, base = f.root, path.Base(rest)
	if d := path.Dir(rest); d != "." {
		for part := range strings.SplitSeq(d, "/") {
			if dir = dir.now[part]; dir == nil || !dir.dir {
				return nil, "", nil, fmt.Errorf("%s: no folder %s", name, part)
			}
		}
	}
	return dir, base, dir.now[base], nil
}

// Apply does the next operation.
func (f *FS) Apply(o Op) error {
	f.seq++
	dir, base, n, err := f.find(o.Path)
	if err != nil {
		return err
	}
	switch o.Kind {
	case Create:
		if n == nil {
			dir.move(move{f.seq, "", base, &node{}})
		}
		return nil
	case Mkdir:
		dir.move(move{f.seq, "", base, newDir()})
		return nil
	}
	if n == nil {
		return fmt.Errorf("%s: there is no such file", o)
	}
	switch o.Kind {
	case Write:
		at := o.Offset
		if at < 0 {
			at = int64(len(n.live))
		}
		n.change(change{f.seq, at, o.Data})
	case Truncate:
		n.change(change{f.seq, o.Offset, nil})
	case Unlink, Rmdir:
		dir.move(move{f.seq, base, "", nil})
	case Rename:
		if path.Dir(o.Path) != path.Dir(o.To) {
			return fmt.Errorf("%s: the model has no rename from one folder to another", o)
		}
		dir.move(move{f.seq, base, path.Base(o.To), n})
	case Sync:
		n.sync(o.Before)
	}
	return nil
}

func (n *node) change(c change) {
	n.live = c.apply(n.live)
	n.changes = append(n.changes, c)
}

func (c change) apply(b []byte) []byte {
	if c.data == nil {
		return resized(b, int(c.at))
	}
	if end := int(c.at) + len(c.data); len(b) < end {
		b = resized(b, end)
	}
	copy(b[c.at:], c.data)
	return b
}

func resized(b []byte, size int) []byte {
	if size <= len(b) {
		return b[:size:size]
	}
	return append(b[:len(b):len(b)], make([]byte, size-len(b))...)
}

func (n *node) move(m move) {
	m.apply(n.now)
	n.moves = append(n.moves, m)
}

func (m move) apply(names map[string]*node) {
	if m.from != "" {
		delete(names, m.from)
	}
	if m.to != "" {
		names[m.to] = m.node
	}
}

// sync makes last what was done up to the operation of that number.
func (n *node) sync(upTo int) {
	done := func(seq int) bool { return seq <= upTo }
	for len(n.changes) > 0 && done(n.changes[0].seq) {
		n.data = n.changes[0].apply(slices.Clone(n.data))
		n.changes = n.changes[1:]
	}
	for len(n.moves) > 0 && done(n.moves[0].seq) {
		n.moves[0].apply(n.names)
		n.moves = n.moves[1:]
	}
}

// Tree is what a disk holds: the files by their path below the top, and the
// folders with nil.
type Tree map[string][]byte

// Live is what programs see.
func (f *FS) Live() Tree {
	t := make(Tree)
	f.root.walk("", t, func(n *node) map[string]*node { return n.now }, func(n *node) []byte { return n.live })
	return t
}

// Crash draws what the disk may hold if the power fails now.
func (f *FS) Crash(rng *rand.Rand) Tree {
	// Some disks keep nearly all, some nearly nothing, some a mixture.
	d := drawn{rng: rng, keepNames: []float64{0, 0.3, 0.7, 1}[rng.IntN(4)], keepData: rng.IntN(6)}
	t := make(Tree)
	f.root.walk("", t, d.names, d.data)
	return t
}

func (n *node) walk(at string, t Tree, names func(*node) map[string]*node, data func(*node) []byte) {
	all := names(n)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		child, p := all[name], path.Join(at, name)
		if child.dir {
			t[p] = nil
			child.walk(p, t, names, data)
			continue
		}
		t[p] = append([]byte{}, data(child)...)
	}
}

type drawn struct {
	rng       *rand.Rand
	keepNames float64
	keepData  int
}

// names draws the names that a folder has: each change of them lasts or not, but
// none without what was done to the same names before.
func (d *drawn) names(n *node) map[string]*node {
	names := maps.Clone(n.names)
	lost := make(map[string]bool)
	for _, m := range n.moves {
		if lost[m.from] || lost[m.to] || d.rng.Float64() >= d.keepNames {
			lost[m.from], lost[m.to] = m.from != "", m.to != ""
			continue
		}
		m.apply(names)
	}
	return names
}

// data draws what is in a file.
func (d *drawn) data(n *node) []byte {
	if len(n.changes) == 0 {
		return n.data
	}
	how := d.keepData
	if how >= 4 {
		how = d.rng.IntN(4) // each file in its own way
	}
	switch how {
	case 0:
		return n.data
	case 1:
		return n.live
	case 2:
		return d.front(n)
	}
	return d.blocks(n)
}

// front keeps the oldest changes, and the front of the next one.
func (d *drawn) front(n *node) []byte {
	b := slices.Clone(n.data)
	last := d.rng.IntN(len(n.changes))
	for _, c := range n.changes[:last] {
		b = c.apply(b)
	}
	if c := n.changes[last]; len(c.data) > 0 {
		c.data = c.data[:d.rng.IntN(len(c.data))]
		b = c.apply(b)
	}
	return b
}

// blocks keeps of each block, and of the size, what it was after any one of the
// changes.
func (d *drawn) blocks(n *node) []byte {
	block := []int{512, 4096}[d.rng.IntN(2)]
	versions := make([][]byte, 0, len(n.changes)+1)
	versions = append(versions, n.data)
	longest := len(n.data)
	for _, c := range n.changes {
		v := c.apply(slices.Clone(versions[len(versions)-1]))
		versions, longest = append(versions, v), max(longest, len(v))
	}
	pick := func() []byte { return versions[d.rng.IntN(len(versions))] }
	if d.rng.IntN(2) == 0 {
		// Of two generations only, as when one sync was under way.
		old := pick()
		pick = func() []byte { return [][]byte{old, n.live}[d.rng.IntN(2)] }
	}
	out := make([]byte, longest)
	for at := 0; at < longest; at += block {
		if v := pick(); at < len(v) {
			copy(out[at:min(at+block, longest)], v[at:])
		}
	}
	return out[:len(pick())]
}
