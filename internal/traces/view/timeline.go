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
	// waited is how long its tasks waited for the user.
	worked, waited time.Duration
}

// Timeline writes a line for each session below an axis of the time: where its tasks worked,
// and where they waited for the user. works are the newest first.
func Timeline(w io.Writer, works []*store.Work, o Options) error {
	works = slices.DeleteFunc(slices.Clone(works), func(w *store.Work) bool { return w.Summary.Started.IsZero() || w.Summary.Ended.IsZero() })
	if len(works) == 0 {
		return nil
	}
	whole := o.Width <= 0
	if whole {
		o.Width = pipedWidth
	}
	st, b := newStyle(o), bufio.NewWriter(w)
	var lanes []*lane
	places := make(map[[2]string]int)
	from, until := works[0].Summary.Started, works[0].Summary.Ended
	for _, one := range slices.Backward(works) {
		s := &one.Summary
		if s.Started.Before(from) {
			from = s.Started
		}
		if s.Ended.After(until) {
			until = s.Ended
		}
		at, known := places[[2]string{s.Host, s.Session}]
		if !known || s.Session == "" {
			at = len(lanes)
			places[[2]string{s.Host, s.Session}] = at
			lanes = append(lanes, &lane{name: cmp.Or(lastPart(s.Directory), termtext.Line(s.Host)) + "  " + termtext.Line(s.Title)})
		}
		l := lanes[at]
		l.tasks = append(l.tasks, one)
		waited := store.Waited(one.Waits)
		l.worked, l.waited = l.worked+max(0, s.Duration()-waited), l.waited+waited
	}
	names := min(32, st.room()/3)
	columns := st.room() - names - 2*gap - 13
	for _, l := range lanes {
		if whole {
			names = max(names, termtext.Width(l.name))
		}
	}
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

// axis has the time at its beginning and at each part of it, as many as there is room for,
// up to four.
func axis(from time.Time, span time.Duration, columns int, zone *time.Location) string {
	form := "15:04"
	if span > 24*time.Hour {
		form = "Jan 2 15:04"
	}
	var out strings.Builder
	parts := max(1, min(4, columns/(len(form)+1+gap)))
	for i := range parts {
		text := from.Add(time.Duration(float64(span) * float64(i) / float64(parts))).In(zone).Format(form)
		out.WriteString(termtext.CutWidth(padRight(text, columns/parts), columns/parts, ""))
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
		draw(one.Summary.Started, one.Summary.Ended, 'w')
	}
	for _, one := range l.tasks {
		for _, w := range one.Waits {
			if float64(w.To.Sub(w.From))*float64(columns) > float64(span) { // as long as a column
				draw(w.From, w.To, '?')
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
