// Package plantedkeys puts the secrets of internal/testkit/secrets that are known
// anywhere into payloads, and finds them, or pieces of them, in what came out.
package plantedkeys

import (
	"strings"

	"github.com/hookspan/hookspan/internal/testkit/secrets"
)

// Key is a made-up secret in the form of a real one.
type Key struct {
	// Before is what leads to it, Random what must never be seen, After what
	// follows.
	Before, Random, After string
}

// Text is the key with what stands around it.
func (k Key) Text() string { return k.Before + k.Random + k.After }

// Piece is how many characters in a row count as a part of a key.
const Piece = secrets.Piece

// Leak is the first piece of the key in s, or nothing.
func (k Key) Leak(s string) string {
	for i := 0; i+Piece <= len(k.Random); i++ {
		if piece := k.Random[i : i+Piece]; strings.Contains(s, piece) {
			return piece
		}
	}
	return ""
}

// Finder looks for the pieces of many keys at once.
type Finder map[string]int

// NewFinder knows the keys by their place in the list.
func NewFinder(keys []Key) Finder {
	f := Finder{}
	for i, k := range keys {
		for j := 0; j+Piece <= len(k.Random); j++ {
			f[k.Random[j:j+Piece]] = i
		}
	}
	return f
}

// Find returns the first piece in s, the key's place in the list, and what stands
// around it. The place is -1 where there is none.
func (f Finder) Find(s string) (key int, around string) {
	for i := 0; i+Piece <= len(s); i++ {
		if k, ok := f[s[i:i+Piece]]; ok {
			return k, s[max(0, i-80):min(len(s), i+60)]
		}
	}
	return -1, ""
}

// Keys are the secrets to plant, at least one of each issuer's form.
func Keys() (keys []Key) {
	for _, s := range secrets.Anywhere() {
		keys = append(keys, Key{s.Before + s.Lead, s.Random, s.After})
	}
	return keys
}
