package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// NamesRow reports whether a word can be the number of a call or the beginning of a
// span's id.
func NamesRow(s string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "#"))
	return err == nil && n > 0 || len(s) >= 4 && len(s) <= 16 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

// FindRow returns the place of the row that a number or the beginning of a span's id
// names.
func FindRow(rows []Row, name string) (int, error) {
	var found []int
	n, notNumber := strconv.Atoi(strings.TrimPrefix(name, "#"))
	numbered := slices.IndexFunc(rows, func(r Row) bool { return n > 0 && r.Number == n })
	if numbered < 0 && len(name) >= 4 && name[0] != '#' {
		for i := range rows {
			if id := rows[i].SpanID(); strings.HasPrefix(id, strings.ToLower(name)) {
				found = append(found, i)
			}
		}
	}
	switch {
	case numbered >= 0: // which the tree prints
		return numbered, nil
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && notNumber != nil:
		return 0, fmt.Errorf("no span begins with %q", name)
	case len(found) == 0:
		calls := 0
		for i := range rows {
			calls = max(calls, rows[i].Number)
		}
		return 0, fmt.Errorf("--span %s: it has %s", name, termtext.Plural(calls, "call"))
	}
	return 0, fmt.Errorf("%d spans begin with %q: give more digits", len(found), name)
}

// SessionOf returns the id of the session that a word is the id of or its beginning, of the
// newest one without a word, "" if none begins so. The summaries, the newest first, are of
// sessions that do.
func SessionOf(sums []store.Summary, word string) (string, error) {
	var ids []string
	for i := range sums {
		if id := sums[i].Session; id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	switch {
	case slices.Contains(ids, word):
		return word, nil
	case len(ids) == 0:
		return "", nil
	case len(ids) == 1 || word == "":
		return ids[0], nil
	}
	slices.Sort(ids)
	return "", fmt.Errorf("%d sessions begin with %q: %s", len(ids), word, strings.Join(ids[:min(len(ids), 5)], ", "))
}

// ProjectOf returns the folder that a word is the last part of, "" if none ends so. It
// fails if several do.
func ProjectOf(folders []string, word string) (string, error) {
	var found []string
	for _, f := range folders {
		if at := strings.LastIndexAny(f, `/\`); f[at+1:] == word {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("several folders end so: want one of %s", strings.Join(found, ", "))
}

// IsPath reports whether a word that names a project is a path, not the last part of one.
func IsPath(word string) bool {
	return word == "." || word == ".." || word == "~" || strings.ContainsAny(word, `/\`)
}

// Period returns the beginning and the end of what a word names. They are equal if it
// names an instant. A day of the week is the last one, today included.
func Period(word string, now time.Time) (from, to time.Time, err error) {
	in, today := now.Location(), store.Date(now)
	_, ahead := now.Zone()
	wall := now.UTC().Add(time.Duration(ahead) * time.Second)
	day := func(t time.Time) (time.Time, time.Time, error) {
		return store.FirstInstant(t, in), store.FirstInstant(t.AddDate(0, 0, 1), in), nil
	}
	switch word {
	case "now":
		return now, now, nil
	case "today":
		return day(today)
	case "yesterday":
		return day(today.AddDate(0, 0, -1))
	}
	for ago := range 7 {
		t := today.AddDate(0, 0, -ago)
		if name := t.Weekday().String(); strings.EqualFold(word, name) || strings.EqualFold(word, name[:3]) {
			return day(t)
		}
	}
	if t, err := time.Parse(time.DateOnly, word); err == nil {
		return day(t)
	}
	if t, err := time.Parse(time.RFC3339, word); err == nil {
		return t, t, nil
	}
	for _, form := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.Parse(form, word); err == nil {
			t = store.FirstInstant(t, in)
			return t, t, nil
		}
	}
	var at time.Time
	if n, err := strconv.ParseUint(strings.TrimRight(word, "dw"), 10, 16); err == nil && n > 0 {
		switch word[len(strconv.FormatUint(n, 10)):] {
		case "d":
			at = store.FirstInstant(wall.AddDate(0, 0, -int(n)), in) //nolint:gosec // It has 16 bits.
		case "w":
			at = store.FirstInstant(wall.AddDate(0, 0, -7*int(n)), in) //nolint:gosec // It has 16 bits.
		}
	}
	if d, err := time.ParseDuration(word); err == nil && d > 0 {
		at = now.Add(-d)
	}
	if at.IsZero() {
		return at, at, fmt.Errorf("%q: want a time ago such as 12h, 30d or 2w, today, yesterday, monday, a day such as 2026-01-31, "+
			"or a day with a time such as 2026-01-31T15:04", word)
	}
	return at, at, nil
}
