package transcript

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/hook"
)

// ClaudeOrigin names the session that a session was forked from, and the turn
// after which: that of the newest answer it has taken over. Both are empty for a
// session that was not forked. The beginning of the file tells, so that only
// that much is read of it; of the other session everything is.
//
// Errors are as for Claude.
func (f *Finder) ClaudeOrigin(ctx context.Context, q ClaudeQuery) (session, turn string, err error) {
	if err := checkID("session id", q.Session); err != nil {
		return "", "", err
	}
	f, ctx, done := f.within(ctx)
	defer func() { err = done(err) }()
	path, err := f.claudePath(ctx, q)
	if err != nil {
		return "", "", err
	}
	file, err := open(ctx, path, 0, f.left)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = file.Close() }() // read only
	r := claudeReader{maxLine: maxClaudeLine}
	answer := ""
	err = r.rows(ctx, file, func(row *claudeRow) bool {
		if !row.is("assistant") {
			return true
		}
		if !row.copied(q.Session) {
			return false
		}
		if from := row.copiedFrom(q.Session); from != "" {
			session, answer = from, rawString(member(row.message, "id"))
		}
		return true
	})
	if err != nil || session == "" {
		return "", "", err
	}
	origin, err := f.Claude(ctx, ClaudeQuery{Session: session, Path: filepath.Join(filepath.Dir(path), session+claudeSuffix)})
	if err != nil {
		return "", "", fmt.Errorf("origin of session %q: %w", q.Session, err)
	}
	i := slices.IndexFunc(origin.Calls, func(c hook.LLMCall) bool { return c.ID == answer })
	if i < 0 {
		return "", "", fmt.Errorf("origin of session %q: session %q no longer holds the answer %q", q.Session, session, answer)
	}
	return session, origin.Calls[i].Turn, nil
}
