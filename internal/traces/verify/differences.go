package verify

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/verify/second"
)

// maxNamed bounds the ids that a difference names.
const maxNamed = 5

// differences names what differs.
func (s *Sums) differences(lacks second.Lacks, files *second.Session) (out []Difference) {
	add := func(kind Kind, what, inTrace, inFiles, file string, ids []string) {
		slices.Sort(ids)
		out = append(out, Difference{Kind: kind, What: what, InTrace: inTrace, InFiles: inFiles, File: file, IDs: ids})
	}
	// Ids are compared where the traces have those of the files.
	var lost []string
	changed := make(map[[2]string][]string) // by the models of the trace and of the files
	file, common := "", 0

	for id, q := range files.Requests {
		if len(s.requests[id]) > 0 {
			common++
		} else {
			lost, file = append(lost, id), q.File
		}
	}
	for id, models := range s.requests {
		q := files.Requests[id]
		if len(models) > 1 && q != nil {
			add(Double, "request "+id, strconv.Itoa(len(models))+" times", "once", q.File, []string{id})
		}
		if q != nil && q.Model != "" && models[0] != "" && q.Model != models[0] {
			models := [2]string{models[0], q.Model}
			changed[models] = append(changed[models], id)
		}
	}
	for _, models := range slices.SortedFunc(maps.Keys(changed), func(x, y [2]string) int { return slices.Compare(x[:], y[:]) }) {
		ids := changed[models]
		add(Model, termtext.Plural(len(ids), "request"), models[0], models[1], files.Requests[ids[0]].File, ids)
	}
	if common == 0 && len(s.requests) > 0 {
		lost = nil // the ids are not the same
	}
	if len(lost) > 0 {
		add(Missing, termtext.Plural(len(lost), "request"), "", "there", file, lost)
	}
	names := []string{"", ""} // the session, and its requests
	if models := s.modelsOf(files); !s.summed && !models[""] {
		names = append(names, slices.Sorted(maps.Keys(models))...)
	}
	for _, m := range names {
		u, bare := total(files, m)
		mine, what := s.usage, "sum of the session"
		if m == "" && same(mine, u, bare) {
			mine, what = s.listed, "sum of the requests"
		} else if m != "" {
			mine, what = s.model(m).Usage, "sum of the requests to "+m
		}
		if same(mine, u, bare) {
			continue
		}
		for _, x := range []struct {
			kind Kind
			x, y int64
		}{{Input, mine.Input, u.Input}, {Output, mine.Output, u.Output}, {CacheRead, mine.CacheRead, u.CacheRead}, {CacheWrite, mine.CacheWrite, u.CacheWrite}} {
			if x.x != x.y {
				add(x.kind, what, strconv.FormatInt(x.x, 10), strconv.FormatInt(x.y, 10), firstOf(files.Files), lost)
			}
		}
		break // the models' sums say no more
	}
	s.callDifferences(lacks, files, add)
	if n := len(files.Prompts) - s.prompts; n > 0 {
		var lines []string
		for _, p := range files.Prompts {
			if !s.askedAt(p.At) || len(files.Prompts) <= n {
				lines, file = append(lines, "line "+strconv.Itoa(p.Line)), p.File
			}
		}
		add(Missing, termtext.Plural(n, "prompt"), strconv.Itoa(s.prompts), strconv.Itoa(len(files.Prompts)), cmp.Or(file, firstOf(files.Files)), lines)
	} else if n < 0 && (!lacks.CutTurns || s.askedTwice()) {
		add(Double, termtext.Plural(-n, "prompt"), strconv.Itoa(s.prompts), strconv.Itoa(len(files.Prompts)), firstOf(files.Files), nil)
	}
	return append(out, s.turnDifferences(lacks, files)...)
}

func firstOf(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return files[0]
}

// callDifferences names calls.
func (s *Sums) callDifferences(lacks second.Lacks, files *second.Session, add func(kind Kind, what, inTrace, inFiles, file string, ids []string)) {
	ids := make(map[[3]string][]string)
	file := ""
	note := func(what, inTrace, inFiles, id string) {
		k := [3]string{what, inTrace, inFiles}
		ids[k] = append(ids[k], id)
	}
	for id, c := range files.Calls {
		statuses := s.ended[id]
		if len(statuses) == 0 {
			if short := s.calls-s.skilled < callsOf(files); short || !c.Unnamed && len(s.ended[""]) == 0 {
				note("missing", "", "there", id)
				file = c.File
			}
			continue
		}
		for _, status := range statuses {
			switch {
			case status == unfinished && c.Answered:
				note("status", unfinished, "ended", id)
			case status == ok && !c.Answered:
				note("status", ok, unfinished, id)
			case status == ok && c.Failed:
				note("status", ok, failed, id)
			case (status == failed || status == denied) && c.Answered && !c.Failed && !lacks.FailureMarks:
				note("status", status, ok, id)
			default:
				continue
			}
			file = c.File
		}
	}
	for id, statuses := range s.ended {
		c := files.Calls[id]
		switch {
		case id == "":
			if n := s.calls - s.skilled - callsOf(files) - len(files.Results); n > 0 && !lacks.UnnamedCalls && !lacks.ScriptCalls {
				note("double", strconv.Itoa(s.calls), strconv.Itoa(callsOf(files)), "without an id")
			}
		case c != nil && len(statuses) > c.Times:
			note("double", strconv.Itoa(len(statuses))+" times", "once", id)
			file = c.File
		case c == nil && !files.Results[id] && !lacks.ScriptCalls:
			note("extra", "there", "", id)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(ids), func(x, y [3]string) int { return slices.Compare(x[:], y[:]) }) {
		add(Kind(k[0]), termtext.Plural(len(ids[k]), "call"), k[1], k[2], cmp.Or(file, firstOf(files.Files)), ids[k])
	}
}

// place names the file and the ids of a difference.
func (d *Difference) place() string {
	var parts []string
	if n := len(d.IDs); n > 0 {
		parts = append(parts, strings.Join(d.IDs[:min(n, maxNamed)], ", "))
		if n > maxNamed {
			parts = append(parts, fmt.Sprintf("and %d more", n-maxNamed))
		}
	}
	if d.File != "" {
		parts = append(parts, "in "+filepath.Base(d.File))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, " ") + ")"
}
