package cline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// The files of a classic task.
const (
	uiFile       = "ui_messages.json"
	historyFile  = "api_conversation_history.json"
	metadataFile = "task_metadata.json"
	// oldestFile is the history of versions from before ui_messages.json.
	oldestFile = "claude_messages.json"
)

// readClassic reads one task's folder.
func readClassic(ctx context.Context, f *transcript.Files, dir string, q transcript.Query) (*hook.Transcript, error) {
	var (
		ui   uiLog
		api  apiHistory
		meta taskMetadata
		errs []error
		t    hook.Transcript
	)
	for _, file := range []struct {
		name string
		read func(path string) error
	}{
		{uiFile, func(path string) error {
			return f.Stream(ctx, path, func(r io.Reader) error {
				ui = uiLog{path: path}
				return ui.decode(ctx, r)
			})
		}},
		{historyFile, func(path string) error {
			return f.Stream(ctx, path, func(r io.Reader) error {
				api = apiHistory{full: q.Full, path: path}
				return api.decode(ctx, r)
			})
		}},
		{metadataFile, func(path string) (err error) {
			meta, err = transcript.Small[taskMetadata](ctx, f, path, true)
			return err
		}},
	} {
		path := filepath.Join(dir, file.name)
		err := file.read(path)
		if ui.rows > 0 {
			err = f.Rest(path, err)
		}
		switch {
		case err == nil:
			t.Sources = append(t.Sources, path)
		case file.name != uiFile && errors.Is(err, transcript.ErrNotFound):
			// Cline writes the neighbours later, and old versions not at all.
		default:
			errs = append(errs, err)
		}
	}
	dated := slices.ContainsFunc(api.messages, func(m apiMessage) bool { return !m.at.IsZero() })
	buildClassic(&t, &ui, &api, &meta)
	t.Unread = append(ui.kinds.Unread(), api.kinds.Unread()...)
	if q.Full {
		t.Ends, t.Folders = ui.ends, api.tools.folders
		calls, file := api.tools.calls, historyFile
		if !dated && (len(calls) < len(ui.tools) || !api.tools.date(api.messages)) {
			calls, file = ui.shownCalls(), uiFile // the history is not there, or is not whole
		}
		t.ToolResults = wholeCalls(calls, q.Whole, filepath.Join(dir, file))
	}
	return &t, errors.Join(errs...)
}

// buildClassic joins the three files of a task.
func buildClassic(t *hook.Transcript, ui *uiLog, api *apiHistory, meta *taskMetadata) {
	meta.describe(t)

	slices.SortStableFunc(ui.requests, func(a, b *uiRequest) int { return a.start.Compare(b.start) })
	match := newReplyMatcher(api)
	ids := make(map[string]int)
	for i, req := range ui.requests {
		var next time.Time
		newest := i == len(ui.requests)-1
		if !newest {
			next = ui.requests[i+1].start
		}
		call := hook.Request{
			Kind:    hook.RequestSingle,
			ID:      unique(ids, transcript.TimeID("req-", req.start)),
			Start:   req.start,
			Error:   req.err,
			Message: req.message,
		}
		m := req.model
		reply := match.reply(req, next)
		if reply != nil {
			call.End = reply.at
			call.Text = reply.text
			call.ToolCallIDs = reply.toolIDs
			m = m.or(reply.model)
		}
		m = m.or(meta.modelAt(req.start))
		call.Provider, call.Model = m.provider, m.id
		call.Usage = req.usage
		setIncludesCache(call.Usage, inputIncludesCache[call.Provider])
		underWay := newest && call.Usage == nil && !req.cancelled
		t.Pending = t.Pending || underWay
		// Without a reply in the history (a request that broke off, a history
		// not yet written, one cut by a restored checkpoint) the next thing that
		// Cline showed is the end. A request under way has no end yet.
		if call.End.IsZero() && !underWay {
			call.End = req.shownEnd()
		}
		if reply != nil && reply.at.IsZero() {
			reply.at, reply.next = call.End, next
		}
		t.Requests = append(t.Requests, call)
	}
	for _, call := range ui.sums {
		if call.Provider == "" {
			m := meta.modelAt(call.Start)
			call.Provider, call.Model = m.provider, cmp.Or(call.Model, m.id)
		}
		setIncludesCache(call.Usage, inputIncludesCache[call.Provider])
		call.ID = unique(ids, call.ID)
		t.Requests = append(t.Requests, call)
	}
	slices.SortStableFunc(t.Requests, func(a, b hook.Request) int { return a.Start.Compare(b.Start) })

	t.Prompts = ui.prompts
	slices.SortStableFunc(t.Prompts, func(a, b hook.Prompt) int { return a.At.Compare(b.At) })

	if n := len(ui.requests); n > 0 {
		m := model{t.Provider, t.Model}.or(ui.requests[n-1].model)
		t.Provider, t.Model = m.provider, m.id
	}
}

// or fills what m does not name from other.
func (m model) or(other model) model {
	return model{cmp.Or(m.provider, other.provider), cmp.Or(m.id, other.id)}
}

// unique adds an ordinal if a time occurs twice. The order of the file decides,
// and rows of one time keep it, so ids are stable over reads.
func unique(seen map[string]int, id string) string {
	seen[id]++
	if n := seen[id]; n > 1 {
		return fmt.Sprintf("%s-%d", id, n)
	}
	return id
}

// uiLog is what ui_messages.json says about requests and prompts.
type uiLog struct {
	requests []*uiRequest
	sums     []hook.Request
	prompts  []hook.Prompt
	ends     []hook.TurnEnd
	// tools are the calls that were shown.
	tools []hook.ToolResult
	rows  int
	path  string
	kinds transcript.Kinds
	// shown are the rows of requests and of sums.
	shown map[shownRow]bool
}

// shownRow is what two rows have in common of which one is there again.
type shownRow struct {
	say  string
	at   time.Time
	text string
}

// again reports that such a row was there before.
func (l *uiLog) again(row shownRow) bool {
	if l.shown == nil {
		l.shown = make(map[shownRow]bool)
	}
	again := l.shown[row]
	l.shown[row] = true
	return again
}

// uiRequest is one row api_req_started and what the rows after it say of its
// end.
type uiRequest struct {
	start     time.Time
	index     *float64
	model     model
	usage     *hook.Usage
	cancelled bool
	err       string
	message   string
	// lastSign is the newest row that comes while the request is under way,
	// closed the first that only comes after it.
	lastSign, closed time.Time
}

func (l *uiLog) decode(ctx context.Context, r io.Reader) error {
	return transcript.StreamList(ctx, r, nil, func(row rawjson.Object) {
		l.rows++
		l.add(row, l.rows == 1)
	})
}

// add adds one row. The first row is the task itself: Cline leaves it out of
// its sums, whatever it says.
func (l *uiLog) add(row rawjson.Object, first bool) {
	at, say, text := timeOf(row.Get("ts")), rawjson.Unquote(row.Get("say")), rawjson.Unquote(row.Get("text"))
	if rawjson.Unquote(row.Get("type")) == "say" {
		switch say {
		case "api_req_started":
			if !first && !l.again(shownRow{say, at, text}) {
				l.addRequest(row, at, text)
			}
			return
		case "deleted_api_reqs":
			if !first && !l.again(shownRow{say, at, text}) {
				l.addSum(hook.RequestsDeleted, "deleted-", row, at, text)
			}
		case "subagent_usage":
			if !first && !l.again(shownRow{say, at, text}) {
				l.addSum(hook.RequestsOfSubagents, "subagents-", row, at, text)
			}
		case "completion_result":
			// While its text is still arriving, nothing has ended.
			if partial, _ := rawjson.Bool(row.Get("partial")); !partial {
				l.ends = append(l.ends, hook.TurnEnd{At: at, Kind: hook.KindRunComplete, Result: text})
			}
		case "task", "user_feedback", "text":
			// Before 2026-02 the task was a text like any other.
			if say == "text" && !first {
				break
			}
			if images, _ := row.Elements("images"); text == "" && len(images) > 0 {
				text = "[image]"
			}
			if text != "" {
				l.prompts = append(l.prompts, hook.Prompt{At: at, Text: text})
			}
		}
	}
	kind := cmp.Or(say, rawjson.Unquote(row.Get("ask")))
	if !strings.Contains(knownRows, " "+kind+" ") {
		l.kinds.Meet(l.path, kind, at, row)
	}
	l.addTool(at, kind, text)
	l.follow(at, kind)
}

func (l *uiLog) addRequest(row rawjson.Object, at time.Time, text string) {
	req := &uiRequest{start: at, model: modelOf(row.Get("modelInfo"), "providerId", "modelId")}
	if index, ok := rawjson.Float(row.Get("conversationHistoryIndex")); ok {
		req.index = &index
	}
	// Text that does not parse counts as no usage, as in Cline.
	if u, err := rawjson.Open([]byte(text)); err == nil {
		req.usage = usage(u, &classicCounts)
		req.err, req.message = rawjson.Unquote(u.Get("cancelReason")), rawjson.Unquote(u.Get("streamingFailedMessage"))
		req.cancelled = req.err != ""
		if req.err == "" && req.message != "" {
			req.err = "streaming_failed" // Cline's name for it
		}
	}
	l.requests = append(l.requests, req)
}

// addSum adds the sum of requests that Cline no longer lists.
func (l *uiLog) addSum(kind hook.RequestKind, prefix string, row rawjson.Object, at time.Time, text string) {
	counts, err := rawjson.Open([]byte(text))
	if err != nil {
		return
	}
	m := modelOf(row.Get("modelInfo"), "providerId", "modelId")
	if u := usage(counts, &classicCounts); u != nil {
		l.sums = append(l.sums, hook.Request{
			Kind: kind, ID: transcript.TimeID(prefix, at), Start: at, End: at, Provider: m.provider, Model: m.id, Usage: u,
		})
	}
}

// follow uses a row for the end of the request before it. Rows are not sorted by
// time: Cline moves tool rows, and one that belongs to an earlier request can be
// after a later one. Its time decides.
func (l *uiLog) follow(at time.Time, kind string) {
	if len(l.requests) == 0 {
		return
	}
	req := l.requests[len(l.requests)-1]
	if at.IsZero() || at.Before(req.start) {
		return
	}
	switch kind {
	case "text", "reasoning", "api_req_retried", "error_retry", "api_req_failed":
		// The request was still under way: a failure before the first piece of
		// a reply is tried again under the same row.
		if req.closed.IsZero() && at.After(req.lastSign) {
			req.lastSign = at
		}
	case "checkpoint_created":
		// Comes at any time.
	default:
		if req.closed.IsZero() || at.Before(req.closed) {
			req.closed = at
		}
	}
}

// shownEnd is the best the rows can say about a request's end, never before its
// start.
func (r *uiRequest) shownEnd() time.Time {
	if !r.closed.IsZero() && !r.closed.Before(r.lastSign) {
		return r.closed
	}
	if !r.lastSign.IsZero() {
		return r.lastSign
	}
	return r.start
}
