package view

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// lane is a session in a timeline.
type lane struct {
	name  string
	tasks []*store.Work
	// waited is how long its calls waited for the user.
	worked, waited time.Duration
}

// Timeline writes a line for each session below an axis of the time: where its tasks worked,
// and where they waited for the user. works are the newest first.
func Timeline(w io.Writer, works []*store.Work, o Options) error {
	if len(works) == 0 {
		return nil
	}
	if o.Width <= 0 {
		o.Width = pipedWidth
	}
	st, b := newStyle(o), bufio.NewWriter(w)
	var lanes []*lane
	var from, until time.Time
	for _, one := range slices.Backward(works) {
		s := &one.Summary
		if !s.Started.IsZero() && (from.IsZero() || s.Started.Before(from)) {
			from = s.Started
		}
		if s.Ended.After(until) {
			until = s.Ended
		}
		at := slices.IndexFunc(lanes, func(l *lane) bool {
			return l.tasks[0].Summary.Session == s.Session && l.tasks[0].Summary.Host == s.Host
		})
		if at < 0 || s.Session == "" {
			at = len(lanes)
			lanes = append(lanes, &lane{name: cmp.Or(lastPart(s.Directory), termtext.Line(s.Host)) + "  " + termtext.Line(s.Title)})
		}
		l := lanes[at]
		l.tasks = append(l.tasks, one)
		l.worked, l.waited = l.worked+max(0, s.Duration()-s.Waited), l.waited+s.Waited
	}
	names := min(32, st.room()/3)
	columns := st.room() - names - 2*gap - 13
	span := max(until.Sub(from), time.Minute)
	_, _ = b.WriteString(strings.Repeat(" ", names+gap) + st.paint(sgrDim, axis(from, span, columns, st.Location)) + "\n")
	for _, l := range lanes {
		bar := st.lane(l, from, span, columns)
		took := duration(l.worked)
		if l.waited > 0 {
			took += " +" + duration(l.waited)
		}
		_, _ = b.WriteString(padRight(st.cut(l.name, names), names) + "  " + bar + "  " + padLeft(took, 13) + "\n")
	}
	work, wait := "━", "░"
	if st.ASCII {
		work, wait = "=", "."
	}
	_, _ = b.WriteString("\n" + st.paint(sgrDim, work+" works"+st.dot+wait+" waits for you"+st.dot+termtext.Plural(len(lanes), "session")) + "\n")
	return b.Flush()
}

// axis has the time at its beginning and at each quarter, at fewer places where there is no
// room for four.
func axis(from time.Time, span time.Duration, columns int, zone *time.Location) string {
	form := "15:04"
	if span > 24*time.Hour {
		form = "Jan 2 15:04"
	}
	places := max(1, min(4, columns/(len(form)+gap)))
	var out strings.Builder
	for i := range places {
		text := from.Add(span * time.Duration(i) / time.Duration(places)).In(zone).Format(form)
		out.WriteString(termtext.CutWidth(padRight(text, columns/places), columns/places, ""))
	}
	return out.String()
}

// lane draws when the tasks of a session worked and waited. The shortest is seen.
func (st *style) lane(l *lane, from time.Time, span time.Duration, columns int) string {
	cells := make([]byte, columns)
	draw := func(begin, end time.Time, as byte) {
		place := func(t time.Time) int {
			return max(0, min(columns-1, int(float64(t.Sub(from))/float64(span)*float64(columns))))
		}
		for i := place(begin); i <= place(end); i++ {
			cells[i] = as
		}
	}
	for _, one := range l.tasks {
		if one.Summary.Started.IsZero() {
			continue
		}
		draw(one.Summary.Started, one.Summary.Ended, 'w')
	}
	for _, one := range l.tasks {
		for i := range one.Calls {
			if c := &one.Calls[i]; c.Waited*time.Duration(columns) > span { // as long as a column
				draw(c.Asked, c.Asked.Add(c.Waited), '?')
			}
		}
	}
	var out strings.Builder
	for i := 0; i < len(cells); {
		n := i
		for n < len(cells) && cells[n] == cells[i] {
			n++
		}
		sign, sgr := " ", ""
		switch {
		case cells[i] == 'w':
			sign, sgr = st.bar, sgrGreen
		case cells[i] == '?' && st.ASCII:
			sign, sgr = ".", sgrYellow
		case cells[i] == '?':
			sign, sgr = "░", sgrYellow
		}
		out.WriteString(st.paint(sgr, strings.Repeat(sign, n-i)))
		i = n
	}
	return out.String()
}
