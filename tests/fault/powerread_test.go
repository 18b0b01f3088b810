package fault_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
)

// decoders read the two hosts' records as the programs do.
var decoders = map[string]func(*spool.Record) ([]hook.Event, error){
	hook.HostCline:  func(r *spool.Record) ([]hook.Event, error) { return cline.Decode(raw(r)) },
	hook.HostClaude: func(r *spool.Record) ([]hook.Event, error) { return claude.Decode(raw(r)) },
}

func raw(r *spool.Record) hook.Raw {
	return hook.Raw{
		Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset,
		Cwd: r.Cwd, TraceParent: r.TraceParent,
	}
}

// The places below the home folder.
const (
	powerState = ".local/state/hookspan"
	powerSpool = powerState + "/spool"
	powerFile  = "out/traces.jsonl"
	powerMarks = "marks"
)

// powerSettings keep what was recorded on another day: nothing is old.
func powerSettings(home, sync string) string {
	return "HOOKSPAN_EXPORTERS=store,file\nHOOKSPAN_FILE_PATH=" + filepath.Join(home, powerFile) +
		"\nHOOKSPAN_IDLE_TIMEOUT=8760h\nHOOKSPAN_RETENTION=0\nHOOKSPAN_SPOOL_SYNC=" + sync +
		"\nOTEL_RESOURCE_ATTRIBUTES=host.name=laptop\n"
}

// runsOf maps the records of one session to runs, each with its spans.
func runsOf(host string, records []*spool.Record, now time.Time) map[string]*tracepb.ResourceSpans {
	out := make(map[string]*tracepb.ResourceSpans)
	if len(records) == 0 {
		return out
	}
	b := otelmap.NewBuilder(host, records[0].Session, otelmap.Options{Agent: agentstest.Mapping(host)}, otelmap.Carry{})
	for _, rec := range records {
		events, _ := decoders[host](rec) // what cannot be decoded makes no span
		for _, e := range events {
			if e.Session != "" {
				b.Add(e)
			}
		}
	}
	for _, r := range b.Runs(now) {
		if r.Ended && !r.Repeated {
			out[r.ID.String()] = b.Spans(r, nil)
		}
	}
	return out
}

// spansOf returns a run's spans, the root first.
func spansOf(run *tracepb.ResourceSpans) []*tracepb.Span {
	return run.GetScopeSpans()[0].GetSpans()
}

// spanID names a span.
func spanID(s *tracepb.Span) string {
	return otlp.TraceID(s) + "/" + otlp.SpanID(s)
}

// deliverer delivers at its own time.
func deliverer(sp *spool.Spool, now time.Time, to ...deliver.Destination) *deliver.Deliverer {
	sources := make(map[string]deliver.Source)
	for host, decode := range decoders {
		sources[host] = deliver.Source{Agent: agentstest.Mapping(host), Decode: decode}
	}
	return &deliver.Deliverer{
		Spool: sp, Sources: sources, SyncLog: true, Destinations: to,
		Now:   func() time.Time { return now },
		Sleep: func(context.Context, time.Duration) error { return errors.New("nothing is to be waited for") },
	}
}

// deliverState delivers the spool below a state folder to its store and to a file,
// as `hookspan flush` does by hand, at its own time.
func deliverState(ctx context.Context, state, file string, now time.Time) (err error) { //nolint:unused // Its rows run on Linux alone.
	sp, err := spool.Open(filepath.Join(state, "spool"), spool.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sp.Close()) }()
	st, err := store.Open(ctx, filepath.Join(state, "traces.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	lines, err := deliver.NewFile(file)
	if err != nil {
		return err
	}
	all := deliverer(sp, now, deliver.Destination{Name: "store", Client: st, Local: true}, deliver.Destination{Name: "file", Client: lines})
	results, err := all.Run(ctx, deliver.Pass{Force: true, Wait: true, OtherSettings: true})
	for _, r := range results {
		if r.Waiting > 0 || r.Parked > 0 || len(r.Errors) > 0 {
			err = errors.Join(err, fmt.Errorf("%s: %d waiting, %d refused: %v", r.Destination, r.Waiting, r.Parked, r.Errors))
		}
	}
	return err
}

// storedSpans looks into a trace store without the program that made it: the
// spans of a session, or of all where the session is empty, and what SQLite
// says of the file.
func storedSpans(ctx context.Context, path, session string) (ids map[string]bool, integrity string, err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check`).Scan(&integrity); err != nil {
		return nil, "", err
	}
	rows, err := db.QueryContext(ctx, `SELECT t.trace_id, s.span_id FROM spans s JOIN traces t ON s.trace = t.id
		WHERE ? = '' OR t.session = ?`, session, session)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	ids = make(map[string]bool)
	for rows.Next() {
		var trace, span string
		if err := rows.Scan(&trace, &span); err != nil {
			return nil, "", err
		}
		ids[trace+"/"+span] = true
	}
	return ids, integrity, rows.Err()
}

// filedSpans are the spans in the whole lines of the file, of one session or, if
// that is empty, of all. Lines that are not whole are passed over: a reader of
// such a file does so.
func filedSpans(t *testing.T, path, session string) (map[string]bool, error) {
	b, err := os.ReadFile(path) //nolint:gosec // The test's own.
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	ids := make(map[string]bool)
	for line := range strings.Lines(string(b)) {
		if !json.Valid([]byte(line)) {
			continue
		}
		for _, s := range lab.Decode(t, []byte(line)) {
			for _, kv := range s.Proto.GetAttributes() {
				if kv.GetKey() == "gen_ai.conversation.id" && (session == "" || kv.GetValue().GetStringValue() == session) {
					ids[s.Trace+"/"+s.Span] = true
				}
			}
		}
	}
	return ids, nil
}

// laterRun is a run that comes after some trouble with its log. Its size may be
// drawn, so that the log gets any length.
func laterRun(host, session string, run, size int, from time.Time) []lab.Event {
	at := from.UnixMilli()
	fill := strings.Repeat("x", size)
	var out []lab.Event
	add := func(name, rest string) {
		n := int64(run*10 + len(out))
		head := fmt.Sprintf(`{"clineVersion":"4.1.13","hookName":%q,"timestamp":"%d","taskId":%q,"userId":"u",`, name, at+n*1000, session)
		if host == "claude-code" {
			head = fmt.Sprintf(`{"hook_event_name":%q,"session_id":%q,"cwd":"/home/dev/project","prompt_id":"later-%d",`, name, session, run)
		}
		out = append(out, lab.Event{Name: name, Payload: []byte(head + rest + "}")})
	}
	if host == "claude-code" {
		tool := fmt.Sprintf(`"tool_name":"Bash","tool_input":{"command":"echo %s"},"tool_use_id":"toolu_later_%d"`, fill, run)
		add("UserPromptSubmit", `"prompt":"go on `+fill+`"`)
		add("PreToolUse", tool)
		add("PostToolUse", tool+`,"tool_response":{"stdout":"ok"}`)
		add("Stop", `"stop_hook_active":false`)
		return out
	}
	tool := fmt.Sprintf(`"toolName":"read_file","parameters":{"path":"later-%d-%s"}`, run, fill)
	add("TaskStart", `"taskStart":{"taskMetadata":{"taskId":"`+session+`","ulid":"","initialTask":"go on"}}`)
	add("PreToolUse", `"preToolUse":{`+tool+`}`)
	add("PostToolUse", `"postToolUse":{`+tool+`,"result":"ok","success":true,"executionTimeMs":3}`)
	add("TaskComplete", `"taskComplete":{"taskMetadata":{"taskId":"`+session+`","ulid":"","result":"done"}}`)
	return out
}
