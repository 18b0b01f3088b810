package loopback

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// The form of sock_diag(7): a request and an answer begin with a header, inet_diag_req_v2 and
// inet_diag_msg name the socket's own end and the other one.
const (
	diagHeader  = 16
	diagRequest = diagHeader + 56
	// diagEnds is where a request has the ends.
	diagEnds = diagHeader + 8
	// diagState, diagUID and diagInode are places in an answer.
	diagState, diagUID, diagInode = diagHeader + 1, diagHeader + 64, diagHeader + 68
	diagListens                   = 10
)

// diagnosed is peerOwner by one question to the kernel: the tables have all sockets, and to read them
// takes a delivery longer than to send. It reports false where the kernel does not answer or
// has no such socket here.
func diagnosed(local, remote netip.AddrPort) (uid uint32, accepted, ok bool) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, false, false
	}
	defer func() { _ = unix.Close(fd) }()
	b := make([]byte, diagRequest)
	binary.NativeEndian.PutUint32(b, diagRequest)
	binary.NativeEndian.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST)
	b[diagHeader], b[diagHeader+1] = unix.AF_INET, unix.IPPROTO_TCP
	if remote.Addr().Unmap().Is6() {
		b[diagHeader] = unix.AF_INET6
	}
	ends := b[diagEnds:]
	binary.BigEndian.PutUint16(ends, remote.Port())
	copy(ends[4:], remote.Addr().Unmap().AsSlice())
	if local.IsValid() {
		binary.BigEndian.PutUint16(ends[2:], local.Port())
		copy(ends[20:], local.Addr().Unmap().AsSlice())
	}
	for i := 40; i < 48; i++ {
		ends[i] = 0xff // no cookie
	}
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, false, false
	}
	b = make([]byte, 1024)
	n, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT) // The answer is there.
	if err != nil || n < diagInode+4 || binary.NativeEndian.Uint16(b[4:]) != unix.SOCK_DIAG_BY_FAMILY {
		return 0, false, false
	}
	if (b[diagState] == diagListens) == local.IsValid() {
		return 0, false, false
	}
	// A socket without an inode is not accepted yet.
	if binary.NativeEndian.Uint32(b[diagInode:]) == 0 {
		return 0, false, true
	}
	return binary.NativeEndian.Uint32(b[diagUID:]), true, true
}
