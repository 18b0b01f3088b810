package opencode_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// fork copies a session as opencode does: with new ids, and the old times in the messages.
// A message of its own follows.
func fork(t *testing.T, path, from, to string, at int) {
	t.Helper()
	opencodetest.Exec(t, path, strings.NewReplacer("FROM_ID", from, "TO_ID", to, "NOW", strconv.Itoa(at)).Replace(`
CREATE TEMP TABLE s AS SELECT * FROM session WHERE id = 'FROM_ID';
UPDATE s SET id = 'TO_ID', time_created = NOW, time_updated = NOW;
INSERT INTO session SELECT * FROM s;
CREATE TEMP TABLE m AS SELECT * FROM message WHERE session_id = 'FROM_ID';
UPDATE m SET id = 'TO_ID' || id, session_id = 'TO_ID', time_updated = NOW,
	data = CASE WHEN data ->> 'parentID' IS NULL THEN data ELSE json_set(data, '$.parentID', 'TO_ID' || (data ->> 'parentID')) END;
INSERT INTO message SELECT * FROM m;
CREATE TEMP TABLE p AS SELECT * FROM part WHERE session_id = 'FROM_ID';
UPDATE p SET id = 'TO_ID' || id, session_id = 'TO_ID', message_id = 'TO_ID' || message_id, time_updated = NOW;
INSERT INTO part SELECT * FROM p;
INSERT INTO message(id,session_id,time_created,time_updated,data) VALUES
	('zu_TO_ID','TO_ID',NOW+5,NOW+5,'{"role":"user","time":{"created":'||(NOW+5)||'}}'),
	('zz_TO_ID','TO_ID',NOW+6,NOW+6,'{"role":"assistant","parentID":"zu_TO_ID","finish":"stop","tokens":{"input":5,"output":1},"time":{"created":'||(NOW+6)||',"completed":'||(NOW+7)||'}}');
INSERT INTO part(id,message_id,session_id,time_created,time_updated,data) VALUES
	('zp_TO_ID','zu_TO_ID','TO_ID',NOW+5,NOW+5,'{"type":"text","text":"asked in TO_ID"}');`))
}

// Of a fork only what it has added counts, as long as what it has copied is there.
func TestForksReadWhatTheyHaveAdded(t *testing.T) {
	const later = 1_900_000_000_000
	f, first, path := recorded(t, "tools-resume")
	requests := func(session string) (n int) {
		t.Helper()
		return len(read(t, f, transcript.Query{Session: session, Full: true}).Requests)
	}
	whole := requests(first)
	fork(t, path, first, "ses_fork", later)
	fork(t, path, "ses_fork", "ses_fork2", later+1000)
	opencodetest.Exec(t, path, `INSERT INTO message(id,session_id,time_created,time_updated,data) VALUES('m_bad','ses_fork',1,1,'{"ro')`)

	prompts := func(tr *hook.Transcript) (out []string) {
		for _, p := range tr.Prompts {
			out = append(out, p.Text)
		}
		return out
	}
	for session, want := range map[string][]string{"ses_fork": {"asked in ses_fork"}, "ses_fork2": {"asked in ses_fork2"}} {
		tr := read(t, f, transcript.Query{Session: session, Full: true})
		if !slices.Equal(prompts(tr), want) || len(tr.Requests) != 1 || len(tr.ToolResults) != 0 || len(tr.Ends) != 1 {
			t.Errorf("%s: prompts %q, %d requests, %d calls, %d ends; want what it has added", session, prompts(tr), len(tr.Requests), len(tr.ToolResults), len(tr.Ends))
		}
	}
	second := read(t, f, transcript.Query{Session: "ses_fork", Full: true})
	turns := read(t, f, transcript.Query{Session: first, Full: true}).Prompts
	if diff := cmp.Diff([]string{first, turns[len(turns)-1].Turn}, []string{second.Origin, second.OriginTurn}); diff != "" {
		t.Errorf("origin (-want +got):\n%s", diff)
	}
	if got := requests(first); got != whole {
		t.Errorf("%d requests of the session itself, want %d", got, whole)
	}

	opencodetest.Exec(t, path, `DELETE FROM session WHERE id = '`+first+`'; DELETE FROM message WHERE session_id = '`+first+`'`)
	if got := requests("ses_fork"); got != whole+1 {
		t.Errorf("%d requests of the oldest copy, want %d with those of the session that is gone", got, whole+1)
	}
	if got := requests("ses_fork2"); got != 1 {
		t.Errorf("%d requests of the later copy, want its own", got)
	}
}
