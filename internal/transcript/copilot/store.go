package copilot

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// storeName is Copilot's index of all sessions, which has the tokens of each request since some
// version of 1.0 (schema 8).
const storeName = "session-store.db"

// recorded is a request as the store has it.
type recorded struct {
	agent string
	usage hook.Usage
}

// storedRequests returns the requests of a session that the store has, in their order.
func storedRequests(ctx context.Context, path, session string) (list []recorded, err error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // Without a store less is known.
	}
	options := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)", "trusted_schema(0)", "busy_timeout(2000)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/"), RawQuery: options.Encode()}).String())
	if err != nil {
		return nil, transcript.ReadError(path, err)
	}
	defer func() { _ = db.Close() }() // read only
	rows, err := db.QueryContext(ctx, `SELECT coalesce(nullif(agent_id, ''), parent_tool_call_id, ''), coalesce(input_tokens, 0), coalesce(output_tokens, 0), coalesce(cache_read_tokens, 0),
	coalesce(cache_write_tokens, 0), coalesce(reasoning_tokens, 0) FROM assistant_usage_events WHERE session_id = ? ORDER BY id LIMIT ?`, session, transcript.MaxRows)
	if err != nil {
		if strings.Contains(err.Error(), "no such") {
			return nil, nil // an older form of the store
		}
		return nil, transcript.ReadError(path, err)
	}
	defer func() { _ = rows.Close() }() // read only
	for rows.Next() {
		r := recorded{usage: hook.Usage{InputIncludesCache: true}}
		if err := rows.Scan(&r.agent, &r.usage.Input, &r.usage.Output, &r.usage.CacheRead, &r.usage.CacheWrite, &r.usage.Reasoning); err != nil {
			return nil, transcript.ReadError(path, err)
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// addStored gives the requests since the session was opened last, of which the file has the output
// alone, the tokens that the store has: those of the next one of the agent with the same output.
// What then is not known is said.
func (l *log) addStored(ctx context.Context, f *transcript.Files, path, session string) error {
	var open []*hook.Request
	for i := range l.Calls[l.opened:] {
		if c := &l.Calls[l.opened+i]; c.Kind == hook.RequestSingle && (c.Usage == nil || c.Usage.InputUnknown) {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return nil
	}
	var list []recorded
	var err error
	for _, root := range f.Roots(hook.HostCopilot) {
		if strings.HasPrefix(path, root+string(filepath.Separator)) {
			list, err = storedRequests(ctx, filepath.Join(root, storeName), session)
		}
	}
	unknown := 0
	for _, c := range open {
		i := slices.IndexFunc(list, func(r recorded) bool {
			return c.Usage != nil && r.usage.Output == c.Usage.Output && (r.agent == c.Agent || l.callers[r.agent] == c.Agent)
		})
		if i < 0 {
			unknown++
			continue
		}
		c.Usage, list = &list[i].usage, list[i+1:]
	}
	if unknown > 0 {
		why := "whose session has no end"
		if l.editor {
			why = "which this version of VS Code does not record"
		}
		l.unread = append(l.unread, hook.Unread{File: path, Whole: true, Reason: fmt.Sprintf("tokens of %d requests, %s", unknown, why)})
	}
	return err
}
