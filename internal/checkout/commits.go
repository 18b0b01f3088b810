package checkout

import (
	"slices"
	"strconv"
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
	if !strings.Contains(output, "] ") {
		return nil
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
// earlier note, which may be nil, with a time within the call's: what the call printed, else one
// that no other commit and no other call has the subject of. A call without a command, or with
// one that may work elsewhere, has only what it printed. The calls have succeeded; a command line
// can succeed though one of its commands has not, and is then no proof.
func (l *Look) Commits(n *Note, calls []Call) [][]string {
	made := make([][]string, len(calls))
	text := l.Log
	if from := l.Size - int64(len(text)); n != nil && n.Git == l.Git && n.Size > from && n.Size <= l.Size {
		text = text[n.Size-from:]
	}
	subjects := make(map[string][]int) // the calls that may have made a commit, -1 for one of none
	ids := make(map[string]string)
	for entry := range strings.Lines(text) {
		sums, message, _ := strings.Cut(strings.TrimSuffix(entry, "\n"), "\t")
		words := strings.Fields(sums)
		if len(words) < 4 || commit(words[1]) == "" {
			continue
		}
		id := words[1]
		what, subject, _ := strings.Cut(message, ": ")
		byPrint, bySubject := makers(calls, id, subject, words[len(words)-2])
		if byPrint >= 0 {
			if !slices.Contains(made[byPrint], id) {
				made[byPrint] = append(made[byPrint], id)
			}
		} else if strings.HasPrefix(what, "commit") && len(subject) >= leastSubject {
			subjects[subject], ids[subject] = append(subjects[subject], bySubject), id
		}
	}
	for subject, by := range subjects {
		if i := by[0]; len(by) == 1 && i >= 0 && len(made[i]) == 0 {
			made[i] = []string{ids[subject]}
		}
	}
	return made
}

// makers returns the calls that may have made a commit at a time, which is in seconds: the first
// one that printed it, and the only one whose command has its subject, -1 for none.
func makers(calls []Call, id, subject, seconds string) (byPrint, bySubject int) {
	byPrint, bySubject = -1, -1
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return byPrint, bySubject
	}
	several := false
	for i := range calls {
		c := &calls[i]
		switch {
		case at < c.Begun.Unix() || at > c.Ended.Unix():
		case byPrint < 0 && slices.ContainsFunc(c.Printed, func(short string) bool { return strings.HasPrefix(id, short) }):
			byPrint = i
		case c.commits(subject):
			several = several || bySubject >= 0
			bySubject = i
		}
	}
	if several {
		bySubject = -1
	}
	return byPrint, bySubject
}

// commits reports that the call's command line, if it succeeds, makes a commit with a subject.
func (c *Call) commits(subject string) bool {
	before, after, ok := strings.Cut(c.Command, subject)
	if !ok || subject == "" || strings.ContainsAny(c.Command, "|;\n") || strings.Contains(c.Command, "--dry-run") {
		return false
	}
	quote := before[max(0, len(before)-1):]
	if quote != `"` && quote != "'" || !strings.HasPrefix(after, quote) {
		return false // it is a part of another text
	}
	words := strings.Fields(before[strings.LastIndexAny(before, "&(")+1 : len(before)-1])
	message := slices.IndexFunc(words, func(w string) bool {
		return w == "--message" || w == "--message=" || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.HasSuffix(w, "m")
	})
	verb := slices.Index(words, "commit")
	return verb > 0 && words[0] == "git" && message > verb && message == len(words)-1
}
