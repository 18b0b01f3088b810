package checkout

import (
	"slices"
	"strings"
)

// leastSubject is the shortest subject by which a commit is recognised, in bytes.
const leastSubject = 8

// maxPrinted is how much of the beginning and of the end of an output is searched, in bytes.
const maxPrinted = 8 << 10

// Printed returns the commits that an output says were made, as git does: [main 1c29f81] Subject.
func Printed(output string) (ids []string) {
	if len(output) > 2*maxPrinted {
		output = output[:maxPrinted] + "\n" + output[len(output)-maxPrinted:]
	}
	for line := range strings.Lines(output) {
		named, _, ok := strings.Cut(strings.TrimPrefix(line, "["), "] ")
		if !ok || line[0] != '[' {
			continue
		}
		id := named[strings.LastIndexByte(named, ' ')+1:]
		if len(id) >= 7 && len(id) <= 64 && len(id) < len(named) && strings.Trim(id, "0123456789abcdef") == "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// Commits returns for each call the commits that it made, of those that the log has since an
// earlier note, which may be nil: what the call printed, else one whose subject no other commit
// and no other call has. The calls have succeeded; a command line can succeed though one of its
// commands has not, and is then no proof.
func (l *Look) Commits(n *Note, calls []Call) [][]string {
	made := make([][]string, len(calls))
	text := l.Log
	if from := l.Size - int64(len(text)); n != nil && n.Git == l.Git && n.Size > from && n.Size <= l.Size {
		text = text[n.Size-from:]
	}
	subjects := make(map[string][]string) // the ids of commits
	for entry := range strings.Lines(text) {
		sums, message, _ := strings.Cut(strings.TrimSuffix(entry, "\n"), "\t")
		ids := strings.Fields(sums)
		if len(ids) < 2 || commit(ids[1]) == "" {
			continue
		}
		id := ids[1]
		printed := slices.IndexFunc(calls, func(c Call) bool {
			return slices.ContainsFunc(c.Printed, func(short string) bool { return strings.HasPrefix(id, short) })
		})
		if what, subject, _ := strings.Cut(message, ": "); printed >= 0 {
			if !slices.Contains(made[printed], id) {
				made[printed] = append(made[printed], id)
			}
		} else if strings.HasPrefix(what, "commit") && len(subject) >= leastSubject {
			subjects[subject] = append(subjects[subject], id)
		}
	}
	for subject, ids := range subjects {
		names := func(c Call) bool {
			return strings.Contains(c.Command, subject) && strings.Contains(c.Command, "commit")
		}
		i := slices.IndexFunc(calls, names)
		if i >= 0 && len(ids) == 1 && len(made[i]) == 0 && !strings.ContainsAny(calls[i].Command, "|;\n") && !strings.Contains(calls[i].Command, `\n`) && !slices.ContainsFunc(calls[i+1:], names) {
			made[i] = ids
		}
	}
	return made
}
