package loopback

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// socketTables are the kernel's lists of sockets. A socket that listens on all
// addresses, IPv6 included, is in the second.
var socketTables = [...]string{"/proc/net/tcp", "/proc/net/tcp6"}

// peerPause is the wait between two checks of a connection that is not accepted
// yet.
const peerPause = 2 * time.Millisecond

// checkPeer refuses a connection whose other end belongs to another user: any user
// can listen on a port. It checks the connection itself and not the listener, which
// can change in between. root, who can read everything, is allowed. Where the
// kernel lists no sockets, nothing is refused.
func checkPeer(ctx context.Context, c net.Conn) error {
	local, remote, err := ends(c)
	if err != nil {
		return err
	}
	for {
		uid, accepted, err := peerOwner(local, remote)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("find the user behind port %d: %w", remote.Port(), err)
		case accepted && (uid == 0 || int64(uid) == int64(os.Geteuid())):
			return nil
		case accepted:
			return fmt.Errorf("port %d is served by user %d, want user %d: nothing was sent; name another port", remote.Port(), uid, os.Geteuid())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("find the user behind port %d: no program has accepted the connection: %w", remote.Port(), ctx.Err())
		case <-time.After(peerPause):
		}
	}
}

// ends returns the addresses of a connection.
func ends(c net.Conn) (local, remote netip.AddrPort, err error) {
	local, lerr := netip.ParseAddrPort(c.LocalAddr().String())
	remote, rerr := netip.ParseAddrPort(c.RemoteAddr().String())
	return local, remote, errors.Join(lerr, rerr)
}

// ownerOf says whose program has accepted a connection or, before that, listens for it.
func ownerOf(c net.Conn) (Owner, uint32) {
	local, remote, err := ends(c)
	if err != nil {
		return OwnerUnknown, 0
	}
	uid, known := uint32(0), false
	for _, end := range []netip.AddrPort{local, {}} {
		var err error
		if uid, known, err = peerOwner(end, remote); known || err != nil {
			break
		}
	}
	switch {
	case !known:
		return OwnerUnknown, 0
	case int64(uid) == int64(os.Geteuid()):
		return OwnerSelf, uid
	case uid == 0:
		return OwnerService, uid
	}
	return accountOf(uid), uid
}

// accounts is the system's list of accounts.
const accounts = "/etc/passwd"

// accountOf says whether a user is a person or a service, as passwd(5) describes them.
func accountOf(uid uint32) Owner {
	list, err := os.Open(accounts)
	if err != nil {
		return OwnerUnknown
	}
	defer func() { _ = list.Close() }() // read only
	return accountIn(list, uid)
}

func accountIn(list io.Reader, uid uint32) Owner {
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		// name:password:UID:GID:comment:directory:shell
		f := strings.Split(lines.Text(), ":")
		if len(f) < 7 || f[2] != strconv.FormatUint(uint64(uid), 10) {
			continue
		}
		switch path.Base(strings.TrimSpace(f[6])) {
		case "nologin", "false", "true", "sync", "halt", "shutdown":
			return OwnerService
		}
		return OwnerPerson // no shell means /bin/sh
	}
	return OwnerUnknown
}

// peerOwner finds the user of the other end of a connection from local, or of the socket
// that listens at remote if local is zero.
func peerOwner(local, remote netip.AddrPort) (uid uint32, accepted bool, err error) {
	if uid, accepted, ok := diagnosed(local, remote); ok {
		return uid, accepted, nil
	}
	return inTables(local, remote)
}

// inTables is peerOwner by the kernel's lists.
func inTables(local, remote netip.AddrPort) (uid uint32, accepted bool, err error) {
	found := 0
	for _, path := range socketTables {
		table, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return 0, false, err
		}
		found++
		uid, accepted, err = ownerIn(table, local, remote)
		_ = table.Close() // read only
		if accepted || err != nil {
			return uid, accepted, err
		}
	}
	if found == 0 {
		return 0, false, fs.ErrNotExist
	}
	return 0, false, nil
}

// listening is the state of a socket that listens.
const listening = "0A"

// ownerIn finds the user of a connection's other end, or with no local end that of the
// listener, in a table of sockets, as proc_pid_net(5) describes it. A socket without an
// inode is not accepted yet, and older kernels show user 0 for it.
func ownerIn(table io.Reader, local, remote netip.AddrPort) (uid uint32, accepted bool, err error) {
	wanted := [][2]string{
		{socketName(remote, false), socketName(local, false)},
		{socketName(remote, true), socketName(local, true)},
	}
	if !local.IsValid() {
		wanted = listeners(remote)
	}
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[9] == "0" || (f[3] == listening) == local.IsValid() {
			continue
		}
		if !slices.Contains(wanted, [2]string{f[1], f[2]}) {
			continue
		}
		n, err := strconv.ParseUint(f[7], 10, 32)
		return uint32(n), err == nil, err
	}
	return 0, false, lines.Err()
}

// listeners are the ends of the sockets that may listen for connections to an address: at
// it, or at all of them.
func listeners(at netip.AddrPort) (out [][2]string) {
	none4, none6 := netip.AddrPortFrom(netip.IPv4Unspecified(), 0), netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	for _, ip := range []netip.Addr{at.Addr(), netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		own, none := netip.AddrPortFrom(ip, at.Port()), none4
		if ip.Is6() {
			none = none6
		}
		out = append(out, [2]string{socketName(own, false), socketName(none, false)})
		if ip.Is4() {
			out = append(out, [2]string{socketName(own, true), socketName(none6, false)})
		}
	}
	return out
}

// socketName writes an address as the kernel does: each four bytes as a number in
// the machine's order.
func socketName(a netip.AddrPort, mapped bool) string {
	b := a.Addr().Unmap().AsSlice()
	if mapped {
		all := a.Addr().As16()
		b = all[:]
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	return strings.ToUpper(hex.EncodeToString(b)) + fmt.Sprintf(":%04X", a.Port())
}
