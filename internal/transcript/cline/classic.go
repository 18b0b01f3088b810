package cline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// The files of a classic task.
const (
	uiFile       = "ui_messages.json"
	historyFile  = "api_conversation_history.json"
	metadataFile = "task_metadata.json"
)

// readClassic reads one task's folder; full asks for the tool calls and the
// ends of runs as well, which hooks tell of where there are any.
func readClassic(ctx context.Context, f *transcript.Files, dir string, full bool) (*hook.Transcript, error) {
	var (
		ui   uiLog
		api  apiHistory
		errs []error
		t    hook.Transcript
	)
	read := func(name string, err error) {
		switch {
		case err == nil:
			t.Sources = append(t.Sources, filepath.Join(dir, name))
		case name != uiFile && errors.Is(err, transcript.ErrNotFound):
			// Cline writes the neighbours later, and old versions not at all.
		default:
			errs = append(errs, err)
		}
	}
	path := filepath.Join(dir, uiFile)
	read(uiFile, f.Stream(ctx, path, func(r io.Reader) error {
		ui = uiLog{}
		return ui.decode(ctx, r)
	}))
	path = filepath.Join(dir, historyFile)
	read(historyFile, f.Stream(ctx, path, func(r io.Reader) error {
		api = apiHistory{}
		if full {
			api.tools = &classicTools{}
		}
		return api.decode(ctx, r)
	}))
	path = filepath.Join(dir, metadataFile)
	meta, err := transcript.Small[taskMetadata](ctx, f, path, true)
	read(metadataFile, err)

	buildClassic(&t, &ui, &api, &meta)
	if full {
		t.Ends = ui.ends
		if api.tools != nil {
			t.ToolResults = api.tools.calls
		}
	}
	return &t, errors.Join(errs...)
}

// uiLog is what ui_messages.json says about requests and prompts.
type uiLog struct {
	requests []*uiRequest
	sums     []hook.LLMCall
	prompts  []hook.Prompt
	ends     []hook.TurnEnd
}

// uiRequest is one row api_req_started and what the rows after it tell of its
// end.
type uiRequest struct {
	start     time.Time
	index     *float64
	model     modelInfo
	counts    counts
	cancelled bool
	err       string
	message   string
	// lastSign is the newest row that comes while the request is under way,
	// closed the first that only comes when it is over.
	lastSign, closed time.Time
}

// modelInfo names a model, as ui rows and assistant messages spell it.
type modelInfo struct {
	ProviderID string `json:"providerId"`
	ModelID    string `json:"modelId"`
}

// uiRow is one row of ui_messages.json.
type uiRow struct {
	TS        transcript.Millis `json:"ts"`
	Type      string            `json:"type"`
	Say       string            `json:"say"`
	Ask       string            `json:"ask"`
	Text      string            `json:"text"`
	Partial   bool              `json:"partial"`
	ModelInfo *modelInfo        `json:"modelInfo"`
	Index     *float64          `json:"conversationHistoryIndex"`
}

// uiUsage is the JSON inside the text of the three rows that carry usage.
type uiUsage struct {
	TokensIn               *float64 `json:"tokensIn"`
	TokensOut              *float64 `json:"tokensOut"`
	CacheWrites            *float64 `json:"cacheWrites"`
	CacheReads             *float64 `json:"cacheReads"`
	Cost                   *float64 `json:"cost"`
	CancelReason           string   `json:"cancelReason"`
	StreamingFailedMessage string   `json:"streamingFailedMessage"`
}

func (u *uiUsage) counts() counts {
	return counts{u.TokensIn, u.TokensOut, u.CacheReads, u.CacheWrites, u.Cost}
}

// decode streams the file, one row in memory at a time.
func (l *uiLog) decode(ctx context.Context, r io.Reader) error {
	dec := json.NewDecoder(r)
	first := true
	return decodeArray(ctx, dec, func() error {
		var row uiRow
		if err := transcript.DecodeValue(dec, &row); err != nil {
			return err
		}
		l.add(&row, first)
		first = false
		return nil
	})
}

// add takes in one row. The first row is the task itself: Cline leaves it out
// of its sums, whatever it says.
func (l *uiLog) add(row *uiRow, first bool) {
	if row.Type != "say" {
		l.follow(row)
		return
	}
	switch row.Say {
	case "api_req_started":
		if !first {
			l.addRequest(row)
		}
	case "deleted_api_reqs", "subagent_usage":
		if !first {
			l.addSum(row)
		}
		l.follow(row)
	case "completion_result":
		// While its text is still coming in, nothing has ended.
		if !row.Partial {
			l.ends = append(l.ends, hook.TurnEnd{At: row.TS.Time(), Kind: hook.KindRunComplete, Result: row.Text})
		}
		l.follow(row)
	case "task", "user_feedback":
		if row.Text != "" {
			l.prompts = append(l.prompts, hook.Prompt{At: row.TS.Time(), Text: row.Text})
		}
		l.follow(row)
	default:
		l.follow(row)
	}
}

func (l *uiLog) addRequest(row *uiRow) {
	req := &uiRequest{start: row.TS.Time(), index: row.Index}
	if row.ModelInfo != nil {
		req.model = *row.ModelInfo
	}
	// Text that does not parse counts as no usage, as in Cline.
	var u uiUsage
	if transcript.Lenient(json.Unmarshal([]byte(row.Text), &u)) == nil {
		req.counts = u.counts()
		req.cancelled = u.CancelReason != ""
		req.err, req.message = u.CancelReason, u.StreamingFailedMessage
		if req.err == "" && req.message != "" {
			req.err = "streaming_failed" // what Cline calls it when it names a reason
		}
	}
	l.requests = append(l.requests, req)
}

func (l *uiLog) addSum(row *uiRow) {
	var u uiUsage
	if transcript.Lenient(json.Unmarshal([]byte(row.Text), &u)) != nil {
		return
	}
	kind, prefix := hook.CallDeleted, "deleted-"
	if row.Say == "subagent_usage" {
		kind, prefix = hook.CallSubagents, "subagents-"
	}
	at := row.TS.Time()
	call := hook.LLMCall{Kind: kind, ID: transcript.TimeID(prefix, at), Start: at, End: at}
	if row.ModelInfo != nil {
		call.Provider, call.Model = row.ModelInfo.ProviderID, row.ModelInfo.ModelID
	}
	call.Usage = classicUsage(call.Provider, u.counts())
	if call.Usage != nil {
		l.sums = append(l.sums, call)
	}
}

// follow lets a row say something about the end of the request before it. Rows
// are not sorted by time: Cline moves tool rows, and one that belongs to an
// earlier request can stand after a later one. Its time tells.
func (l *uiLog) follow(row *uiRow) {
	if len(l.requests) == 0 {
		return
	}
	req, at := l.requests[len(l.requests)-1], row.TS.Time()
	if at.IsZero() || at.Before(req.start) {
		return
	}
	switch cmp.Or(row.Say, row.Ask) {
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
		reply := match.reply(req, next)
		call := hook.LLMCall{
			Kind:     hook.CallRequest,
			ID:       unique(ids, transcript.TimeID("req-", req.start)),
			Start:    req.start,
			Provider: req.model.ProviderID,
			Model:    req.model.ModelID,
			Error:    req.err,
			Message:  req.message,
		}
		if reply != nil {
			call.End = reply.at
			call.Text = reply.text
			call.ToolCallIDs = reply.toolIDs
			call.Provider = cmp.Or(call.Provider, reply.model.ProviderID)
			call.Model = cmp.Or(call.Model, reply.model.ModelID)
		}
		if call.Provider == "" || call.Model == "" {
			m := meta.modelAt(req.start)
			call.Provider = cmp.Or(call.Provider, m.ProviderID)
			call.Model = cmp.Or(call.Model, m.ModelID)
		}
		call.Usage = classicUsage(call.Provider, req.counts)
		underWay := newest && call.Usage == nil && !req.cancelled
		t.Pending = t.Pending || underWay
		// Without a reply in the history (a request that broke off, a history
		// not yet written, one cut by a restored checkpoint) what Cline showed
		// next stands in. A request under way has no end yet.
		if call.End.IsZero() && !underWay {
			call.End = req.shownEnd()
		}
		t.Calls = append(t.Calls, call)
	}
	for _, call := range ui.sums {
		if call.Provider == "" {
			m := meta.modelAt(call.Start)
			call.Provider, call.Model = m.ProviderID, cmp.Or(call.Model, m.ModelID)
			// The figures are read anew, as the provider decides what they mean.
			call.Usage.InputIncludesCache = inputIncludesCache[call.Provider] &&
				call.Usage.Input >= call.Usage.CacheRead+call.Usage.CacheWrite
		}
		call.ID = unique(ids, call.ID)
		t.Calls = append(t.Calls, call)
	}
	slices.SortStableFunc(t.Calls, func(a, b hook.LLMCall) int { return a.Start.Compare(b.Start) })

	t.Prompts = ui.prompts
	slices.SortStableFunc(t.Prompts, func(a, b hook.Prompt) int { return a.At.Compare(b.At) })

	if n := len(ui.requests); n > 0 {
		m := ui.requests[n-1].model
		t.Provider = cmp.Or(t.Provider, m.ProviderID)
		t.Model = cmp.Or(t.Model, m.ModelID)
	}
}

// unique adds an ordinal where a moment occurs twice. The order of the file
// decides, and rows of one moment keep it, so ids are stable over reads.
func unique(seen map[string]int, id string) string {
	seen[id]++
	if n := seen[id]; n > 1 {
		return fmt.Sprintf("%s-%d", id, n)
	}
	return id
}
