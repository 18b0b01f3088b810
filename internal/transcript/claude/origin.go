package claude

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// origin names the session that a session was forked from, and the turn
// after which: that of the newest answer it has copied. Both are empty for a
// session that is no fork. Only the copied rows at the beginning of its file are
// read; the other session is read as a whole.
func origin(ctx context.Context, f *transcript.Files, q transcript.Query) (session, turn string, err error) {
	path, err := find(ctx, f, q)
	if err != nil {
		return "", "", err
	}
	file, err := f.Open(ctx, path, 0)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = file.Close() }() // read only
	r := reader{maxLine: transcript.MaxLine}
	answer := ""
	err = r.rows(ctx, file, func(row *row) bool {
		if row.kind != "assistant" {
			return true
		}
		if !row.copied(q.Session) {
			return false
		}
		if from := row.copiedFrom(q.Session); from != "" {
			session, answer = from, rawjson.Unquote(rawjson.Member(row.message, "id"))
		}
		return true
	})
	if err != nil || session == "" {
		return "", "", err
	}
	other, err := read(ctx, f, transcript.Query{Session: session, Path: filepath.Join(filepath.Dir(path), session+suffix)})
	if err != nil {
		return "", "", fmt.Errorf("origin of session %q: %w", q.Session, err)
	}
	i := slices.IndexFunc(other.Requests, func(c hook.Request) bool { return c.ID == answer })
	if i < 0 {
		return "", "", fmt.Errorf("origin of session %q: session %q no longer holds the answer %q", q.Session, session, answer)
	}
	return session, other.Requests[i].Turn, nil
}
