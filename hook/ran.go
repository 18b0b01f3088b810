package hook

import "time"

// Ran is a program that has run an agent's hooks: the agent itself, or another.
type Ran struct {
	// Program is the hook program, Agent the short name of the program that ran it.
	Program, Agent string
	// Notes are how often a value was noted, by what it is, Latest the last value.
	Notes  map[string]map[string]int
	Latest map[string]string
	// Last is the time of its latest run.
	Last time.Time
}

// What is noted: the time of the first run, the agents whose hooks another program ran, its
// version, and for each event that was not stored, since its program is not recorded or since it
// names no folder while some are private, or that is not understood, its name.
const (
	RanFirst   = "first"
	RanFor     = "for"
	RanVersion = "version"
	RanLeft    = "left"
	RanNowhere = "nowhere"
	RanUnknown = "unknown"
)
