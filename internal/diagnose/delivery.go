package diagnose

import (
	"fmt"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/termtext"
)

// delivery reports for each destination the last try and its result.
func (e *exam) delivery() {
	now := e.Setup.Now()
	if len(e.st.Destinations) == 0 {
		e.add(Problem, "no destination is set up", "hookspan config shows the settings; without HOOKSPAN_EXPORTERS the local store is always there")
	}
	for i := range e.st.Destinations {
		d := &e.st.Destinations[i]
		switch {
		case d.Off != "":
			continue // examine names the wrong setting
		case d.Name == config.ExporterStore && d.Stored == nil:
			continue // state names the fault
		case d.Fault != "":
			e.add(Problem, d.Name+" gets nothing: "+d.Fault, "its traces wait; fix that, then run 'hookspan test'")
		default:
			e.found = append(e.found, d.examine(now))
		}
		if d.clock != "" {
			e.add(Problem, d.Name+": "+d.clock, "set the clock: spans have the wrong time there")
		}
		if d.Stored != nil && d.Stored.Partial > 0 {
			e.add(Note, fmt.Sprintf("%s: something is missing from %s: events or rows that could not be read", d.Name, termtext.Plural(int(d.Stored.Partial), "trace")),
				"'hookspan show ID' says what, 'hookspan verify --all' in which files")
		}
		if n := len(d.Parked); n > 0 {
			last := d.Parked[n-1]
			hint := "fix the cause, then run 'hookspan flush': it sends them again"
			switch {
			case last.Denied && d.Taken.After(last.At):
				hint = d.Name + " has taken others since: these are sent again by themselves, or now by 'hookspan flush'"
			case last.Denied:
				what := "the account, the address or the proxy"
				if strings.Contains(last.Error, "401") || strings.Contains(last.Error, "403") {
					what = "the key"
				}
				hint = "fix " + what + ": they are sent again when " + d.Name + " takes the next one, or now by 'hookspan flush'"
			case d.Taken.After(last.At):
				hint = d.Name + " has taken others since: 'hookspan flush' sends these again"
			case d.elsewhere != "":
				hint = "the address has changed since: 'hookspan flush' sends them to " + d.Target
			}
			e.add(Problem, fmt.Sprintf("%s: %s rejected, kept here, the last %s: %s",
				d.Name, termtext.Plural(n, "trace"), ago(now, last.At), last.Error), hint)
		}
	}
}

// examine judges a destination by its last answer.
func (d *Destination) examine(now time.Time) Finding {
	waits := ""
	retry := "fix the cause, then run 'hookspan test'"
	if d.Failing > 0 {
		waits = "; " + termtext.Plural(d.Failing, "session") + " wait"
		if d.Failing == 1 {
			waits += "s"
		}
		waits += ", next try " + d.NextTry.Local().Format(time.DateTime)
		retry = "fix the cause, then run 'hookspan flush'"
	}
	if d.Owed > 0 {
		waits += "; " + termtext.Plural(d.Owed, "imported trace") + " waiting"
		retry = "fix the cause, then run 'hookspan flush'"
	}
	text := d.Name + ": "
	switch {
	case d.Name == config.ExporterStore && d.Failing > 0:
		return Finding{Problem, text + d.LastError + waits, retry}
	case d.Error != "" && d.Stored == nil:
		text += fmt.Sprintf("tried %s: %s", ago(now, d.Tried), d.errorAt())
		if d.Taken.IsZero() {
			text += "; it has never taken anything"
		} else {
			text += "; taken last " + ago(now, d.Taken)
		}
		return Finding{Problem, text + waits, retry}
	case d.Stored != nil || !d.Tried.IsZero():
		return Finding{OK, text + d.state(now) + waits, ""}
	case d.elsewhere != "":
		return Finding{
			Note, fmt.Sprintf("%s%s is not tried yet: the last try was at %s%s", text, d.Target, d.elsewhere, waits),
			"run 'hookspan test'; 'hookspan flush' sends what waits",
		}
	case d.Failing > 0:
		return Finding{Problem, text + d.LastError + waits, retry}
	case d.Runs > 0:
		return Finding{OK, text + d.state(now), ""}
	}
	return Finding{Note, text + d.Target + " is not tried yet", "run 'hookspan test'"}
}
