package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxHost is the longest host name in bytes.
const maxHost = 32

// nameLen is the length of a session folder's name: 16 bytes in hex.
const nameLen = 32

// Key names a session's folder.
type Key struct {
	// Host is the agent, such as "cline": 1 to 32 bytes of a-z, 0-9 and "-".
	Host string
	// Name is the first 16 bytes of SHA-256 over the session id's bytes, in
	// lower-case hex.
	Name string
}

// String returns the folder relative to the spool's, with a slash.
func (k Key) String() string { return k.Host + "/" + k.Name }

// SessionKey returns the key of a session. The id may be any bytes, or empty: only
// its hash reaches the file system. The host is not checked here, but by the call
// that uses the key.
func SessionKey(host, session string) Key {
	sum := sha256.Sum256([]byte(session))
	return Key{Host: host, Name: hex.EncodeToString(sum[:nameLen/2])}
}

func validHost(s string) bool {
	return s != "" && len(s) <= maxHost && strings.Trim(s, lowerCase+"-") == ""
}

func validName(s string) bool {
	return len(s) == nameLen && strings.Trim(s, "0123456789abcdef") == ""
}

const lowerCase = "abcdefghijklmnopqrstuvwxyz0123456789"
